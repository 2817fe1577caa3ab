#include "amity/core/crew.hpp"

#include <algorithm>

#include "amity/base/error.hpp"

namespace amity::core {
namespace {

/// Whatever still arrives is of no use.
class discarding final : public fabric::sink {
 public:
  fabric::disposition on_packet(const fabric::packet&) noexcept override { return fabric::disposition::release; }
  void on_done(std::uint64_t) noexcept override {}
  void on_notify(std::uint32_t) noexcept override {}
};

/// Announces, at its end, that a thread no longer serves. Thread 0 may end the endpoints of that thread then.
class departure : private immovable {
 public:
  departure(engine& own, std::atomic<rank_t>& serving) : own_(own), serving_(serving) {}
  ~departure() {
    own_.not_due().release(own_.transport());
    serving_.fetch_sub(1, std::memory_order_release);
    serving_.notify_one();
  }

 private:
  engine& own_;
  std::atomic<rank_t>& serving_;
};

/// Waits until no thread is there.
void await_none(fabric::fabric& own, const std::atomic<rank_t>& threads) {
  discarding nothing;
  for (rank_t there; (there = threads.load(std::memory_order_acquire)) > 0;) {
    if (own.caps().virtual_time) {
      own.poll(nothing, 1);  // lets simulated threads run, which a wait does not do after an abort
    } else {
      threads.wait(there);
    }
  }
}

}  // namespace

crew::crew(rank_t threads)
    : size_(threads),
      lanes_(static_cast<std::size_t>(threads)),
      at_work_(threads - 1),
      serving_(threads - 1),
      seats_(static_cast<std::size_t>(threads)) {}

void crew::assemble() {
  wait_for_all();
  assembled_ = true;
}

void crew::run(function_ref<void(rank_t)> work) {
  if (size_ == 1) return work(0);
  lane(0).check_thread("a call that takes all threads of the rank");
  if (!assembled_) {
    lane(0).own_engine().failure().rethrow();
    throw job_aborted("amity: the threads of the rank have ended after a failure");
  }
  try {
    call(&work);
    work(0);
    wait_for_all();
  } catch (...) {
    abandon();  // what the work refers to is about to go
    throw;
  }
}

bool crew::try_run(function_ref<void(rank_t)> work) noexcept {
  if (size_ > 1 && !assembled_) return false;
  try {
    run(work);
    return true;
  } catch (...) {
    return false;  // what it was, the next call that makes progress tells
  }
}

void crew::abandon() noexcept {
  if (!assembled_ || size_ == 1) return;
  assembled_ = false;
  lane(0).transport().abort();
  try {
    await_departures();
  } catch (const job_aborted&) {
    await_departures();  // a simulated rank was killed meanwhile, which it is told once
  }
}

void crew::dismiss() noexcept {
  if (!assembled_ || size_ == 1) return;
  assembled_ = false;
  try {
    call(nullptr);
  } catch (...) {
    lane(0).transport().abort();  // whatever it is, the others see this
  }
}

bool crew::runs_handler_here() const noexcept {
  return std::ranges::any_of(lanes_, [](const endpoint* each) {
    return each != nullptr && each->own_engine().on_own_thread() && each->in_handler();
  });
}

void crew::serve(rank_t thread) {
  endpoint& own = lane(thread);
  const departure announced(own.own_engine(), serving_);
  done(thread);
  for (std::uint64_t seen = 0;;) {
    own.wait_until("", [&] { return calls_.load(std::memory_order_acquire) != seen; });
    ++seen;
    if (work_ == nullptr) return;
    (*work_)(thread);
    done(thread);
  }
}

// What handlers have written before a thread looks here is there for whoever announces itself afterwards: both read and
// write the same word, and one comes first. Whoever comes second is seen.
bool crew::announce(rank_t thread) noexcept {
  seat_of(thread).waits.store(true, std::memory_order_relaxed);
  anyone_waits_.exchange(true, std::memory_order_acq_rel);
  return true;
}

void crew::wake_waiting(rank_t thread, std::uint64_t handlers_run) {
  seat_of(thread).handlers_told = handlers_run;
  if (!anyone_waits_.exchange(false, std::memory_order_acq_rel)) return;
  endpoint& own = lane(thread);
  for (rank_t other = 0; other < size_; ++other) {
    if (other == thread || !seat_of(other).waits.exchange(false, std::memory_order_relaxed)) continue;
    own.own_engine().send(own.lane_of(own.rank(), other), service::wake, {});
  }
}

void crew::call(const function_ref<void(rank_t)>* work) {
  wait_for_all();  // with the work that this one is inside of
  work_ = work;
  if (work != nullptr) at_work_.store(size_ - 1, std::memory_order_relaxed);
  calls_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in serve()
  endpoint& own = lane(0);
  for (rank_t other = 1; other < size_; ++other) own.own_engine().send(own.lane() + other, service::wake, {});
  // Threads that were awake may have gone already when they are let go, and take no packet any more.
  const auto have_gone = [&] { return work == nullptr && serving_.load(std::memory_order_acquire) == 0; };
  own.wait_until("", [&] { return own.control_sent() || have_gone(); });
}

void crew::await_departures() { await_none(lane(0).transport(), serving_); }

void crew::await_leader(rank_t thread) noexcept {
  try {
    await_none(lane(thread).transport(), leaders_);
  } catch (const job_aborted&) {
    await_leader(thread);  // a simulated rank was killed meanwhile; only one call throws for that
  }
}

void crew::leave() noexcept {
  leaders_.store(0, std::memory_order_release);
  leaders_.notify_all();
}

void crew::wait_for_all() {
  if (size_ == 1) return;
  // Pairs with the release in done(). The packet is only there to wake this thread.
  lane(0).wait_until("", [&] { return at_work_.load(std::memory_order_acquire) == 0; });
}

void crew::done(rank_t thread) {
  at_work_.fetch_sub(1, std::memory_order_release);
  endpoint& own = lane(thread);
  own.own_engine().send(own.lane_of(own.rank(), 0), service::wake, {});
}

}  // namespace amity::core
