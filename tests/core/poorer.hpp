#pragma once

/// Fabrics that cannot do all that the ones below them can, so that packets stand in.

#include <atomic>

#include "amity/fabric/decorator.hpp"

namespace amity::fabric::testing {

/// Without atomics, and maybe without remote memory.
class poorer final : public decorator {
 public:
  poorer(fabric& whole, bool has_memory) : decorator(whole), caps_(whole.caps()), has_memory_(has_memory) {
    caps_.remote.atomics = false;
    if (!has_memory_) caps_.remote = {};
  }
  const capabilities& caps() const noexcept override { return caps_; }
  remote_memory* remote() noexcept override { return has_memory_ ? inner().remote() : nullptr; }

 private:
  capabilities caps_;
  bool has_memory_;
};

/// Packets wake an owner that sleeps, and its memory does not. Counts packets.
class drowsy final : public decorator {
 public:
  drowsy(fabric& whole, std::size_t woken_bytes_max) : decorator(whole), caps_(whole.caps()) {
    caps_.remote.woken_bytes_max = woken_bytes_max;
  }
  int packets() const noexcept { return packets_; }
  /// Whether this rank sleeps, or is about to. Another thread may ask.
  bool is_asleep() const noexcept { return is_asleep_; }

  const capabilities& caps() const noexcept override { return caps_; }
  void sleep(const alarm& by, std::uint64_t timeout_ns) noexcept override {
    is_asleep_ = true;
    decorator::sleep(by, timeout_ns);
    is_asleep_ = false;
  }
  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept override {
    ++packets_;
    return decorator::try_send(dest, header, payload, of);
  }
  void commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept override {
    ++packets_;
    decorator::commit(dest, header, filled, payload_bytes);
  }

 private:
  capabilities caps_;
  int packets_ = 0;
  std::atomic<bool> is_asleep_ = false;
};

}  // namespace amity::fabric::testing
