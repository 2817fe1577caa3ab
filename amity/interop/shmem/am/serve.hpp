#pragma once

/// How a PE waits: it serves others meanwhile, and tells of a wait that nothing comes of.

#include <algorithm>
#include <cstdint>

#include "amity/base/clock.hpp"
#include "amity/base/stall_clock.hpp"

namespace amity::shmem {

/// Looks in vain until a PE that has a CPU of its own gives it up: some 400 us, where memory is shared.
inline constexpr unsigned patient_looks = 4000;
/// As many of these more for each time that it has served others: the next message comes within microseconds, or not
/// soon. Without them a PE that has waited for long would give up its CPU after each message.
inline constexpr unsigned looks_after_service = 50;

/// Until `ready()`: serves others, and rests as long as it should after so many looks in vain.
///
/// `serve()`: says whether it has done anything. `rest(looks)`: pauses, and yields the CPU after a while. What it must
/// do once in so many looks, it counts by itself. `stalled(seconds)`: where nothing has been done for `stall_ns`.
template <class Ready, class Serve, class Rest, class Stalled>
void serve_until(Ready ready, Serve serve, Rest rest, std::uint64_t stall_ns, Stalled stalled) {
  stall_clock clock(stall_ns);
  for (unsigned looks = 0; !ready(); ++looks) {
    if (serve()) {
      looks = std::min(looks, patient_looks - looks_after_service);
      clock.restart();
    }
    rest(looks);
    if (looks >= patient_looks && clock.is_due(steady_now_ns())) [[unlikely]]
      stalled(clock.seconds());
  }
}

}  // namespace amity::shmem
