#include "amity/core/team.hpp"

#include "amity/base/error.hpp"

namespace amity::core {
namespace {

/// Whatever still arrives is of no use.
class discarding final : public fabric::sink {
 public:
  fabric::disposition on_packet(const fabric::packet&) noexcept override { return fabric::disposition::release; }
};

class departure {
 public:
  explicit departure(std::atomic<rank_t>& serving) : serving_(serving) {}
  ~departure() {
    serving_.fetch_sub(1, std::memory_order_release);
    serving_.notify_one();
  }
  departure(const departure&) = delete;
  departure& operator=(const departure&) = delete;

 private:
  std::atomic<rank_t>& serving_;
};

}  // namespace

rank_t threads_per_rank(const settings& config) {
  return static_cast<rank_t>(config.integer("AMITY_THREADS") + config.integer("AMITY_PROGRESS_THREAD"));
}

team::team(rank_t threads)
    : size_(threads), lanes_(static_cast<std::size_t>(threads)), at_work_(threads - 1), serving_(threads - 1) {}

team::~team() = default;

endpoint& team::enter(fabric::fabric& transport, const settings& config) {
  auto own = std::make_unique<endpoint>(transport, config, size_);
  const auto thread = static_cast<std::size_t>(own->thread());
  lanes_[thread] = std::move(own);
  return *lanes_[thread];
}

endpoint& team::enter(sub_fabric& transport, const settings& config) {
  return *(lanes_[0] = std::make_unique<endpoint>(transport, config));
}

void team::leave(rank_t thread) noexcept {
  if (auto& own = lanes_[static_cast<std::size_t>(thread)]) own->release_kept();
  // The last one, so that no thread misses an endpoint of another while it unwinds.
  if (left_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) lanes_.clear();
}

void team::assemble() {
  wait_for_all();
  assembled_ = true;
}

void team::run(const std::function<void(rank_t)>& work) {
  if (size_ == 1) return work(0);
  if (!assembled_) throw job_aborted("amity: the threads of the rank have ended after a failure");
  call(&work);
  try {
    work(0);
    wait_for_all();
  } catch (...) {
    assembled_ = false;
    lane(0).transport().abort();
    await_departures();  // what the work refers to is about to go
    throw;
  }
}

void team::dismiss() noexcept {
  if (!assembled_ || size_ == 1) return;
  assembled_ = false;
  try {
    call(nullptr);
  } catch (...) {
    lane(0).transport().abort();  // whatever it is, the others see this
  }
}

void team::serve(rank_t thread) {
  const departure announced(serving_);
  endpoint& own = lane(thread);
  done(thread);
  for (std::uint64_t seen = 0;;) {
    own.wait_until("", [&] { return calls_.load(std::memory_order_acquire) != seen; });
    ++seen;
    if (work_ == nullptr) return;
    (*work_)(thread);
    done(thread);
  }
}

void team::call(const std::function<void(rank_t)>* work) {
  work_ = work;
  if (work != nullptr) at_work_.store(size_ - 1, std::memory_order_relaxed);
  calls_.fetch_add(1, std::memory_order_release);  // pairs with the acquire in serve()
  endpoint& own = lane(0);
  for (rank_t other = 1; other < size_; ++other) own.send_control(own.lane() + other, packet_kind::wake, {});
  own.wait_until("", [&] { return own.control_sent(); });
}

void team::await_departures() {
  fabric::fabric& own = lane(0).transport();
  discarding nothing;
  for (rank_t others; (others = serving_.load(std::memory_order_acquire)) > 0;) {
    if (own.caps().virtual_time) {
      own.poll(nothing, 1);  // lets simulated threads run, which a wait does not do any more
    } else {
      serving_.wait(others);
    }
  }
}

void team::wait_for_all() {
  if (size_ == 1) return;
  // Pairs with the release in done(). The packet is only there to wake this thread.
  lane(0).wait_until("", [&] { return at_work_.load(std::memory_order_acquire) == 0; });
}

void team::done(rank_t thread) {
  at_work_.fetch_sub(1, std::memory_order_release);
  endpoint& own = lane(thread);
  own.send_control(own.lane_of(own.rank(), 0), packet_kind::wake, {});
}

}  // namespace amity::core
