#pragma once

/// Memory fences that one thread forces on all others (membarrier(2), GLOBAL_EXPEDITED).
///
/// Two threads that each write a word and then read that of the other need a full fence between the two, in both
/// threads. If one of them does this rarely, it can pay for both: it writes, calls `force_remote_fences`, and reads.
/// The other one needs only a `std::atomic_signal_fence` then. That is valid if its process has called
/// `permit_remote_fences`.

namespace amity {

/// From now on, other processes can force fences on the threads of this one. Returns false if the system refuses it.
bool permit_remote_fences() noexcept;

/// A full fence in the calling thread, and in all running threads of all processes that permit it. Returns false if the
/// system refuses it.
[[nodiscard]] bool force_remote_fences() noexcept;

}  // namespace amity
