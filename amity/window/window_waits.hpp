#pragma once

/// The waits of the calls of a window. Each makes progress until its condition holds. It knows which stores of other
/// members and of other threads end a sleep, and what a report of a stall says.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/function_ref.hpp"
#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/window/access_rules.hpp"
#include "amity/window/node_signals.hpp"
#include "amity/window/window_target.hpp"

namespace amity::detail {

struct window_peer;

/// Used by the thread that has made the window; if several threads call it, by one at a time. All functions throw
/// `error` if the job ends.
class window_waits final : private immovable {
 public:
  /// `own` is the target of this rank, whose thread is `target_thread`. References, and the text of `whose`, stay valid
  /// longer than this.
  window_waits(core::endpoint& in, window_target& own, rank_t target_thread, const access_rules::identity& whose,
               const access_rules& rules);

  /// `what` and `target` are for reports. `stores` see earlier what `done` depends on; null: only records, and
  /// transfers on the progress thread, can end the wait.
  void until(std::string_view call, std::string_view what, rank_t target, function_ref<bool()> done,
             fabric::watched_memory* stores = nullptr) {
    const reason fixed{.what = what, .target = target};
    until(
        call, [&] { return fixed; }, done, stores);
  }
  /// Waits until operations on all of these are done.
  void for_operations(std::string_view call, std::span<window_peer* const> all);
  /// Waits for what the thread that carries out records counts.
  void for_target(std::string_view call, std::string_view what, function_ref<bool()> done);
  /// Waits for signals of the node; `look` sees them without an effect.
  void for_signals(std::string_view call, std::string_view what, rank_t target, node_signals& signals,
                   function_ref<bool()> done, function_ref<bool()> look);
  /// Waits for one of these locks or posts. If the job fails, reports which members hold the locks.
  void for_locks(std::string_view call, std::string_view what, std::span<window_peer* const> all,
                 function_ref<bool()> ready);
  /// Waits until these members, whose control blocks are mapped, carry out no accumulate in the memory of this one.
  void for_accumulates(std::string_view call, std::vector<window_peer*> origins);

 private:
  /// Why a call waits.
  struct reason {
    std::string_view what;  ///< its text lives until the end of the program, or of the wait
    rank_t target;
  };

  /// `why`: at present, for reports.
  void until(std::string_view call, function_ref<reason()> why, function_ref<bool()> done,
             fabric::watched_memory* stores);
  std::string label_of(std::string_view call, const reason& why);
  void report_holders(std::string_view call, std::span<window_peer* const> all) const noexcept;

  core::endpoint& endpoint_;
  window_target& target_;
  rank_t target_thread_;
  access_rules::identity whose_;
  const access_rules& rules_;
  std::string label_;  ///< memory for that of the next wait
};

}  // namespace amity::detail
