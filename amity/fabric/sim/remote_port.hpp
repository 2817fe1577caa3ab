#pragma once

/// Remote memory of one rank of a simulated job.
///
/// An operation costs the source what a packet costs: `overhead`, and the wire for as long as its bytes take. It then
/// travels as packets do, with a delay of its own, and takes no place in their line. The target's processor has no
/// part in it, except that a notification costs it `overhead`; what a get or an atomic brings back leaves over the
/// target's wire. Memory is read and written when the target polls, as on networks without hardware for it.
///
/// A put of few bytes is taken at once. A larger one leaves its bytes where they are, until the source has been told
/// that they may change or the target has them: a program that changes them too early sends the wrong ones.
///
/// What comes to a segment that its owner has destroyed is dropped, and is that owner's error. A notification is told
/// all the same: whoever has sent it says by packets what it was for, and is judged by that.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "amity/fabric/remote_memory.hpp"
#include "amity/fabric/sim/operations.hpp"

namespace amity::fabric {
class sink;
}

namespace amity::fabric::sim {

class engine;
class port;

class remote_port final : public remote_memory {
 public:
  remote_port(engine& job, port& own) : job_(job), own_(own) {}

  segment create(std::size_t bytes) override;
  std::optional<segment> attach(mutable_bytes memory) override;
  void destroy(const segment& own) noexcept override;
  remote_handle open(rank_t owner, const segment_key& key) override;
  void close(const remote_handle& opened) noexcept override;
  stage put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                   std::uint64_t when_free) noexcept override;

  /// For the port: a step is due. Whether the sink was told of something.
  bool take(operation_step step, std::uint64_t due_ns, sink& receiver) noexcept;

  /// Whether an operation that was refused can be tried anew, and nobody has been told.
  bool has_room_again() const noexcept { return room_again_; }
  void forget_room() noexcept { room_again_ = false; }

 private:
  stage start_put(const remote_handle& to, std::size_t offset, bytes_view from, const events& tell) noexcept override;
  stage start_get(const remote_handle& from, std::size_t offset, mutable_bytes to,
                  std::uint64_t when_complete) noexcept override;
  stage start_atomic(const remote_handle& at, std::size_t offset, const atomic_request& what, std::uint64_t* previous,
                     std::uint64_t when_complete) noexcept override;

  stage start(operation&& wanted) noexcept;
  void apply_here(operation& arrived) noexcept;
  bool take_at_target(operation_id id, std::uint64_t due_ns, sink& receiver) noexcept;
  bool tell(std::uint64_t context, sink& receiver) noexcept;

  // In the trace, if somebody wants one.
  void show_begun(const operation& begun, rank_t owner, std::uint64_t begin_ns) noexcept;
  void show_arrived(const operation& arrived, std::uint64_t begin_ns) noexcept;
  void show_told(const operation& of, std::string_view what) noexcept;
  std::uint64_t travel_ns(rank_t peer) noexcept;

  engine& job_;
  port& own_;
  std::uint32_t in_flight_ = 0;
  bool refused_ = false;  // and not begun since
  bool room_again_ = false;
};

}  // namespace amity::fabric::sim
