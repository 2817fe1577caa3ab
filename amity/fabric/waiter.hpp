#pragma once

/// The only loop in which a rank waits for its fabric.

#include <cstdint>

#include "amity/base/function_ref.hpp"
#include "amity/base/yielder.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::fabric {

/// The lock of threads that use one fabric, and its waiter, in turn. The thread that waits holds it. One thread at a
/// time waits for the fabric.
class turn_lock {
 public:
  /// Lets in another thread that waits for the lock. Returns whether one came in: then what the caller waits for may be
  /// there.
  virtual bool let_in() = 0;
  /// Calls `rest()` without the lock. Returns whether another thread came in.
  virtual bool without(function_ref<void()> rest) = 0;
  /// Calls `question()` without the lock, as code of the program that may itself wait for the fabric. Returns whether
  /// another thread came in, or this one has: then the caller's wait ends.
  virtual bool ask(function_ref<void()> question) = 0;
  /// Calls `on.sleep` without the lock. Returns whether another thread came in: that one has called `disarm`.
  virtual bool sleep(fabric& on, const alarm& by, std::uint64_t timeout_ns) noexcept = 0;

 protected:
  ~turn_lock() = default;
};

/// Memory that other ranks or threads store into, which the fabric does not report. Or what only code outside of Amity
/// knows, which `is_outside`.
class watched_memory {
 public:
  /// Whether what the caller waits for has been stored. Only looks, if it is not outside: the fabric may be armed.
  virtual bool is_ready() const = 0;
  /// Whether `is_ready` may call functions of the program. The waiter asks it without the lock, and not while the
  /// fabric is armed. No rank wakes this one, and there are no announcements.
  virtual bool is_outside() const noexcept { return false; }
  /// From now until `cancel`, ranks that store there afterwards wake this one through its fabric. The waiter looks once
  /// more after this call, and then sleeps.
  virtual void announce() noexcept = 0;
  virtual void cancel() noexcept = 0;
  /// How long a sleep may last if no rank wakes this one.
  virtual std::uint64_t sleep_ns_max() const noexcept = 0;

 protected:
  ~watched_memory() = default;
};

/// Waits on one fabric, whose owner calls it. The figures are those of `capabilities::backoff`.
class waiter {
 public:
  /// `on` must outlive the waiter.
  explicit waiter(fabric& on) : on_(on), how_(on.caps().backoff) {}

  /// Returns when there may be something to poll or what was refused may be tried again, or after `timeout_ns`; may
  /// return early. A wait that follows a sleep without an event sleeps at once. Throws as `fabric::check` does.
  /// With `others`, the lock is given up in pauses, yields and sleep, and the wait ends when another thread came in.
  /// With `stores`, the wait also ends when these are ready.
  /// Returns whether the fabric was ready, which it says once.
  bool wait(std::uint64_t timeout_ns, turn_lock* others = nullptr, watched_memory* stores = nullptr);

  /// For loops of the program's own that poll: after a round that found nothing. Yields the CPU, or rests for some
  /// microseconds, once there were many such rounds in a row.
  void rest_between_polls(turn_lock* others = nullptr);

  /// For a round that found something, so that there is no wait: asks some of the times, if `stores` are outside. The
  /// next looks, also of a later wait, ask more rarely: packets that follow one another soon would be found late.
  void pass_busy_round(turn_lock* others, const watched_memory& stores);

  /// Something has happened: the next wait is a new one.
  void progressed() noexcept { rounds_ = polls_ = 0; }

  /// Waits since something has happened.
  std::uint32_t rounds() const noexcept { return rounds_; }
  /// Rounds of a loop that polls, since something has happened.
  std::uint32_t polls() const noexcept { return polls_; }

 private:
  /// After a round that found something: looks that ask more rarely, and how many of them ask once.
  static constexpr std::uint32_t rare_looks = 64, rare_looks_per_question = 8;

  bool find_early(std::uint64_t timeout_ns, turn_lock* others, watched_memory* stores);
  bool find_in_yields(turn_lock* others, watched_memory* stores);
  void check_each_period(std::uint64_t now_ns, std::uint64_t& checked_ns);
  void sleep(std::uint64_t timeout_ns, turn_lock* others, watched_memory* stores);
  static bool is_outside(const watched_memory* stores) noexcept { return stores != nullptr && stores->is_outside(); }
  static bool ask(turn_lock* others, const watched_memory& outside);
  bool is_question_due() noexcept { return rare_looks_ == 0 || --rare_looks_ % rare_looks_per_question == 0; }
  bool is_ready(turn_lock* others, const watched_memory* stores) {
    if (stores != nullptr && (stores->is_outside() ? is_question_due() && ask(others, *stores) : stores->is_ready()))
      return true;
    found_ |= on_.ready();
    return found_;
  }

  fabric& on_;
  backoff how_;
  yielder yielder_;
  std::uint32_t rounds_ = 0;
  std::uint32_t polls_ = 0;
  std::uint32_t waits_ = 0;
  // With something outside:
  std::uint32_t busy_rounds_ = 0;
  std::uint32_t rare_looks_ = 0;  ///< that are left of those that ask rarely
  bool found_ = false;            ///< by the present wait
  std::uint64_t sleep_ns_ = 0;    ///< next sleep without a waker; 0: the last wait did not sleep
};

/// A single wait, after a `check`. `timeout_ns` as above.
void wait(fabric& on, std::uint64_t timeout_ns);

}  // namespace amity::fabric
