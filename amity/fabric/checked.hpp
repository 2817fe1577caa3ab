#pragma once

/// Checks the fabric contract at every call, on both sides: of the fabric, and of whoever uses it.
///
/// A broken promise ends the process with a sentence that says whose it was. To see losses, repetitions, overtaking and
/// damage, each packet carries 16 bytes more behind its payload: its number within its pair of ranks, and a checksum.
/// So all ranks of a job must be checked, or none; and the largest payload is 16 bytes smaller, as `caps` says.
///
/// Remote memory is checked in the same way; `checked_memory.hpp` tells what that can see.
///
/// A checked fabric takes more time and memory than the hot path allows. What it cannot see: a packet that is lost
/// for ever on a fabric without order, or as the last one of its pair.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "amity/fabric/checked_memory.hpp"
#include "amity/fabric/decorator.hpp"

namespace amity::fabric {

class checked final : public decorator {
 public:
  /// Throws `error` if the packets are too small for the checks.
  explicit checked(fabric& inner);

  /// Ends the process if a slot was acquired and not committed, a packet kept and not released, or something of remote
  /// memory left behind, unless the job was aborted or an exception is on its way.
  ~checked() override;

  const capabilities& caps() const noexcept override { return caps_; }
  rank_t node_of(rank_t rank) const noexcept override;
  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept override;
  status acquire(rank_t dest, slot& out, claim of) noexcept override;
  void commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept override;
  void release(std::uint64_t token) noexcept override;
  std::size_t poll(sink& receiver, std::size_t packets_max) override;
  remote_memory* remote() noexcept override { return memory_ ? &*memory_ : nullptr; }
  void check() override;
  bool ready() override;
  void publish() override;
  alarm arm() override;
  void disarm() noexcept override;
  void abort() noexcept override;

 private:
  friend checked_memory;

  /// What travels behind each payload.
  struct trailer {
    std::uint64_t number;
    std::uint64_t checksum;
  };

  /// One peer, as seen from here.
  struct peer {
    std::uint64_t next_to_send = 0;
    std::uint64_t next_to_arrive = 0;
    std::set<std::uint64_t> arrived_early;  ///< numbers above `next_to_arrive`; empty if packets arrive in order
    std::size_t slots = 0;                  ///< acquired and not committed
    std::size_t held = 0;                   ///< packets of this peer that are not released
  };

  struct acquired_slot {
    rank_t dest;
    std::uint32_t id;
  };

  template <class Act>
  auto wait_call(std::string_view call, Act&& act);

  class inspector;  // the sink between the fabric and the caller's sink

  void enter(std::string_view call, const std::byte* committed = nullptr);
  void check_rank(std::string_view call, rank_t rank) const;
  void seal(rank_t dest, std::uint64_t header, std::byte* payload, std::size_t payload_bytes);
  packet inspect(const packet& arrived);
  void check_order(peer& from, rank_t source, std::uint64_t number);
  peer& known(rank_t rank) { return peers_[rank]; }

  [[noreturn]] void caller_broke(std::string_view call, std::string_view problem) const;
  [[noreturn]] void fabric_broke(std::string_view call, std::string_view problem) const;

  capabilities caps_;
  std::thread::id user_;
  bool polling_ = false;
  bool armed_ = false;
  bool ended_ = false;  // the job was aborted: what is held may be left behind
  std::vector<std::byte> outgoing_;
  std::optional<checked_memory> memory_;
  std::unordered_map<rank_t, peer> peers_;
  std::unordered_map<const std::byte*, acquired_slot> slots_;
  const std::byte* urgent_slot_ = nullptr;  // open, and not for an ordinary packet: it is committed by the next call
  std::unordered_map<std::uint64_t, packet> kept_;  // as the fabric handed them over, by token
};

}  // namespace amity::fabric
