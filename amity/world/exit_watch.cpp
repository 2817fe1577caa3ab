#include "amity/world/exit_watch.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <iostream>
#include <mutex>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::detail {
namespace {

constexpr int unknown_status = -1;

/// The functions that `exit` and `quick_exit` call have no parameter for the object that they belong to.
struct watched_process {
  std::mutex mutex;  ///< guards what follows, and the runners of all watches
  bool has_functions = false;
  // These are also read without the mutex.
  std::atomic<exit_watch*> newest = nullptr;
  std::atomic<pid_t> process = 0;   ///< the watches are those of this process, not of a fork of it
  std::atomic<pthread_t> ending{};  ///< the thread that ends the process
};
constinit watched_process self;

/// The system keeps the low eight bits of a status; they must not mean success.
int failure_status(int status) { return status != unknown_status && (status & 0xff) != 0 ? status & 0xff : 1; }

/// A thread may hold the lock of a stream while it waits for input. The process ends nevertheless.
void flush_streams() {
  std::packaged_task<void()> flush([] {
    std::cout.flush();
    std::clog.flush();
    std::fflush(nullptr);
  });
  const auto done = flush.get_future();
  std::thread(std::move(flush)).detach();
  done.wait_for(std::chrono::seconds(1));
}

void report(const char* call, rank_t rank, int status) {
  const std::string argument = status == unknown_status ? "" : std::to_string(status);
  const error mistake(call, rank, fmt::format("{}({}) was called before the program has returned", call, argument),
                      "return the exit status from the program");
  const std::string line = fmt::format("{}\n", mistake.what());
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

const std::byte* frame_here() { return static_cast<const std::byte*>(__builtin_frame_address(0)); }

}  // namespace

exit_watch::runner::runner(exit_watch& watch, rank_t rank)
    : watch_(watch), rank_(rank), thread_(std::this_thread::get_id()), frame_(frame_here()) {
  const std::lock_guard lock(self.mutex);
  watch_.runners_.insert(this);
}

exit_watch::runner::~runner() {
  const std::lock_guard lock(self.mutex);
  watch_.runners_.erase(this);
}

exit_watch::exit_watch(std::function<void(int)> end_job, std::function<bool()> is_foreign)
    : end_job_(std::move(end_job)), is_foreign_(std::move(is_foreign)) {
  const std::lock_guard lock(self.mutex);
  if (self.process.exchange(::getpid()) != ::getpid()) self.newest = nullptr;
  // Threads may exit at the same time. Each takes a function off the list before it calls the function, and one that
  // finds none would end the process.
  constexpr int threads_at_once = 8;
  for (int i = 0; i < threads_at_once && !self.has_functions; ++i) register_functions();
  self.has_functions = true;
  older_ = self.newest;
  self.newest = this;
}

exit_watch::~exit_watch() {
  const std::lock_guard lock(self.mutex);
  if (self.newest == this) {
    self.newest = older_;
    return;
  }
  for (exit_watch* each = self.newest; each != nullptr; each = each->older_) {
    if (each->older_ == this) each->older_ = older_;
  }
}

void exit_watch::register_functions() noexcept {
#ifdef __GLIBC__
  ::on_exit(&exit_watch::on_exit, nullptr);
#else
  std::atexit([] { handle("exit", unknown_status); });
#endif
  std::at_quick_exit(&exit_watch::on_quick_exit);
}

void exit_watch::on_exit(int status, void*) noexcept { handle("exit", status); }

void exit_watch::on_quick_exit() noexcept { handle("quick_exit", unknown_status); }

/// If several fibers share the thread, returns the one whose stack begins next above the caller's frame.
const exit_watch::runner* exit_watch::runner_here() const noexcept {
  const runner* found = nullptr;
  for (const runner* each : runners_) {
    if (each->thread_ != std::this_thread::get_id() || each->frame_ < frame_here()) continue;
    if (found == nullptr || each->frame_ < found->frame_) found = each;
  }
  return found;
}

/// A runner of the only rank; null if there are several ranks, or none.
const exit_watch::runner* exit_watch::only_runner() const noexcept {
  const runner* found = nullptr;
  for (const runner* each : runners_) {
    if (found != nullptr && found->rank_ != each->rank_) return nullptr;
    found = each;
  }
  return found;
}

void exit_watch::handle(const char* call, int status) noexcept {
  if (self.newest == nullptr || self.process != ::getpid()) return;
  // An MPI may exit while it ends the job.
  if (self.ending == ::pthread_self()) return;
  register_functions();  // exit calls each registration once
  // Not unlocked if this ends the process: until then, no watch ends, and another thread that exits waits here.
  std::unique_lock lock(self.mutex);
  exit_watch* responsible = nullptr;
  const runner* here = nullptr;
  for (exit_watch* each = self.newest; each != nullptr && here == nullptr; each = each->older_) {
    here = each->runner_here();
    if (here != nullptr || responsible == nullptr) responsible = each;
  }
  if (responsible == nullptr) return;
  // If the process is a single rank, all its threads belong to it.
  if (here == nullptr) here = responsible->only_runner();
  self.ending = ::pthread_self();
  const int failure = failure_status(status);
  try {
    if (responsible->is_foreign_()) return;
    report(call, here != nullptr ? here->rank_ : no_rank, status);
    flush_streams();
    responsible->end_job_(failure);
  } catch (...) {
    // The process ends without them.
  }
  ::_exit(failure);
}

}  // namespace amity::detail
