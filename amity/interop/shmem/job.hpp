#pragma once

/// The job that a PE belongs to: its peers' memory, and what all collective calls are made of.
///
/// Each PE has one piece of memory: its static variables, then its symmetric heap. Peers on its node map it, so that a
/// put is a store; others reach it over the network. What the library itself shares is taken from the heap.
///
/// Synchronisation is by pairs: a PE has a counter for each peer, which that peer alone advances. Two PEs take part in
/// the collective calls that they share in one order, so a counter tells all of them apart, whatever sets or teams they
/// are of, and the programs' own pSync arrays are not needed. With the counter comes a description of the call, which
/// the other PE compares with its own call.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "amity/base/polling.hpp"
#include "amity/base/types.hpp"
#include "amity/base/yielder.hpp"
#include "amity/base/zeros.hpp"
#include "amity/core/engine.hpp"
#include "amity/core/progress_thread.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/lanes.hpp"
#include "amity/interop/shmem/am/engine.hpp"
#include "amity/interop/shmem/am/every.hpp"
#include "amity/interop/shmem/collective_call.hpp"
#include "amity/interop/shmem/far_memory.hpp"
#include "amity/interop/shmem/handle_store.hpp"
#include "amity/interop/shmem/held_locks.hpp"
#include "amity/interop/shmem/node_substrate.hpp"
#include "amity/interop/shmem/process.hpp"
#include "amity/interop/shmem/symmetric_heap.hpp"
#include "amity/world/launch/launcher_link.hpp"

namespace amity::shmem {

class job : private immovable {
 public:
  /// Where this PE is.
  struct place {
    std::unique_ptr<fabric::lanes> lane;  ///< keeps peers' memory where it is, with or without the fabric
    int cpus;                             ///< that the PEs of the node share
    std::unique_ptr<detail::launcher_link> launcher;
  };

  /// Joins the job that this process was started in. Collective; fills in `self`. Throws `error`.
  /// `threads`: several of this PE will call the library.
  explicit job(bool threads);
  /// Takes leave: nobody waits for this PE any more.
  ~job();

  symmetric_heap& heap() noexcept { return heap_; }
  am_engine<node_substrate>& messages() noexcept { return *messages_; }
  handle_store<amity_shmem_team>& teams() noexcept { return teams_; }
  handle_store<amity_shmem_context>& contexts() noexcept { return contexts_; }
  held_locks& locks() noexcept { return locks_; }

  /// Zeroed memory of the library's own, at the same place of all PEs. Collective.
  void* share(std::size_t bytes);

  /// This PE is in a collective call of a group. `notify` and `await` are for members of that group.
  void begin_collective(const char* call, const group& all, const argument& first, const argument& second) {
    const std::array values{first.value, second.value};
    if (call == called_ && values == call_.values && call_.is_of(all)) return;
    called_ = call;
    argument_names_ = {first.name, second.name};
    call_ = collective_call(call, all, values);
    call_id_ = call_.id();
  }
  /// Tells `pe` that this PE has come to the next point at which the two meet.
  void notify(int pe) {
    const auto index = static_cast<std::size_t>(pe);
    const std::uint64_t count = ++sent_[index];
    if (peers_arrivals_[index] == nullptr) [[unlikely]]
      return notify_far(pe);
    arrivals& there = *peers_arrivals_[index];
    there.calls[count % 2] = call_;
    // Release; pairs with the acquire in await().
    std::atomic_ref(there.words[count % 2]).store(notification(count), std::memory_order_release);
  }
  /// Waits until `pe` has called `notify` as often as this PE has called `await` for it. Ends the job if the two are in
  /// collective calls that differ.
  void await(const char* call, int pe) {
    const auto index = static_cast<std::size_t>(pe);
    const std::uint64_t wanted = ++awaited_[index];
    arrivals& here = arrivals_[index];
    const std::atomic_ref<std::uint64_t> word(here.words[wanted % 2]);
    std::uint64_t seen = 0;
    const auto has_come = [&] {
      seen = word.load(std::memory_order_acquire);
      return static_cast<std::uint32_t>(seen) == static_cast<std::uint32_t>(wanted);
    };
    wait(has_come, [&] { return describe_meeting(call, pe); });
    if (seen != notification(wanted)) [[unlikely]]
      fail_difference(call, pe, here.calls[wanted % 2]);
  }

