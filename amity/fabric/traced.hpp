#pragma once

/// Counts what passes through a fabric, for each peer. It costs an increment a packet, and some memory a peer on first
/// contact.

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "amity/fabric/decorator.hpp"
#include "amity/fabric/traced_memory.hpp"

namespace amity::fabric {

class traced final : public decorator {
 public:
  struct peer_counts {
    std::uint64_t packets_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t refused = 0;  ///< answers `again`, and operations on remote memory
    std::uint64_t packets_received = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t packets_kept = 0;
    std::uint64_t puts = 0;  ///< with and without a notification
    std::uint64_t bytes_put = 0;
    std::uint64_t gets = 0;
    std::uint64_t bytes_got = 0;
    std::uint64_t atomics = 0;
  };

  struct own_counts {
    std::uint64_t polls = 0;
    std::uint64_t polls_empty = 0;
    std::uint64_t sleeps = 0;
    std::uint64_t slept_ns = 0;
    std::uint64_t operations_done = 0;  ///< events of operations
    std::uint64_t notifications = 0;
  };

  explicit traced(fabric& inner);

  /// A table of the peers that this rank has met, with totals.
  std::string report() const;

  peer_counts with(rank_t peer) const;
  const capabilities& caps() const noexcept override { return caps_; }
  const own_counts& own() const noexcept { return own_; }

  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept override;
  status acquire(rank_t dest, slot& out, claim of) noexcept override;
  void commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept override;
  std::size_t poll(sink& receiver, std::size_t packets_max) override;
  remote_memory* remote() noexcept override { return memory_ ? &*memory_ : nullptr; }
  void sleep(const alarm& by, std::uint64_t timeout_ns) noexcept override;
  void disarm() noexcept override;

 private:
  friend traced_memory;
  class counter;  // the sink between the fabric and the caller's sink

  void count_sent(rank_t dest, std::size_t bytes) noexcept;
  void count_refused(rank_t dest) noexcept;
  using counter_of = std::uint64_t peer_counts::*;
  /// An operation of so many bytes on memory of the peer; `moved` is null if bytes are not counted.
  stage count(rank_t peer, counter_of operations, counter_of moved, std::size_t bytes, stage reached) noexcept;

  capabilities caps_;
  std::optional<traced_memory> memory_;
  std::map<rank_t, peer_counts> peers_;
  own_counts own_;
  // Written by a thread that sleeps while another one uses the fabric. `disarm` counts them.
  std::atomic<std::uint64_t> sleeps_ = 0;
  std::atomic<std::uint64_t> slept_ns_ = 0;
};

}  // namespace amity::fabric
