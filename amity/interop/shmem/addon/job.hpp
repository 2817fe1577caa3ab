#pragma once

/// The job that a PE belongs to: its active messages, and a meeting point at which handlers run.
///
/// PEs that wait inside the other library run no handlers, and others may wait for these. So PEs meet here before any
/// of them goes in there to wait for the others. They meet by pairs: a PE has a counter for each peer, which that peer
/// alone advances; as two PEs take part in the collective calls that they share in one order, a counter tells all of
/// these apart.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "amity/base/polling.hpp"
#include "amity/base/yielder.hpp"
#include "amity/interop/shmem/addon/public_substrate.hpp"
#include "amity/interop/shmem/am/engine.hpp"
#include "amity/interop/shmem/am/every.hpp"
#include "amity/interop/shmem/held_locks.hpp"

namespace amity::shmem::addon {

/// Every `stride`-th PE from `start` on.
struct active_set {
  int start;
  int stride;
  int size;
  int me;  ///< this PE's number in the set

  int pe_at(int index) const noexcept { return start + index % size * stride; }
};

class job {
 public:
  /// Collective. `threads`: several of this PE will call the library.
  explicit job(bool threads);

  am_engine<public_substrate>& messages() noexcept { return messages_; }
  held_locks& locks() noexcept { return locks_; }

  /// Returns when all PEs of the set have come. Inside a handler it is an error of `call`, as the next two.
  void meet(const char* call, const active_set& set);
  void meet_all(const char* call) { meet(call, {.start = 0, .stride = 1, .size = self.pes, .me = self.me}); }
  /// Returns when all PEs have come, and all that they did before is done, active messages among it.
  void barrier_all(const char* call);

  /// Waits for something that a peer does, or a handler. `describe()` says in which call and for what, for a report.
  template <class Ready, class Describe>
  void wait(Ready ready, Describe describe) {
    for (polling looks(limits_, self.stall_ns); !ready();) {
      if (messages_.poll()) looks.served();
      rest(looks.is_patient());
      if (looks.rested()) report_stall(looks.seconds(), describe());
    }
  }
  /// Runs handlers in a call that programs make in a loop of their own until they find something.
  void look();
  /// The same in calls of which some belong to such loops and most do not.
  void look_seldom();

 private:
  struct alignas(line_bytes) arrival {
    std::uint64_t count;
  };

  unsigned count_idle_look();
  /// Pauses, or gives up the CPU. Runs no handlers; now and then the other library makes progress.
  void rest(bool is_patient);
  /// Its puts may need the target's help, where they are messages.
  void help_other_library();
  void notify(int pe);
  void await(const char* call, int pe);

  arrival* arrivals_;    ///< by peer
  std::uint64_t* zero_;  ///< stays so
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> awaited_;
  bool crowded_;  ///< more PEs than CPUs, if all are on this node
  polling_limits limits_;
  yielder yielder_;
  void (*open_mpi_progress_)();
  std::atomic<unsigned> idle_looks_ = 0;
  every<16> pauses_;  ///< until the other library gets help
  am_engine<public_substrate> messages_;
  held_locks locks_;
  bool all_map_all_;  ///< so that all see what each one shows
};

}  // namespace amity::shmem::addon
