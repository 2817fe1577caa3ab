#pragma once

/// Long puts and gets that the progress thread of their origin carries out while the program computes.
///
/// The thread of the program hands them over: it fills one of a fixed number of slots and wakes the other thread,
/// without a lock and without waiting. The progress thread starts them on its own connection, makes their progress, and
/// counts completions. They are not ordered, neither with one another nor with operations of the program's
/// thread.
///
/// One object serves all windows of a rank. It belongs to the progress thread, which makes and ends it.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "amity/base/types.hpp"
#include "amity/core/event.hpp"
#include "amity/core/flushable.hpp"
#include "amity/core/segment.hpp"

namespace amity::core {
class engine;
}  // namespace amity::core

namespace amity::detail {

/// The transfers of one window to and from the memory of one target.
struct target_transfers : private immovable {
  explicit target_transfers(const core::segment_descriptor& of) : memory(of) {}
  /// Whether all of them are complete: puts are in the memory of the target. For the thread of the program.
  bool done() const noexcept { return completed.load(std::memory_order_acquire) == handed_over; }

  const core::segment_descriptor memory;
  std::uint64_t handed_over = 0;             ///< the thread of the program uses it
  std::atomic<std::uint64_t> completed = 0;  ///< the progress thread stores it after the data
  core::remote_segment segment;              ///< on the progress thread; of no lane: not used yet
};

class long_transfers final : private core::progress_client, private immovable {
 public:
  /// Buffers of sockets take shorter puts whole, so that little is gained; two threads that are woken cost as much.
  static constexpr std::size_t bytes_min = std::size_t{256} << 10;
  static constexpr std::size_t pending_max = 32;

  /// A contiguous put or get. `at`: bytes from the beginning of the segment.
  struct transfer {
    std::uint64_t at = 0;
    bytes_view from{};     ///< of a put; empty: it is a get
    mutable_bytes into{};  ///< of a get
  };

  /// `on` is the engine of the progress thread, and `program` the thread that hands over.
  long_transfers(core::engine& on, rank_t program);
  ~long_transfers();

  // --- For the thread of the program. ---

  rank_t lane() const noexcept { return lane_; }  ///< of the progress thread
  /// Returns false, and has done nothing, if no slot is free. Otherwise call `must_wake`.
  [[nodiscard]] bool try_hand_over(target_transfers& of, const transfer& what) noexcept;
  /// Whether the progress thread must be woken by a packet. Returns true once for all transfers until it starts them.
  [[nodiscard]] bool must_wake() noexcept { return !woken_.exchange(true, std::memory_order_acq_rel); }
  /// Transfers of all targets that are complete.
  std::uint64_t completed() const noexcept { return completed_.load(std::memory_order_acquire); }
  bool done() const noexcept { return completed() == handed_over_.load(std::memory_order_relaxed); }
  /// From now until `end_wait`, the progress thread wakes this one when a transfer is complete.
  void announce_wait() noexcept;
  void end_wait() noexcept { program_waits_.store(false, std::memory_order_relaxed); }

  // --- For the progress thread. ---

  /// Closes the segment. All transfers are complete.
  void close(target_transfers& of);
  /// The job has failed: the object of the target ends.
  void forget(const target_transfers& of) noexcept;

 private:
  class slot final : public core::awaited, private immovable {
   public:
    void reached() noexcept override { owner->complete(*this); }

    long_transfers* owner = nullptr;
    std::atomic<bool> in_use = false;
    target_transfers* of = nullptr;  ///< null: it has been forgotten
    transfer what{};
  };

  bool on_progress() override;
  void start(slot& each);
  void complete(slot& each) noexcept;

  core::engine& engine_;
  const rank_t lane_;
  const rank_t program_;
  std::array<slot, pending_max> slots_;
  std::uint64_t started_ = 0;                   ///< the progress thread uses it
  std::atomic<std::uint64_t> handed_over_ = 0;  ///< the program's thread stores it
  std::atomic<bool> woken_ = false;             ///< a packet to the progress thread is under way
  alignas(cache_line_bytes) std::atomic<std::uint64_t> completed_ = 0;  ///< the progress thread stores it
  std::atomic<bool> program_waits_ = false;
};

}  // namespace amity::detail
