#include "amity/fabric/lanes.hpp"

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::fabric {
namespace {

/// How the threads have ended.
class verdict {
 public:
  void exited(int status) {
    const std::lock_guard lock(mutex_);
    if (status_ == 0) status_ = status;
  }
  void threw(std::exception_ptr cause, bool aborted) {
    const std::lock_guard lock(mutex_);
    auto& kept = aborted ? aborted_ : cause_;
    if (!kept) kept = std::move(cause);
  }
  /// Called when no thread runs any more.
  int status() const {
    if (cause_) std::rethrow_exception(cause_);
    if (status_ == 0 && aborted_) std::rethrow_exception(aborted_);
    return status_;
  }

 private:
  std::mutex mutex_;
  int status_ = 0;
  std::exception_ptr cause_, aborted_;
};

}  // namespace

int run_on_threads(rank_t count, const std::function<int(rank_t)>& body, const std::function<void()>& give_up) {
  verdict result;
  const auto thread_main = [&](rank_t thread) {
    try {
      const int status = body(thread);
      if (status == 0) return;
      result.exited(status);
    } catch (const job_aborted&) {
      result.threw(std::current_exception(), true);
    } catch (...) {
      result.threw(std::current_exception(), false);
    }
    give_up();
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (rank_t thread = 1; thread < count; ++thread) threads.emplace_back(thread_main, thread);
    } catch (const std::system_error& refused) {
      // Those that have begun wait for the others, and the end of this block for them.
      give_up();
      throw error("threads", no_rank,
                  fmt::format("cannot start thread {} of {}: {}", threads.size() + 2, count, refused.code().message()),
                  "use fewer ranks or threads, or raise the limit of processes (ulimit -u)");
    }
    thread_main(0);
  }
  return result.status();
}

int run_lanes(lanes& own, const std::function<int(fabric&)>& lane_main) {
  const auto body = [&](rank_t thread) {
    const std::unique_ptr<fabric> entered = own.enter(thread);
    int status = 1;
    try {
      status = lane_main(*entered);
    } catch (...) {
      entered->abort();
      throw;
    }
    // Whoever fails takes no leave of the others.
    if (status != 0) entered->abort();
    return status;
  };
  return run_on_threads(own.count(), body, [&] { own.abort(); });
}

}  // namespace amity::fabric
