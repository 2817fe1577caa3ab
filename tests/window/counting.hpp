#pragma once

/// Jobs whose fabrics count packets and polls.

#include <cstdint>
#include <functional>

#include "amity/fabric/decorator.hpp"
#include "tests/support/worlds.hpp"

namespace amity::testing {

/// Counts packets and polls. Without remote memory, operations are records.
class counting final : public fabric::decorator {
 public:
  counting(::amity::fabric::fabric& whole, bool has_memory)
      : decorator(whole), caps_(whole.caps()), has_memory_(has_memory) {
    if (!has_memory_) caps_.remote = {};
  }
  int packets() const noexcept { return packets_; }
  int polls() const noexcept { return polls_; }

  const ::amity::fabric::capabilities& caps() const noexcept override { return caps_; }
  ::amity::fabric::remote_memory* remote() noexcept override { return has_memory_ ? inner().remote() : nullptr; }
  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, ::amity::fabric::claim of) noexcept override {
    ++packets_;
    return decorator::try_send(dest, header, payload, of);
  }
  void commit(rank_t dest, std::uint64_t header, const ::amity::fabric::slot& filled,
              std::size_t payload_bytes) noexcept override {
    ++packets_;
    decorator::commit(dest, header, filled, payload_bytes);
  }
  std::size_t poll(::amity::fabric::sink& receiver, std::size_t packets_max) override {
    ++polls_;
    return decorator::poll(receiver, packets_max);
  }

 private:
  ::amity::fabric::capabilities caps_;
  bool has_memory_;
  int packets_ = 0;
  int polls_ = 0;
};

using counted_body = std::function<void(world&, counting&)>;

/// Runs `body` on a simulation whose windows use records alone.
inline void run_counted(rank_t ranks, const counted_body& body) {
  simulated("sim", {}).run(ranks, {}, [&](fabric::fabric& whole) {
    counting own(whole, false);
    world w(own, {});
    body(w, own);
    w.barrier();
  });
}

/// Packets that this rank sends in a call.
inline int packets_of(const counting& own, const std::function<void()>& call) {
  const int before = own.packets();
  call();
  return own.packets() - before;
}

}  // namespace amity::testing
