#pragma once

/// Threads of a program on one rank.

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/jobs.hpp"

namespace amity::testing {

/// Threads whose exceptions are kept.
class program_threads {
 public:
  ~program_threads() { join(); }

  void start(std::function<void()> work) {
    const std::scoped_lock alone(mutex_);
    threads_.emplace_back([this, work = std::move(work)] {
      const std::string failure = failure_of(work);
      const std::scoped_lock now_alone(mutex_);
      failures_.push_back(failure);
    });
  }
  /// Returns the messages of the threads, "" for one without an exception.
  std::vector<std::string> join() {
    for (std::thread& each : threads_) each.join();
    threads_.clear();
    return std::exchange(failures_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
  std::vector<std::string> failures_;
};

inline std::vector<std::string> no_failures(std::size_t threads) { return std::vector<std::string>(threads); }

}  // namespace amity::testing
