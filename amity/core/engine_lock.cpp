#include "amity/core/engine_lock.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "amity/base/error.hpp"
#include "amity/base/futex.hpp"

namespace amity::core {

/// During its lifetime the thread waits for the fabric, unless another one has taken the place during a question.
class engine_lock::place_in_fabric : private immovable {
 public:
  explicit place_in_fabric(engine_lock& of) : of_(of) {
    of_.place_ = this;
    of_.has_waited_ = false;
  }
  ~place_in_fabric() {
    if (of_.place_ != this) return;
    of_.place_ = nullptr;
    of_.has_waited_ = true;
  }

 private:
  engine_lock& of_;
};

engine_lock::engine_lock(fabric::fabric& transport)
    : transport_(transport), wake_up_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_up_) {
    throw error("a serialized engine", transport.rank(),
                std::string("cannot open a descriptor to be woken by: ") + std::strerror(errno),
                "raise the limit of open files (ulimit -n)");
  }
  guard_.require();
}

void engine_lock::enter() noexcept {
  guard_.enter();
  end_sleep();
}

bool engine_lock::try_enter() noexcept {
  if (!guard_.try_enter()) return false;
  if (guard_.depth() > 1 || place_ == nullptr) return true;
  guard_.exit();
  return false;
}

void engine_lock::leave() noexcept {
  if (guard_.depth() == 1) {
    has_waited_ = false;
    guard_.wake();
  }
  guard_.exit();
}

void engine_lock::wait(fabric::waiter& by, std::uint64_t timeout_ns, std::uint64_t seat_ns,
                       fabric::watched_memory* stores) {
  if (place_ != nullptr) {
    if (stores == nullptr) {
      guard_.sit(seat_ns);
    } else if (stores->is_outside()) {
      bool is_ready = false;
      const bool others = without([&] { is_ready = stores->is_ready(); });
      if (!is_ready && !others) guard_.sit(std::min(seat_ns, stores->sleep_ns_max()));
    } else {
      stores->announce();
      if (!stores->is_ready()) guard_.sit(std::min(seat_ns, stores->sleep_ns_max()));
      stores->cancel();
    }
    return end_sleep();
  }
  const place_in_fabric taken(*this);
  has_found_ |= by.wait(timeout_ns, this, stores);
}

bool engine_lock::without(function_ref<void()> rest) {
  const std::uint32_t before = guard_.entries();
  {
    const guard::outside others(guard_);
    rest();
  }
  // While a thread that polls by itself was outside, another one may have begun to sleep.
  end_sleep();
  return guard_.entries() != before + 1;
}

// The place is free during the question: the thread may wait for the fabric in it, and other threads may.
bool engine_lock::ask(function_ref<void()> question) {
  const place_in_fabric* const own = std::exchange(place_, nullptr);
  const bool others = without(question);
  if (place_ != nullptr) return true;
  place_ = own;
  return others;
}

bool engine_lock::sleep(fabric::fabric& on, const fabric::alarm& by, std::uint64_t timeout_ns) noexcept {
  alarm_ = by;
  if (by.word == nullptr) alarm_.descriptors.back() = wake_up_.get();
  // A copy: another thread may sleep when this one has been woken.
  const fabric::alarm own = alarm_;
  armed_ = true;
  {
    const guard::outside others(guard_);
    on.sleep(own, timeout_ns);
  }
  if (std::exchange(armed_, false)) return false;
  std::uint64_t wakes = 0;
  if (by.word == nullptr) static_cast<void>(::read(wake_up_.get(), &wakes, sizeof wakes));
  return true;
}

// The sleeper is outside. It has begun to sleep, or is about to.
void engine_lock::end_sleep() noexcept {
  if (!std::exchange(armed_, false)) return;
  ++sleeps_ended_;
  transport_.disarm();
  if (alarm_.word != nullptr) return futex_wake_all(*alarm_.word);
  constexpr std::uint64_t one = 1;
  static_cast<void>(::write(wake_up_.get(), &one, sizeof one));
}

}  // namespace amity::core
