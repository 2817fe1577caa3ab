#include "amity/fabric/shm/job_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/file_descriptor.hpp"
#include "amity/fabric/node.hpp"
#include "amity/fabric/shm/file_mapping.hpp"
#include "amity/fabric/shm/memory_file.hpp"

namespace amity::fabric::shm {
namespace {

constexpr std::uint64_t job_magic = 0x626f6a7974696d61;  // "amityjob" as it lies in memory
constexpr std::uint32_t job_version = 6;

[[noreturn]] void no_job_memory(std::string_view act, std::size_t bytes) {
  throw error("shared memory", no_rank, fmt::format("cannot {} {} bytes: {}", act, bytes, std::strerror(errno)),
              "free memory, or use fewer ranks");
}

[[noreturn]] void not_joinable(int fd, std::string_view problem) {
  throw error("joining the job", no_rank, fmt::format("AMITY_JOB_FD={} {}", fd, problem),
              "start the program with `amity run -n N`, with what it is to have of AMITY_THREADS and "
              "AMITY_PROGRESS_THREAD, or unset AMITY_JOB_FD and AMITY_RANK to start it alone");
}

/// Pages that have been taken for one rank are there for all. `taken` counts their bytes.
void reserve_for_all(int fd, std::size_t offset, std::size_t bytes, std::atomic<std::uint64_t>& taken) {
  const file_lock lock(fd);
  // Relaxed: the lock orders the ranks. Where the system has no such locks, some may take the pages again.
  if (taken.load(std::memory_order_relaxed) >= bytes) return;
  reserve_pages(fd, offset, bytes);
  taken.store(bytes, std::memory_order_relaxed);
}

}  // namespace

/// The descriptor and the mappings of this process: on the heap, so that moving a job_memory moves no mutex.
struct job_memory::mappings : private immovable {
  file_descriptor fd;
  file_mapping header;

  std::mutex mutex;  ///< guards what follows
  file_mapping region;

