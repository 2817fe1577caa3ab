#include "amity/fabric/waiter.hpp"

#include <algorithm>

#include "amity/base/clock.hpp"
#include "amity/base/cpu.hpp"

namespace amity::fabric {
namespace {

/// Waits that find something early do not ask each time whether the job has ended.
constexpr std::uint32_t waits_per_check = 64;

/// Longer waits ask again after this time. Only phases that read the clock count it: the looks take less.
constexpr std::uint64_t ns_per_check = 1'000'000;

/// What is outside may take longer than a round. While other ranks keep this one busy, it is asked less often.
constexpr std::uint32_t busy_rounds_per_question = 8;

/// Rounds of a polling program that count as a microsecond of `backoff::spin_ns`.
constexpr std::uint64_t polls_per_us = 2;

/// A sleeper that peers can see, during its lifetime.
class armed : private immovable {
 public:
  armed(fabric& on, watched_memory* stores) : on_(on), by_(on.arm()), stores_(stores) {
    if (stores != nullptr) stores->announce();
  }
  ~armed() {
    if (stores_ != nullptr) stores_->cancel();
    if (is_announced_) on_.disarm();
  }

  void sleep(std::uint64_t timeout_ns, turn_lock* others) noexcept {
    if (others == nullptr) return on_.sleep(by_, timeout_ns);
    is_announced_ = !others->sleep(on_, by_, timeout_ns);
  }

 private:
  fabric& on_;
  alarm by_;
  watched_memory* stores_;
  bool is_announced_ = true;
};

}  // namespace

bool waiter::wait(std::uint64_t timeout_ns, turn_lock* others, watched_memory* stores) {
  if (rounds_++ == 0) sleep_ns_ = 0;
  found_ = false;
  const bool spins = how_.looks > 0;  // not under virtual time
  if (spins) {
    const bool has_slept = sleep_ns_ > 0;
    if (!has_slept && find_early(timeout_ns, others, stores)) {
      if (++waits_ % waits_per_check == 0) on_.check();
      return found_;
    }
    on_.check();
    on_.publish();
    if (!has_slept && find_in_yields(others, stores)) return found_;
  }
  sleep(timeout_ns, others, stores);
  return found_;
}

bool waiter::ask(turn_lock* others, const watched_memory& outside) {
  if (others == nullptr) return outside.is_ready();
  bool is_ready = false;
  return others->ask([&] { is_ready = outside.is_ready(); }) || is_ready;
}

inline void waiter::check_each_period(std::uint64_t now_ns, std::uint64_t& checked_ns) {
  if (now_ns - checked_ns < ns_per_check) return;
  on_.check();
  checked_ns = now_ns;
}

bool waiter::find_early(std::uint64_t timeout_ns, turn_lock* others, watched_memory* stores) {
  for (std::uint32_t look = 0; look < how_.looks; ++look) {
    if (is_ready(others, stores) || (others != nullptr && others->let_in())) return true;
    if (stores == nullptr) cpu_pause(static_cast<int>(how_.pauses));
  }
  if (how_.spin_ns == 0) return false;
  const std::uint64_t begin_ns = steady_now_ns();
  std::uint64_t checked_ns = begin_ns;
  for (std::uint64_t now_ns = begin_ns; now_ns - begin_ns < std::min(how_.spin_ns, timeout_ns);
       now_ns = steady_now_ns()) {
    if (is_ready(others, stores) || (others != nullptr && others->let_in())) return true;
    check_each_period(now_ns, checked_ns);
  }
  return false;
}

bool waiter::find_in_yields(turn_lock* others, watched_memory* stores) {
  std::uint64_t checked_ns = 0;  // 0: not known before the first yield
  for (std::uint32_t look = 0; look < how_.yields; ++look) {
    if (is_ready(others, stores)) return true;
    bool was_short = false;
    std::uint64_t now_ns = 0;
    const auto yield = [&] { was_short = yielder_.yield(now_ns); };
    if (others == nullptr) {
      yield();
    } else if (others->without(yield)) {
      return true;
    }
    if (!was_short) return false;
    if (checked_ns == 0) checked_ns = now_ns;
    check_each_period(now_ns, checked_ns);
  }
  return false;
}

void waiter::sleep(std::uint64_t timeout_ns, turn_lock* others, watched_memory* stores) {
  sleep_ns_ =
      sleep_ns_ == 0 ? how_.sleep_ns_min : std::min(how_.sleep_ns_max, 2 * std::min(sleep_ns_, how_.sleep_ns_max / 2));
  const bool is_asked = is_outside(stores);
  rare_looks_ = 0;
  if (is_asked && is_ready(others, stores)) {
    sleep_ns_ = 0;
    return;
  }
  {
    watched_memory* const announces = is_asked ? nullptr : stores;
    armed announced(on_, announces);
    if (is_ready(others, announces)) {
      sleep_ns_ = 0;
      return;
    }
    announced.sleep(std::min(timeout_ns, sleep_ns_), others);
  }
  on_.check();
  if (how_.looks > 0 && is_ready(others, stores)) sleep_ns_ = 0;
}

void waiter::rest_between_polls(turn_lock* others) {
  const std::uint64_t busy = how_.looks + how_.spin_ns * polls_per_us / 1000;
  if (++polls_ < busy || how_.looks == 0) return;
  if (polls_ == busy) on_.publish();
  const auto rest = [this] { yielder_.yield_or_doze(); };
  if (others == nullptr) return rest();
  static_cast<void>(others->without(rest));
}

void waiter::pass_busy_round(turn_lock* others, const watched_memory& stores) {
  if (!stores.is_outside()) return;
  rare_looks_ = rare_looks;
  if (++busy_rounds_ % busy_rounds_per_question != 0) return;
  const auto question = [&] { static_cast<void>(stores.is_ready()); };
  if (others == nullptr) return question();
  static_cast<void>(others->without(question));
}

void wait(fabric& on, std::uint64_t timeout_ns) {
  on.check();
  waiter(on).wait(timeout_ns);
}

}  // namespace amity::fabric
