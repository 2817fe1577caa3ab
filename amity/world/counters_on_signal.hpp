#pragma once

/// With AMITY_MESSAGE_COUNTERS=1, SIGUSR1 and SIGTERM print the counters of the ranks of this process.
///
/// The signal handler prints them itself, whatever the ranks do: a handler of a message may loop forever, and a rank
/// may be blocked in a system call, which is restarted. SIGTERM then ends the process. A signal that the program
/// handles or ignores, before or after the object is made, is left alone.

#include <deque>

#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"
#include "amity/core/counter_table.hpp"

namespace amity::detail {

/// There may be several, for several jobs of the process. A process that a rank has forked prints nothing.
class counters_on_signal : private immovable {
 public:
  /// For `count` ranks of this process, from `first` on.
  counters_on_signal(const settings& config, rank_t first, rank_t count);
  /// The last one restores the default action of the signals.
  ~counters_on_signal();

  /// Where a rank of this process counts; null if the setting is 0.
  core::counter_table* table_of(rank_t rank) noexcept;

 private:
  static void on_signal(int signal) noexcept;
  void print(int signal) const noexcept;

  rank_t first_;
  std::deque<core::counter_table> tables_;  ///< one per rank
};

}  // namespace amity::detail
