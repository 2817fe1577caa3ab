#pragma once

/// The lock of a serialized engine, and where its threads wait.
///
/// One thread at a time waits for the fabric; the others take seats of the guard. A thread that enters while one sleeps
/// in the fabric calls `disarm` in its place, and wakes it: the fabric is never used while it is armed, and whatever
/// the thread that has entered takes from the fabric, the sleeper looks for it afterwards.
///
/// - A thread that has polled something or found the fabric ready, and a thread that leaves, wakes all seats.
/// - The thread that waits for the fabric holds the lock from its last look at what it waits for until it gives up the
///   lock, and ends its wait if another thread came in. So it misses nothing that threads inside do.

#include <cstdint>
#include <utility>

#include "amity/base/file_descriptor.hpp"
#include "amity/base/function_ref.hpp"
#include "amity/base/guard.hpp"
#include "amity/fabric/alarm.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/waiter.hpp"

namespace amity::core {

class engine_lock final : public fabric::turn_lock {
 public:
  /// Throws `error` if the process has no descriptor left. `transport` must outlive the last wait.
  explicit engine_lock(fabric::fabric& transport);

  bool is_inside() const noexcept { return guard_.is_inside(); }
  void enter() noexcept;
  /// False if another thread is inside, or waits for the fabric.
  bool try_enter() noexcept;
  void leave() noexcept;
  /// Whether the thread inside, which leaves with its next `leave`, has waited for the fabric, and one of those on
  /// seats takes that place.
  bool hands_over() const noexcept { return has_waited_ && guard_.depth() == 1 && guard_.seats_taken(); }
  void wake_seats() noexcept { guard_.wake(); }
  /// Whether the last wait has found the fabric ready. What it was ready for may be what a thread on a seat waits for:
  /// a credit, for example.
  bool take_found() noexcept { return std::exchange(has_found_, false); }
  /// Waits for the fabric, or on a seat if another thread does, for `seat_ns`. Returns early when another thread came
  /// in. Throws as the waiter does. On a seat, a packet that announces `stores` ends the wait, or their time.
  void wait(fabric::waiter& by, std::uint64_t timeout_ns, std::uint64_t seat_ns,
            fabric::watched_memory* stores = nullptr);

  /// Calls `rest()` while this thread is not inside. Returns whether another thread came in.
  bool without(function_ref<void()> rest) override;

  const guard& seats() const noexcept { return guard_; }
  /// Returns how often a thread that entered has ended a sleep in the fabric.
  std::uint64_t sleeps_ended() const noexcept { return sleeps_ended_; }

 private:
  class place_in_fabric;

  bool let_in() override { return guard_.let_in(); }
  bool ask(function_ref<void()> question) override;
  bool sleep(fabric::fabric& on, const fabric::alarm& by, std::uint64_t timeout_ns) noexcept override;
  void end_sleep() noexcept;

  guard guard_;
  fabric::fabric& transport_;
  file_descriptor wake_up_;                 ///< an eventfd
  fabric::alarm alarm_;                     ///< of the thread that sleeps
  bool armed_ = false;                      ///< a thread sleeps in the fabric, and no other thread has called `disarm`
  const place_in_fabric* place_ = nullptr;  ///< of the thread that waits for the fabric; null: none does
  bool has_waited_ = false;                 ///< the thread inside has
  bool has_found_ = false;
  std::uint64_t sleeps_ended_ = 0;
};

}  // namespace amity::core
