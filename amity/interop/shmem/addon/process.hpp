#pragma once

/// The process that the functions of the add-on are called in: one PE of a job of another OpenSHMEM.
///
/// As in amity's own library, the C API has no parameter for it, so one object at namespace scope holds it
/// (docs/decisions/0017-openshmem.md).

#include <cstddef>
#include <cstdint>
#include <string>

#include "amity/interop/shmem/am/every.hpp"

namespace amity::shmem::addon {

class job;

/// Where a peer's memory is mapped in this process.
struct peer_memory {
  std::ptrdiff_t distance = 0;  ///< from an address here to the same object of the peer
  bool mapped = true;
};

enum class phase { before, running, after };

struct process {
  int me = -1;
  int pes = 0;      ///< 0 unless running: the range check of a PE is also the check that there is a job
  every<16> calls;  ///< of functions too short to make progress each time
  phase now = phase::before;
  std::uint64_t stall_ns = 0;    ///< a wait that lasts so long without progress is told of; 0: none
  peer_memory* peers = nullptr;  ///< of what the library itself shares
  job* joined = nullptr;
};

[[gnu::visibility("hidden")]] extern process self;

/// Prints an error and ends the job.
[[noreturn, gnu::cold]] void fail(const char* call, const char* problem, const char* remedy);
[[noreturn, gnu::cold]] void fail_outside(const char* call);  ///< before the beginning, or after the end
[[noreturn, gnu::cold]] void fail_pe(const char* call, int pe);

/// Tells that this PE has waited for long: "no progress for 30 s in ", and then what it waits for.
[[gnu::cold]] void report_stall(double seconds, const std::string& waits_for);

inline job& running(const char* call) {
  if (self.joined == nullptr) [[unlikely]]
    fail_outside(call);
  return *self.joined;
}

inline void check_pe(const char* call, int pe) {
  if (static_cast<unsigned>(pe) >= static_cast<unsigned>(self.pes)) [[unlikely]]
    fail_pe(call, pe);
}

/// Runs handlers, if there is a job and any are due.
void progress();

/// For functions that take nanoseconds.
inline void seldom_progress() {
  if (self.calls.is_due()) [[unlikely]]
    progress();
}

}  // namespace amity::shmem::addon
