#include "amity/window/long_transfers.hpp"

#include <exception>
#include <utility>

#include "amity/core/endpoint.hpp"
#include "amity/core/memory.hpp"
#include "amity/core/no_progress.hpp"

namespace amity::detail {

long_transfers::long_transfers(core::engine& on, rank_t program)
    : engine_(on), lane_(on.transport().rank()), program_(program) {
  for (slot& each : slots_) each.owner = this;
  engine_.attach(static_cast<core::progress_client&>(*this));
}

long_transfers::~long_transfers() { engine_.detach(static_cast<core::progress_client&>(*this)); }

// The thread of the program

bool long_transfers::try_hand_over(target_transfers& of, const transfer& what) noexcept {
  const std::uint64_t number = handed_over_.load(std::memory_order_relaxed);
  slot& free = slots_[number % pending_max];
  if (free.in_use.load(std::memory_order_acquire)) return false;  // pairs with the release in complete()
  free.of = &of;
  free.what = what;
  free.in_use.store(true, std::memory_order_relaxed);
  ++of.handed_over;
  handed_over_.store(number + 1, std::memory_order_release);  // pairs with the acquire in on_progress()
  return true;
}

// Each thread writes one word, then reads one that the other writes: one of the two sees the other.
void long_transfers::announce_wait() noexcept {
  program_waits_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// The progress thread

// The packet that wakes this thread may have arrived before the round. Transfers that are handed over after the
// exchange send another one.
bool long_transfers::on_progress() try {
  if (engine_.failure().exists()) return false;
  if (woken_.load(std::memory_order_relaxed)) woken_.exchange(false, std::memory_order_acq_rel);
  const std::uint64_t end = handed_over_.load(std::memory_order_acquire);
  const std::uint64_t begin = started_;
  while (started_ != end && core::has_place(engine_.job_world())) start(slots_[started_++ % pending_max]);
  return started_ != begin;
} catch (...) {
  engine_.failure().set(std::current_exception());
  return false;
}

void long_transfers::start(slot& each) {
  if (each.of == nullptr) return;  // the job has failed
  core::endpoint& world = engine_.job_world();
  target_transfers& target = *each.of;
  if (target.segment.lane == no_rank) target.segment = world.memory().open(target.memory);
  const core::remote_address there{target.segment, each.what.at};
  const core::no_progress quiet(world);
  if (each.what.from.empty()) {
    core::get(world, there, each.what.into, each);
  } else {
    core::put(world, there, each.what.from, each);
  }
}

void long_transfers::complete(slot& each) noexcept {
  target_transfers* const of = std::exchange(each.of, nullptr);
  if (of == nullptr) return;
  of->completed.store(of->completed.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  each.in_use.store(false, std::memory_order_release);
  completed_.store(completed_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!program_waits_.load(std::memory_order_relaxed)) return;
  if (program_waits_.exchange(false, std::memory_order_relaxed)) engine_.send(program_, core::service::wake, {});
}

void long_transfers::close(target_transfers& of) {
  if (of.segment.lane != no_rank) engine_.job_world().memory().close(of.segment);
}

void long_transfers::forget(const target_transfers& of) noexcept {
  for (slot& each : slots_) {
    if (each.of == &of) each.of = nullptr;
  }
}

}  // namespace amity::detail
