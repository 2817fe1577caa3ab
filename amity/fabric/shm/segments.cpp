#include "amity/fabric/shm/segments.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/base/random.hpp"
#include "amity/fabric/key_bytes.hpp"
#include "amity/fabric/shm/memory_file.hpp"

namespace amity::fabric::shm {

/// How the bytes of a key begin.
struct segments::key_fields {
  std::uint64_t seal;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t owner;
  std::uint64_t process;     ///< of attached memory, whose offset is an address; 0: a piece of the file
  std::uint64_t started_at;  ///< when that process was started: numbers of processes are used again
  std::uint64_t token;       ///< random, one a process: containers may use one number twice
};

namespace {

constexpr std::size_t index_of(const remote_handle& opened) {
  return static_cast<std::size_t>(opened.id / huge_page_bytes);
}

/// In ticks since the machine was started; 0: there is no such process here.
std::uint64_t read_start_time(std::uint64_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  for (int i = 3; i < 22; ++i) fields >> field;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

/// Copies with `copy`, which is process_vm_readv or process_vm_writev. Returns 0, or the number of the error.
template <class Copy>
int copy_all(Copy copy, pid_t process, std::uint64_t address, std::byte* local, std::size_t bytes) noexcept {
  while (bytes > 0) {
    const iovec here{.iov_base = local, .iov_len = bytes};
    const iovec there{.iov_base = reinterpret_cast<void*>(address), .iov_len = bytes};
    const ssize_t copied = copy(process, &here, 1, &there, 1, 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied <= 0) return copied < 0 ? errno : EFAULT;
    local += copied;
    address += static_cast<std::uint64_t>(copied);
    bytes -= static_cast<std::size_t>(copied);
  }
  return 0;
}

/// Where Linux permits only ancestors to reach into a process (Yama), the other children of its parent may from now on.
void permit_siblings() {
  int scope = 0;
  if (!(std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope) || scope != 1 || ::getppid() <= 1) return;
  static_cast<void>(::prctl(PR_SET_PTRACER, ::getppid(), 0, 0, 0));
}

std::uint64_t random_token() {
  std::uint64_t token = 0;
  while (token == 0) {
    if (::getrandom(&token, sizeof token, 0) != sizeof token)
      token = splitmix64::mix(static_cast<std::uint64_t>(::getpid()));
  }
  return token;
}

}  // namespace

segments::segments(job_memory& job) : job_(job), process_token_(random_token()) {
  struct stat info {};
  file_ = ::fstat(job.fd(), &info) == 0 ? info.st_ino : 0;
}

// A key that was damaged, or belongs to another job, would otherwise reach memory that it does not name.
std::uint64_t segments::seal_of(const key_fields& fields) const noexcept {
  std::uint64_t hash = splitmix64::mix(file_);
  for (const std::uint64_t part :
       {fields.offset, fields.bytes, fields.owner, fields.process, fields.started_at, fields.token})
    hash = splitmix64::mix(hash ^ part);
  return hash;
}

segment segments::create(rank_t owner, std::size_t bytes) {
  key_fields fields{.seal = 0,
                    .offset = take_space(bytes),
                    .bytes = bytes,
                    .owner = static_cast<std::uint64_t>(owner),
                    .process = 0,
                    .started_at = 0,
                    .token = 0};
  fields.seal = seal_of(fields);
  try {
    reserve_pages(job_.fd(), fields.offset, bytes);
    return {.data = use(fields.offset, bytes), .bytes = bytes, .key = key_from(fields)};
  } catch (...) {
    return_pages(job_.fd(), fields.offset, round_up(bytes, page_space::page_bytes));
    const std::lock_guard lock(mutex_);
    if (bytes <= page_space::bytes_max) small_.give_back(fields.offset, bytes);
    throw;
  }
}

std::uint64_t segments::start_time_of(std::uint64_t process) {
  const std::lock_guard lock(mutex_);
  const auto known = start_times_.find(process);
  if (known != start_times_.end()) return known->second;
  if (process == static_cast<std::uint64_t>(::getpid())) permit_siblings();
  const std::uint64_t found = read_start_time(process);
  if (found != 0) start_times_.emplace(process, found);
  return found;
}

segment segments::attach(rank_t owner, mutable_bytes memory) {
  const auto process = static_cast<std::uint64_t>(::getpid());
  key_fields fields{.seal = 0,
                    .offset = reinterpret_cast<std::uint64_t>(memory.data()),
                    .bytes = memory.size(),
                    .owner = static_cast<std::uint64_t>(owner),
                    .process = process,
                    .started_at = start_time_of(process),
                    .token = process_token_};
  fields.seal = seal_of(fields);
  return {.data = memory.data(), .bytes = memory.size(), .key = key_from(fields)};
}

void segments::destroy(const segment& own) noexcept {
  const key_fields fields = fields_of<key_fields>(own.key);
  if (fields.process != 0) return;
  // Gives the memory back though peers may still hold mappings. Where it cannot, it is given back with the job.
  if (fields.bytes <= page_space::bytes_max) {
    // By the mapping, which stays: caches of registered memory see this call.
    if (::madvise(own.data, round_up(fields.bytes, page_space::page_bytes), MADV_REMOVE) != 0) return;
    const std::lock_guard lock(mutex_);
    small_.give_back(fields.offset, fields.bytes);
    return;
  }
  return_pages(job_.fd(), fields.offset, round_up(fields.bytes, huge_page_bytes));
  drop(fields.offset, fields.bytes);
}

std::size_t segments::take_space(std::size_t bytes) {
  if (bytes == 0 || bytes > page_space::bytes_max) return job_.take_space(bytes);
  const std::lock_guard lock(mutex_);
  if (const auto offset = small_.take(bytes)) return *offset;
  small_.add_chunk(job_.take_space(page_space::chunk_bytes));
  return *small_.take(bytes);
}

remote_handle segments::open(rank_t by, rank_t owner, const segment_key& key) {
  const key_fields fields = fields_of<key_fields>(key);
  if (fields.seal != seal_of(fields) || fields.owner != static_cast<std::uint64_t>(owner)) {
    throw error("opening a segment", by, fmt::format("the key is none of rank {} in this job", owner),
                "hand the key of a segment, as it is, from its owner to those who open it");
  }
  if (fields.process != 0) return open_attached(fields);
  std::byte* const direct = use(fields.offset, fields.bytes);
  return {.direct = direct, .bytes = fields.bytes, .id = add_handle(fields, {.process = 0, .begin = fields.offset})};
}

std::uint64_t segments::add_handle(const key_fields& fields, const memory_place& to) {
  static_assert(job_memory::ranks_max <= huge_page_bytes);  // an id has an index and the owner
  const std::lock_guard lock(mutex_);
  if (closed_.empty()) {
    closed_.push_back(opened_.size());
    opened_.emplace_back();
  }
  const std::size_t index = closed_.back();
  closed_.pop_back();
  opened_[index] = to;
  return index * huge_page_bytes + fields.owner;
}

remote_handle segments::open_attached(const key_fields& fields) {
  auto* const address = reinterpret_cast<std::byte*>(fields.offset);
  const bool is_own = fields.token == process_token_ && fields.process == static_cast<std::uint64_t>(::getpid());
  const memory_place memory{.process = static_cast<std::int32_t>(fields.process), .begin = fields.offset};
  std::byte probe{};
  // Without /proc nothing shows that the number is still that process's.
  if ((!is_own && (fields.started_at == 0 || start_time_of(fields.process) != fields.started_at)) ||
      (!is_own && copy_all(::process_vm_readv, memory.process, memory.begin, &probe, 1) != 0))
    return {};
  return {
      .direct = is_own ? address : nullptr, .bytes = fields.bytes, .id = add_handle(fields, memory), .atomics = is_own};
}

segments::memory_place segments::at(const remote_handle& opened) noexcept {
  const std::lock_guard lock(mutex_);
  return opened_[index_of(opened)];
}

int segments::write(const remote_handle& to, std::size_t offset, bytes_view from) noexcept {
  const memory_place there = at(to);
  return copy_all(::process_vm_writev, there.process, there.begin + offset, const_cast<std::byte*>(from.data()),
                  from.size());
}

int segments::read(const remote_handle& from, std::size_t offset, mutable_bytes to) noexcept {
  const memory_place there = at(from);
  return copy_all(::process_vm_readv, there.process, there.begin + offset, to.data(), to.size());
}

void segments::close(const remote_handle& opened) noexcept {
  const memory_place place = at(opened);
  if (place.process == 0) drop(place.begin, opened.bytes);
  const std::lock_guard lock(mutex_);
  closed_.push_back(index_of(opened));
}

std::byte* segments::use(std::size_t offset, std::size_t bytes) {
  const bool is_small = bytes <= page_space::bytes_max;
  const std::size_t begin = is_small ? page_space::chunk_of(offset) : offset;
  const std::lock_guard lock(mutex_);
  auto known = mapped_.find(begin);
  if (known == mapped_.end()) {
    file_mapping whole = is_small ? file_mapping(job_.fd(), begin, page_space::chunk_bytes, page_size::usual)
                                  : file_mapping(job_.fd(), begin, bytes);
    known = mapped_.emplace(begin, mapped{std::move(whole), 0}).first;
  }
  ++known->second.users;
  return known->second.memory.data() + (offset - begin);
}

// Chunks stay mapped: other small segments will use them.
void segments::drop(std::size_t offset, std::size_t bytes) noexcept {
  if (bytes <= page_space::bytes_max) return;
  const std::lock_guard lock(mutex_);
  const auto known = mapped_.find(offset);
  AMITY_ASSERT(known != mapped_.end(), offset);
  if (--known->second.users == 0) mapped_.erase(known);
}

}  // namespace amity::fabric::shm
