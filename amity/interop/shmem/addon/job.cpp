#include "amity/interop/shmem/addon/job.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "amity/base/cpu.hpp"
#include "amity/interop/shmem/am/meeting.hpp"

AMITY_SHMEM_PROFILING(align);
AMITY_SHMEM_PROFILING(barrier_all);
AMITY_SHMEM_PROFILING(ptr);
AMITY_SHMEM_PROFILING(quiet);
AMITY_SHMEM_PROFILING(uint64_test);

namespace amity::shmem::addon {
namespace {

/// A peer counts as mapped if all that is shared is at one distance there. Null is at another one from each address.
void learn(peer_memory& peer, int pe, const std::byte* first, std::size_t bytes) {
  const auto distance_of = [&](const std::byte* at) {
    const auto there = reinterpret_cast<std::uintptr_t>(pshmem_ptr(at, pe));
    return static_cast<std::ptrdiff_t>(there - reinterpret_cast<std::uintptr_t>(at));
  };
  const std::ptrdiff_t distance = distance_of(first);
  // It is 0 until it is known, and at this PE.
  const bool same = peer.distance == 0 || peer.distance == distance;
  peer.mapped &= same && distance_of(first + bytes - 1) == distance;
  peer.distance = distance;
}

/// Whether each PE maps the memory of each other one. Collective.
bool agree_that_all_map_all() {
  const std::uint64_t yes = 1, no = 2;
  auto* const votes = static_cast<std::uint64_t*>(
      public_substrate::allocate(static_cast<std::size_t>(self.pes) * sizeof(std::uint64_t)));
  const bool maps_all =
      std::all_of(self.peers, self.peers + self.pes, [](const peer_memory& each) { return each.mapped; });
  for (int pe = 0; pe < self.pes; ++pe) public_substrate::put_flag(&votes[self.me], maps_all ? yes : no, pe);
  pshmem_barrier_all();
  return std::all_of(votes, votes + self.pes, [&](std::uint64_t vote) { return vote == yes; });
}

}  // namespace

void* public_substrate::allocate(std::size_t bytes) {
  void* const found = pshmem_align(line_bytes, bytes);
  if (found == nullptr) {
    fail("shmem_init", ("the symmetric heap has no " + std::to_string(bytes) + " bytes for active messages").c_str(),
         "make it larger (SHMEM_SYMMETRIC_SIZE)");
  }
  std::memset(found, 0, bytes);
  for (int pe = 0; pe < self.pes; ++pe) learn(self.peers[pe], pe, static_cast<std::byte*>(found), bytes);
  pshmem_barrier_all();  // nobody writes there before
  return found;
}

void public_substrate::wait(function_ref<bool()> done, const char* what, int pe) {
  self.joined->wait(done, [&] { return pe < 0 ? what : std::string(what) + " " + std::to_string(pe); });
}

job::job(bool threads)
    : arrivals_(
          static_cast<arrival*>(public_substrate::allocate(static_cast<std::size_t>(self.pes) * sizeof(arrival)))),
      zero_(static_cast<std::uint64_t*>(public_substrate::allocate(line_bytes))),
      sent_(static_cast<std::size_t>(self.pes)),
      awaited_(static_cast<std::size_t>(self.pes)),
      crowded_(self.pes > ::sysconf(_SC_NPROCESSORS_ONLN)),
      limits_(crowded_ ? polling_limits::of_shared_cpu(20) : polling_limits::of_own_cpu()),
      open_mpi_progress_(reinterpret_cast<void (*)()>(::dlsym(RTLD_DEFAULT, "opal_progress"))),
      all_map_all_(agree_that_all_map_all()) {
  if (threads) messages_.threads().require();
}

void job::meet(const char* call, const active_set& set) {
  if (messages_.in_handler()) {
    fail(call, "it is called inside a handler, where nothing arrives", "call it outside of handlers");
  }
  messages_.poll();
  shmem::meet(
      set.size, all_map_all_ ? radix_of_stores : radix_of_packets,
      [&](int ahead) { notify(set.pe_at(set.me + ahead)); },
      [&](int behind) { await(call, set.pe_at(set.me + set.size - behind)); });
}

void job::barrier_all(const char* call) {
  if (!all_map_all_) messages_.quiet();
  pshmem_quiet();
  meet_all(call);
  if (all_map_all_) messages_.settle();
}

void job::notify(int pe) {
  public_substrate::put_flag(&arrivals_[self.me].count, ++sent_[static_cast<std::size_t>(pe)], pe);
}

void job::await(const char* call, int pe) {
  const std::uint64_t wanted = ++awaited_[static_cast<std::size_t>(pe)];
  // Acquire; pairs with put_flag().
  const std::atomic_ref count(arrivals_[pe].count);
  wait([&] { return count.load(std::memory_order_acquire) >= wanted; },
       [&] { return std::string(call) + ": PE " + std::to_string(pe) + " is to come"; });
}

void job::look() {
  const unsigned idle = count_idle_look();
  // Who has a CPU of its own keeps it: the program may have more to do than to look.
  rest(!crowded_ || idle < limits_.looks);
}

void job::look_seldom() {
  const unsigned idle = count_idle_look();
  if (crowded_ && idle % 16 == 15) yielder_.yield_or_doze();
}

unsigned job::count_idle_look() {
  // Threads may look beside one another; a count that is lost does not matter.
  const unsigned idle = messages_.poll() ? 0 : idle_looks_.load(std::memory_order_relaxed) + 1;
  idle_looks_.store(idle, std::memory_order_relaxed);
  return idle;
}

void job::help_other_library() {
  // A test that fails is where the standard has such help. Open MPI 4 forgets it there.
  pshmem_uint64_test(zero_, SHMEM_CMP_NE, 0);
  if (open_mpi_progress_ != nullptr) open_mpi_progress_();
}

void job::rest(bool is_patient) {
  // However many messages come: what the PE waits for may come through the other library.
  if (pauses_.is_due()) help_other_library();
  if (is_patient) {
    cpu_pause(3);
  } else {
    yielder_.yield_or_doze();
  }
}

}  // namespace amity::shmem::addon