  mappings() = default;
};

job_memory::job_memory(std::unique_ptr<mappings> own) noexcept
    : own_(std::move(own)), header_(reinterpret_cast<shared_header*>(own_->header.data())) {}

job_memory::job_memory(job_memory&&) noexcept = default;
job_memory& job_memory::operator=(job_memory&&) noexcept = default;
job_memory::~job_memory() = default;

std::size_t job_memory::header_bytes(rank_t ranks) noexcept {
  return sizeof(shared_header) + static_cast<std::size_t>(ranks) * sizeof(std::atomic<std::uint32_t>);
}

job_memory job_memory::create(rank_t ranks, std::optional<int> cpus) {
  if (ranks < 1 || ranks > ranks_max) {
    throw error("shared memory", no_rank, fmt::format("a job of {} ranks is not possible", ranks),
                fmt::format("use 1 to {} ranks", ranks_max));
  }
  auto own = std::make_unique<mappings>();
  own->fd = create_memory_file();
  const std::size_t bytes = header_bytes(ranks);
  grow_memory_file(own->fd.get(), bytes);
  reserve_pages(own->fd.get(), 0, bytes);
  own->header = file_mapping(own->fd.get(), 0, bytes);
  ::new (own->header.data()) shared_header{.job = {job_magic, job_version, ranks},
                                           .layout = 0,
                                           .aborted = 0,
                                           .cpus = static_cast<std::uint32_t>(cpus.value_or(allowed_cpus().count())),
                                           .segment_bytes = 0,
                                           .barrier_ranks = 0,
                                           .unused = 0,
                                           .reserved_bytes = 0,
                                           .notes = {}};
  return job_memory(std::move(own));
}

job_memory job_memory::attach(int fd, rank_t program_ranks, rank_t threads) {
  const rank_t ranks = program_ranks * threads;
  if (::fcntl(fd, F_GETFD) < 0) not_joinable(fd, "is not an open descriptor in this process");
  identity found{};
  if (::pread(fd, &found, sizeof found, 0) != sizeof found || found.magic != job_magic) {
    not_joinable(fd, "is not the memory of a job");
  }
  if (found.version != job_version) {
    not_joinable(fd, fmt::format("belongs to a launcher with job memory version {}, this program has version {}",
                                 found.version, job_version));
  }
  if (found.ranks != ranks) {
    not_joinable(fd, fmt::format("is a job of {} threads in all, but AMITY_RANKS={} with {} a rank make {}",
                                 found.ranks, program_ranks, threads, ranks));
  }
  auto own = std::make_unique<mappings>();
  own->fd = file_descriptor(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!own->fd) no_job_memory("duplicate the descriptor of", header_bytes(ranks));
  own->header = file_mapping(own->fd.get(), 0, header_bytes(ranks));
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  return job_memory(std::move(own));
}

int job_memory::fd() const noexcept { return own_->fd.get(); }

std::byte* job_memory::region(std::size_t bytes) {
  AMITY_ASSERT(bytes > 0);
  const std::lock_guard lock(own_->mutex);
  file_mapping& region = own_->region;
  if (region.data() == nullptr) {
    const std::size_t offset = round_up(header_bytes(ranks()), huge_page_bytes);
    grow_memory_file(own_->fd.get(), offset + bytes);
    reserve_for_all(own_->fd.get(), offset, bytes, header_->reserved_bytes);
    region = file_mapping(own_->fd.get(), offset, bytes);
  } else if (region.bytes() != bytes) {
    throw error("shared memory", no_rank,
                fmt::format("a region of {} bytes was asked for, after one of {}", bytes, region.bytes()),
                "give all ranks the same AMITY_SHM_* settings");
  }
  return region.data();
}

std::size_t job_memory::take_space(std::size_t bytes) {
  constexpr std::size_t bytes_max = std::size_t{1} << 46;  // more than a process can map; the file is far larger
  if (bytes == 0 || bytes > bytes_max) {
    throw error("shared memory", no_rank, fmt::format("a segment of {} bytes is not possible", bytes),
                fmt::format("use 1 to {} bytes", bytes_max));
  }
  const std::size_t needed = round_up(bytes, huge_page_bytes);
  // Relaxed: nothing else is published with the value.
  const std::size_t behind = header_->segment_bytes.fetch_add(needed, std::memory_order_relaxed);
  const std::size_t first =
      round_up(header_bytes(ranks()), huge_page_bytes) + round_up(region_bytes(), huge_page_bytes);
  grow_memory_file(own_->fd.get(), first + behind + bytes);
  return first + behind;
}

std::size_t job_memory::region_bytes() {
  const std::lock_guard lock(own_->mutex);
  AMITY_ASSERT(own_->region.bytes() > 0);
  return own_->region.bytes();
}

void job_memory::agree(std::uint64_t layout, rank_t rank) {
  const std::uint64_t mine = layout == 0 ? ~std::uint64_t{0} : layout;  // 0 stands for "no rank has given one"
  std::uint64_t first = 0;
  // Relaxed: nothing else is published with the value.
  if (header_->layout.compare_exchange_strong(first, mine, std::memory_order_relaxed) || first == mine) return;
  throw error("joining the job", rank, "the AMITY_SHM_* settings of this rank differ from those of the ranks before it",
              "give all ranks the same AMITY_SHM_* settings, and the same build of the program");
}

std::atomic<std::uint32_t>& job_memory::state_of(rank_t rank) const noexcept {
  AMITY_ASSERT(rank >= 0 && rank < ranks(), rank, ranks());
  return reinterpret_cast<std::atomic<std::uint32_t>*>(header_ + 1)[rank];
}

void job_memory::join(rank_t rank) {
  if (rank < 0 || rank >= ranks()) {
    throw error("joining the job", no_rank, fmt::format("AMITY_RANK={} in a job of {} ranks", rank, ranks()),
                "let `amity run -n N` set AMITY_RANK");
  }
  auto absent = static_cast<std::uint32_t>(rank_state::absent);
  // Relaxed: the fabric publishes its memory itself, the launcher only reads.
  if (state_of(rank).compare_exchange_strong(absent, static_cast<std::uint32_t>(rank_state::joined),
                                             std::memory_order_relaxed)) {
    return;
  }
  throw error("joining the job", rank,
              "this rank has joined already, in this process or in another with its AMITY_RANK",
              "call amity::run once in each rank, and do not start a second program from a rank");
}

void job_memory::leave(rank_t rank) noexcept {
  // Release; pairs with the acquire in `state`.
  state_of(rank).store(static_cast<std::uint32_t>(rank_state::left), std::memory_order_release);
}

rank_state job_memory::state(rank_t rank) const noexcept {
  // Acquire; pairs with the release in `leave`.
  return static_cast<rank_state>(state_of(rank).load(std::memory_order_acquire));
}

void job_memory::add_barrier_rank() noexcept {
  // Release; pairs with the acquire in `all_have_barriers`: a rank that reads the last number knows that all ranks have
  // registered with the kernel.
  header_->barrier_ranks.fetch_add(1, std::memory_order_acq_rel);
}

bool job_memory::all_have_barriers() const noexcept {
  // Acquire; pairs with the release in `add_barrier_rank`.
  return header_->barrier_ranks.load(std::memory_order_acquire) == static_cast<std::uint32_t>(ranks());
}

void job_memory::abort(rank_t by) noexcept {
  const auto mark = by == no_rank ? 1u : static_cast<std::uint32_t>(by) + 2u;
  std::uint32_t nobody = 0;
  // Relaxed: the word itself is the whole message.
  header_->aborted.compare_exchange_strong(nobody, mark, std::memory_order_relaxed);
}

rank_t job_memory::aborted_by() const noexcept {
  const std::uint32_t mark = header_->aborted.load(std::memory_order_relaxed);
  const bool by_rank = mark >= 2 && mark - 2 < static_cast<std::uint32_t>(ranks());
  return by_rank ? static_cast<rank_t>(mark - 2) : no_rank;
}

}  // namespace amity::fabric::shm
