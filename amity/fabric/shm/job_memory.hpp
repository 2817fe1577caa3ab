#pragma once

/// The shared memory of one job: what its ranks have in common before they can exchange the first packet.
///
/// It is an anonymous memory file: it has no name, so nothing is left behind however the job ends; it lives as long as
/// a process holds its descriptor or a mapping. The launcher creates it and its ranks inherit the descriptor; ranks
/// that are threads of one process share one object.
///
/// A few header pages (who has joined, whether the job was aborted) come first, then one region whose layout belongs to
/// the fabric, then space that ranks take for segments of remote memory. All memory starts as zeros and costs nothing
/// until it is touched.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "amity/base/error.hpp"
#include "amity/base/types.hpp"

namespace amity::fabric::shm {

/// How far a rank has come. Each rank changes its own state, in this order.
enum class rank_state : std::uint32_t {
  absent,  ///< has not called `join`
  joined,  ///< others may send to it and wait for it
  left,    ///< has called `leave`: its end is no loss to the job
};

/// The API of a job's programs, which the launcher's messages name.
enum class job_api : std::uint32_t { amity, openshmem };

/// What ranks report to the launcher, apart from their states.
struct job_notes {
  std::atomic<job_api> api;
  std::atomic<std::uint32_t> succeeded;  ///< 1: the launcher ends the ranks that still run when the next one has ended
};

/// Movable, not copyable; an object that was moved from may only be destroyed or assigned to. All other functions may
/// be called from many threads at once.
class job_memory {
 public:
  static constexpr rank_t ranks_max = 65536;

  /// A new job of `ranks` ranks, 1 to `ranks_max`, all absent. The descriptor is closed on exec: a launcher clears that
  /// flag in its children. Throws `error` where the system has no memory files or no memory.
  /// `cpus`: those that the ranks share; nothing: those that the caller may use.
  static job_memory create(rank_t ranks, std::optional<int> cpus = std::nullopt);

  /// The job behind an inherited descriptor, which stays the caller's but is not inherited any further; each of the
  /// program's ranks is so many of the job's. Throws `error` if `fd` is no job, a job of another version of amity, or
  /// one with another number of ranks.
  static job_memory attach(int fd, rank_t ranks, rank_t threads = 1);

  job_memory(job_memory&&) noexcept;
  job_memory& operator=(job_memory&&) noexcept;
  ~job_memory();

  int fd() const noexcept;
  rank_t ranks() const noexcept { return header_->job.ranks; }

  /// CPUs that the ranks share, though each may be bound to one of them; unless told, those that the job's creator was
  /// allowed to use.
  int cpus() const noexcept { return static_cast<int>(header_->cpus); }

  /// The region behind the header, `bytes` large (> 0) and aligned to 2 MiB; all ranks ask for the same size. The first
  /// call maps it, in huge pages where the system has them; later ones return the same address. Throws `error` if the
  /// memory cannot be had, or if this object has a region of another size.
  std::byte* region(std::size_t bytes);

  /// Takes `bytes` of the file that nobody else has, behind the region, which must be mapped, and returns their offset,
  /// a multiple of 2 MiB. Throws `error` if there can be no such space. What is taken is never taken again: the file
  /// has far more offsets than a job can use up, and memory is taken only where it is touched.
  std::size_t take_space(std::size_t bytes);

  /// Makes sure that all ranks lay out the region alike: `layout` hashes everything that decides the layout. The first
  /// rank's value counts; throws `error` on a rank whose value differs. Call it before `region`.
  void agree(std::uint64_t layout, rank_t rank);

  /// Absent to joined. Throws `error` if `rank` is not below `ranks()` or has joined before.
  void join(rank_t rank);

  /// Joined to left. What the rank wrote before is visible to whoever reads `left`.
  void leave(rank_t rank) noexcept;

  rank_state state(rank_t rank) const noexcept;

  job_notes& notes() const noexcept { return header_->notes; }

  /// The calling rank can force a memory barrier on all threads of the job, and allows the others to do so
  /// (membarrier). At most once per rank.
  void add_barrier_rank() noexcept;

  /// Whether all ranks of the job have called `add_barrier_rank`. Once true, it remains true. Cheap.
  bool all_have_barriers() const noexcept;

  /// Ends the job on behalf of rank `by` (or `no_rank`: the launcher). The first caller counts.
  void abort(rank_t by) noexcept;

  /// Cheap enough to ask in a waiting loop.
  bool aborted() const noexcept { return header_->aborted.load(std::memory_order_relaxed) != 0; }

  /// Which rank aborted the job; `no_rank` if it was the launcher, or nobody yet.
  rank_t aborted_by() const noexcept;

 private:
  /// What a process checks before it believes the rest.
  struct identity {
    std::uint64_t magic;
    std::uint32_t version;
    rank_t ranks;
  };

  /// What all processes see; the states of the ranks follow it. A change of this layout is a new version.
  struct shared_header {
    identity job;
    std::atomic<std::uint64_t> layout;   ///< 0: no rank has given one
    std::atomic<std::uint32_t> aborted;  ///< 0: no; 1: by the launcher; rank + 2: by that rank
    std::uint32_t cpus;
    std::atomic<std::uint64_t> segment_bytes;  ///< of the file behind the region that are taken
    std::atomic<std::uint32_t> barrier_ranks;  ///< number of ranks that have called `add_barrier_rank`
    std::uint32_t unused;
    std::atomic<std::uint64_t> reserved_bytes;  ///< of the region, whose pages the file has taken
    job_notes notes;
  };
  static_assert(sizeof(shared_header) == 64 && sizeof(std::atomic<std::uint32_t>) == 4);
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

  struct mappings;

  static std::size_t header_bytes(rank_t ranks) noexcept;
  explicit job_memory(std::unique_ptr<mappings> own) noexcept;
  std::atomic<std::uint32_t>& state_of(rank_t rank) const noexcept;
  std::size_t region_bytes();

  std::unique_ptr<mappings> own_;
  shared_header* header_ = nullptr;  ///< inside `own_`
};

}  // namespace amity::fabric::shm