  /// Waits for something that a peer does, or a handler. `describe()` says in which call and for what, for a report.
  template <class Ready, class Describe>
  void wait(Ready ready, Describe describe) {
    if (ready()) return seldom_progress();
    wait(
        ready, [this] { return make_progress(); }, describe);
  }
  /// As `wait`, for a call that must not wait inside a handler: there it ends the job instead.
  template <class Ready, class Describe>
  void wait_outside_handlers(const char* call, Ready ready, Describe describe) {
    if (ready()) return seldom_progress();
    if (messages_->in_handler()) [[unlikely]]
      fail_waiting_in_handler(call);
    wait(ready, describe);
  }
  /// Waits without running handlers.
  template <class Ready, class Describe>
  void wait_without_handlers(Ready ready, Describe describe) {
    wait(
        ready, [this] { return poll_far(); }, describe);
  }
  /// Waits for a caller that serves others itself. `serve()` returns whether it has done anything.
  template <class Ready, class Serve, class Describe>
  void wait(Ready ready, Serve serve, Describe describe) {
    for (polling looks(limits_, self.stall_ns); !ready();) {
      if (serve()) looks.served();
      rest(looks.is_patient());
      if (looks.rested()) [[unlikely]]
        report_stall(looks.seconds(), describe());
    }
  }
  /// True if it has done something for others.
  bool make_progress() {
    const bool carried_out = poll_far();
    return messages_->poll() || carried_out;
  }
  /// The same for a call that programs make in a loop of their own until they find something. A PE that shares its CPU
  /// with the peer that it waits for lets that one run.
  void look() {
    if (make_progress()) {
      set_idle_looks(0);
      leave_if_ended();
    } else {
      const unsigned looks = set_idle_looks(idle_looks() + 1);
      rest(!crowded_ || looks < limits_.looks);
    }
  }
  /// The same for calls of which some belong to such loops and most do not.
  void look_seldom() {
    if (self.far != nullptr) far_.check();  // after that `composite` looks at a quiet network, too
    if (make_progress()) return leave_if_ended();
    if (crowded_ && (set_idle_looks(idle_looks() + 1) & 15u) == 0) {
      rest(false);
    } else {
      leave_if_ended();
    }
  }
  /// Carries out what PEs on other nodes have sent; true if there was anything.
  bool poll_far() { return self.far != nullptr && far_.poll(); }

  /// A word by which this PE shows the others a number.
  std::uint64_t& offer() noexcept { return *offer_; }

  /// Ends the job with success, though its PEs have not come to their ends. PEs that compute are ended by amity's
  /// launcher; without it, they leave when they next wait.
  [[noreturn]] void end_successfully();
  /// Lets peers know that this PE gives up.
  void abort() noexcept;

 private:
  /// Notifications of a peer. It can be one notification ahead of what this PE has awaited, so there are two of them,
  /// by the parity of their count. `calls` is read for errors only: so its cache lines stay with the peer that writes
  /// them.
  struct alignas(64) arrivals {
    std::array<std::uint64_t, 2> words;
    alignas(64) std::array<collective_call, 2> calls;
  };

  // Handlers may look on another thread; a count that is lost does not matter.
  unsigned idle_looks() const noexcept { return idle_looks_.load(std::memory_order_relaxed); }
  unsigned set_idle_looks(unsigned count) noexcept {
    idle_looks_.store(count, std::memory_order_relaxed);
    return count;
  }
  /// Pauses, or gives up the CPU. Leaves the program if a PE has ended the job.
  void rest(bool is_patient);
  /// The lower half of the count, and the id of this PE's call.
  std::uint64_t notification(std::uint64_t count) const noexcept {
    return std::uint64_t{call_id_} << 32 | static_cast<std::uint32_t>(count);
  }
  static std::string describe_meeting(const char* call, int pe);
  [[noreturn, gnu::cold]] void fail_difference(const char* call, int pe, const collective_call& theirs) const;
  [[noreturn, gnu::cold]] static void fail_waiting_in_handler(const char* call);
  void notify_far(int pe);
  /// Memory that PEs of a node map; null: the fabric has none.
  fabric::remote_memory* mapped_memory();
  /// Memory for the heap, with space to align it. Where peers map it, it lies behind the static variables; elsewhere
  /// these stay where they are.
  std::byte* take_memory(const extent& statics, std::size_t heap_bytes);
  void meet_peers(std::size_t statics_bytes);
  void leave_if_ended() {
    if (std::atomic_ref(*ended_).load(std::memory_order_relaxed) != 0) [[unlikely]] {
      if (!is_telling_.load(std::memory_order_relaxed)) leave_ended_job();
    }
  }
  [[noreturn]] void leave_ended_job();

  place place_;
  std::unique_ptr<fabric::fabric> transport_;
  core::engine engine_;
  far_memory far_;
  symmetric_heap heap_;
  fabric::segment own_;                    ///< what peers map, if they do
  std::optional<zeroed_memory> unshared_;  ///< the heap, if they do not
  std::vector<fabric::remote_handle> opened_;
  std::vector<peer_memory> peers_;
  std::vector<arrivals*> peers_arrivals_;  ///< this PE's notifications in the memory of each peer; null: it is far
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> awaited_;
  arrivals* arrivals_ = nullptr;
  collective_call call_;          ///< the last one of this PE
  const char* called_ = nullptr;  ///< its name
  std::uint32_t call_id_ = 0;
  std::array<const char*, 2> argument_names_{};
  handle_store<amity_shmem_team> teams_;
  handle_store<amity_shmem_context> contexts_;
  held_locks locks_;
  std::uint64_t* ended_ = nullptr;
  std::uint64_t* offer_ = nullptr;
  polling_limits limits_ = polling_limits::of_own_cpu();
  bool crowded_ = false;  ///< more PEs than CPUs
  yielder yielder_;
  std::atomic<unsigned> idle_looks_ = 0;
  every<1024> rests_;                     ///< of waiting, until the PE asks whether the job still runs
  std::atomic<bool> is_telling_ = false;  ///< a thread tells all PEs that the job has ended: until then nobody leaves
  std::atomic<bool> is_ending_ = false;   ///< a thread ends this process
  std::unique_ptr<am_engine<node_substrate>> messages_;
  std::optional<core::progress_thread> progress_;  ///< ends before what it uses
};

}  // namespace amity::shmem
