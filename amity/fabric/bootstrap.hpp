#pragma once

/// What the processes of a job know of each other before they can exchange a packet: who is how many, and a few bytes
/// from each.
///
/// Whoever started the job provides it: amity's own launcher, a process manager that speaks PMIx or PMI-1. Fabrics that
/// reach across nodes take it as they find it.

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amity/base/types.hpp"

namespace amity::fabric {

/// Used by one thread at a time, but for `aborted` and `abort`. Where a call cannot be answered, it throws `error`, or
/// `job_aborted` if the job has ended meanwhile.
class bootstrap {
 public:
  /// Each process may contribute this much to an all-gather: the addresses of some hundred threads.
  static constexpr std::size_t blob_bytes_max = 8192;

  /// Nobody whose end would be that of the job has started this process.
  bootstrap() = default;
  virtual ~bootstrap() = default;

  /// This process among those of the job.
  virtual rank_t rank() const noexcept = 0;
  virtual rank_t size() const noexcept = 0;

  /// What names this process's node (node.hpp).
  const std::string& node() const noexcept { return node_; }
  void set_node(std::string name) { node_ = std::move(name); }

  /// The process that has started this one, and without which nobody would end the job; 0: none.
  pid_t starter() const noexcept { return starter_; }

  /// Collective: what each process has given, by rank. At most `rounds_max` times.
  virtual std::vector<std::string> all_gather(std::string_view mine) = 0;
  static constexpr int rounds_max = 8;

  /// Whether a thread of this process has ended the job, or whoever started it, or another process by their help.
  /// Cheap. From any thread.
  bool aborted() const noexcept { return aborted_here_.load(std::memory_order_relaxed) || aborted_elsewhere(); }

  /// Tells the threads of this process, and whoever started the job, that it cannot go on. From any thread.
  void abort() noexcept {
    if (!aborted_here_.exchange(true, std::memory_order_relaxed)) tell_of_abort();
  }

 protected:
  explicit bootstrap(pid_t starter) : starter_(starter) {}
  bool aborted_here() const noexcept { return aborted_here_.load(std::memory_order_relaxed); }

 private:
  /// From any thread.
  virtual bool aborted_elsewhere() const noexcept { return false; }
  /// Once. Managers of processes need no word: they end the job when they see how this process ends, which says why
  /// before.
  virtual void tell_of_abort() noexcept {}

  std::string node_;
  pid_t starter_ = 0;
  std::atomic<bool> aborted_here_ = false;
};

/// Whether this process has lost its `bootstrap::starter`. A system call.
bool is_left_by(pid_t starter) noexcept;
/// The `error` that says so of rank `own`, in the words of a fabric.
[[noreturn]] void throw_left(std::string_view fabric, rank_t own, pid_t starter);

}  // namespace amity::fabric
