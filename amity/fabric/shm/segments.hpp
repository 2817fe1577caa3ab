#pragma once

/// Segments of remote memory, as one process sees them: pieces of the job's memory file, which every process of the job
/// has open. So a key is an offset, nothing has a name that could be left behind, and the ranks of a process share one
/// mapping of each segment. Small segments of a process lie together in chunks, which stay mapped.
///
/// Attached segments are memory of one process. Other processes copy to and from it with one system call an operation,
/// where the system permits that.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "amity/fabric/remote_memory.hpp"
#include "amity/fabric/shm/file_mapping.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/fabric/shm/page_space.hpp"

namespace amity::fabric::shm {

/// All functions may be called from many threads at once.
class segments {
 public:
  /// The region of `job` is mapped before the first segment is made or opened; `job` outlives the object.
  explicit segments(job_memory& job);

  segment create(rank_t owner, std::size_t bytes);
  /// Memory of this process.
  segment attach(rank_t owner, mutable_bytes memory);
  void destroy(const segment& own) noexcept;
  /// On behalf of rank `by`. Of attached memory that this process cannot reach it has 0 bytes.
  remote_handle open(rank_t by, rank_t owner, const segment_key& key);
  void close(const remote_handle& opened) noexcept;

  static rank_t owner_of(const remote_handle& opened) noexcept {
    return static_cast<rank_t>(opened.id % huge_page_bytes);
  }

  // Attached memory of other processes, whose handles have no direct address. 0, or the number of the error: not all
  // could be copied, for example because the process has ended, or its memory is not mapped any more.

  int write(const remote_handle& to, std::size_t offset, bytes_view from) noexcept;
  int read(const remote_handle& from, std::size_t offset, mutable_bytes to) noexcept;

 private:
  struct mapped {
    file_mapping memory;
    std::size_t users = 0;  ///< of large segments: the owner, if it is of this process, and handles
  };
  struct key_fields;
  /// What a handle refers to.
  struct memory_place {
    std::int32_t process = 0;  ///< of attached memory; 0: a piece of the file
    std::uint64_t begin = 0;   ///< its address, or its offset in the file
  };

  std::uint64_t seal_of(const key_fields& fields) const noexcept;
  remote_handle open_attached(const key_fields& fields);
  /// When the process was started; 0: unknown. It is read once, because the end of a process of the job ends the job.
  std::uint64_t start_time_of(std::uint64_t process);
  std::uint64_t add_handle(const key_fields& fields, const memory_place& to);
  memory_place at(const remote_handle& opened) noexcept;
  std::size_t take_space(std::size_t bytes);
  std::byte* use(std::size_t offset, std::size_t bytes);
  void drop(std::size_t offset, std::size_t bytes) noexcept;

  job_memory& job_;
  std::uint64_t file_;                    ///< a number that tells the files of two jobs apart
  std::uint64_t process_token_;           ///< tells attached memory of this process from that of others
  std::mutex mutex_;                      ///< guards what follows
  page_space small_;                      ///< for segments of this process
  std::map<std::size_t, mapped> mapped_;  ///< by offset, of large segments and of chunks
  std::deque<memory_place> opened_;       ///< by index in the ids of handles
  std::vector<std::size_t> closed_;       ///< indices that may be used again
  std::unordered_map<std::uint64_t, std::uint64_t> start_times_;  ///< by process
};

}  // namespace amity::fabric::shm
