#include "amity/interop/mpi/drop_in/job.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "amity/base/clock.hpp"
#include "amity/base/yielder.hpp"
#include "amity/core/engine.hpp"
#include "amity/fabric/alarm.hpp"
#include "amity/fabric/decorator.hpp"
#include "amity/fabric/waiter.hpp"

namespace amity::mpi {
namespace {

/// What only the MPI knows. It wakes no thread, and may call functions of the program.
class operation_of_mpi final : public fabric::watched_memory {
 public:
  explicit operation_of_mpi(function_ref<bool()> is_done) : is_done_(is_done) {}

  bool has_ended() const noexcept { return has_ended_; }
  bool is_ready() const override {
    if (!has_ended_) has_ended_ = is_done_();
    return has_ended_;
  }
  bool is_outside() const noexcept override { return true; }
  void announce() noexcept override {}
  void cancel() noexcept override {}
  std::uint64_t sleep_ns_max() const noexcept override { return 20'000; }

 private:
  function_ref<bool()> is_done_;
  mutable bool has_ended_ = false;
};

/// The MPI continues what the program has begun while this process waits for other ranks in calls of windows: they may
/// wait for its messages.
class fabric_with_mpi final : public fabric::decorator {
 public:
  /// `cpus`: of the processes on this node. `on_progress_thread`: whether the progress thread is inside the engine. It
  /// must not call the MPI.
  fabric_with_mpi(amity::fabric::fabric& inner, bootstrap& with, int cpus, const bool& on_progress_thread)
      : decorator(inner), with_(with), on_progress_thread_(on_progress_thread), caps_(inner.caps()) {
    int ranks_here = 0;
    for (rank_t rank = 0; rank < inner.size(); ++rank) ranks_here += inner.same_node(rank) ? 1 : 0;
    if (ranks_here <= cpus) caps_.backoff.yields = yields_before_sleep;
  }

  const amity::fabric::capabilities& caps() const noexcept override { return caps_; }
  void check() override {
    inner().check();
    poll_mpi();
  }
  bool ready() override {
    if (++looks_ % looks_per_poll == 0) poll_mpi();
    return inner().ready();
  }
  amity::fabric::alarm arm() override {
    amity::fabric::alarm by = inner().arm();
    by.sleep_ns_max = std::min(by.sleep_ns_max, sleep_ns_max);
    return by;
  }

 private:
  void poll_mpi() {
    if (on_progress_thread_) return;
    const std::uint64_t begin_ns = steady_now_ns();
    if (begin_ns - polled_ns_ < poll_period_ns || !long_yields_.permit(begin_ns)) return;  // some MPIs take long for it
    const std::uint64_t begin_used_ns = processor_now_ns();
    with_.poll_mpi();
    polled_ns_ = steady_now_ns();
    const std::uint64_t used_ns = processor_now_ns() - begin_used_ns;  // the MPI may have copied messages
    static_cast<void>(long_yields_.record(std::min(begin_ns + used_ns, polled_ns_), polled_ns_));
  }

  static constexpr std::uint64_t sleep_ns_max = 50'000;
  /// The MPI wakes no thread, and programs of MPI expect to have their CPUs: sleeps begin after about 10 ms.
  static constexpr std::uint32_t yields_before_sleep = 20'000;

  static constexpr std::uint64_t poll_period_ns = 20'000;

  static constexpr std::uint32_t looks_per_poll = 32;

  bootstrap& with_;
  const bool& on_progress_thread_;
  amity::fabric::capabilities caps_;
  std::uint32_t looks_ = 0;
  std::uint64_t polled_ns_ = 0;
  long_yields long_yields_;  ///< of the MPI: Open MPI yields in each poll if the node has more processes than CPUs
};

/// Its flag is true during its lifetime.
class flag_while_alive : private immovable {
 public:
  explicit flag_while_alive(bool& flag) : flag_(flag) { flag_ = true; }
  ~flag_while_alive() { flag_ = false; }

 private:
  bool& flag_;
};

bool wants_progress_thread(const settings& config) { return config.integer("AMITY_PROGRESS_THREAD") != 0; }

}  // namespace

job::job(const settings& config, std::shared_ptr<bootstrap> start, bool threads)
    : options_of_windows_(with_settings({}, config)),
      start_(std::move(start)),
      by_(amity::detail::connect(config, start_)),
      lanes_(amity::detail::join_job(config, by_, 1)),
      transport_(lanes_->enter(0)),
      transport_with_mpi_(std::make_unique<fabric_with_mpi>(*transport_, *start_, amity::detail::cpus_here(config, by_),
                                                            on_progress_thread_)),
      world_(team_.enter(*transport_with_mpi_, config,
                         threads || wants_progress_thread(config) ? core::engine::threading::serialized
                                                                  : core::engine::threading::trusted)) {
  if (!wants_progress_thread(config)) return;
  progress_.emplace([this] {
    const core::engine::entry entered(world_.own_engine(), std::try_to_lock);
    if (!entered.entered() || world_.own_engine().failure().exists()) return false;
    const flag_while_alive here(on_progress_thread_);
    try {
      return progress();
    } catch (const std::exception&) {  // the job has failed: calls of the program throw it, too
      return false;
    }
  });
}

job::~job() {
  progress_.reset();
  team_.leave(0);
}

void job::meet_at_end() {
  const core::engine::entry entered(world_.own_engine(), "MPI_Finalize");
  static_cast<void>(world_.reduce(core::reduction::ending, 0));
}

bool job::has_failed() {
  const core::engine::entry entered(world_.own_engine(), "MPI");
  return world_.own_engine().failure().exists();
}

void job::check() {
  const core::engine::entry entered(world_.own_engine(), "MPI");
  world_.own_engine().failure().rethrow();
}

bool job::progress() {
  const core::engine::entry entered(world_.own_engine(), std::try_to_lock);
  if (!entered.entered() || world_.in_handler()) return false;
  return world_.progress() || world_.own_engine().flush_all();
}

void job::wait_for(function_ref<bool()> is_done, function_ref<void()> on_round) {
  operation_of_mpi operation(is_done);
  if (operation.is_ready()) return;
  const core::engine::entry entered(world_.own_engine(), "MPI");
  const auto has_ended = [&] {
    on_round();
    return operation.has_ended();
  };
  core::engine& own = world_.own_engine();
  const core::engine::attentive_wait attentive(own);
  own.wait_until(
      world_, {}, has_ended, [] { return false; }, &operation);
}

}  // namespace amity::mpi
