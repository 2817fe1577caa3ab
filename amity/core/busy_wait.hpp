#pragma once

/// Finds waits that do not end although messages are handled, as of an epoch whose handlers send for ever.

#include <cstdint>
#include <string>
#include <vector>

#include "amity/base/stall_clock.hpp"
#include "amity/core/ledger.hpp"
#include "amity/core/registry.hpp"

namespace amity::core {

class busy_wait {
 public:
  /// Reports are due after `period_ns` and then after each doubling; 0: never.
  explicit busy_wait(std::uint64_t period_ns) noexcept
      : clock_(period_ns, stall_clock::repeat::each_doubling), is_on_(period_ns > 0) {}

  /// Another wait begins.
  void restart() noexcept { rounds_ = 0; }

  /// A round of the wait has handled something. Whether the clock should be asked: rarely.
  bool round() noexcept { return ++rounds_ % rounds_per_look == 0 && is_on_; }

  /// Whether a report is due. `now_ns`: of any clock that does not go back. `handled`: messages of all worlds. A wait
  /// in which none is handled, but bytes of windows and large messages arrive, has an end.
  bool is_due(std::uint64_t now_ns, const registry& handlers, const ledger& counts, std::uint64_t handled);

  double seconds() const noexcept { return clock_.seconds(); }

  /// "'int': 1200000/s sent, 1200000/s handled; ..." since the first look of this wait.
  std::string rates(const registry& handlers, const ledger& counts) const;

 private:
  static constexpr std::uint32_t rounds_per_look = 1024;

  stall_clock clock_;
  bool is_on_;
  std::uint32_t rounds_ = 0;
  std::uint64_t handled_before_ = 0;    ///< in all worlds, at the first look or the last report
  std::vector<message_counts> before_;  ///< by handler, at the first look
};

}  // namespace amity::core
