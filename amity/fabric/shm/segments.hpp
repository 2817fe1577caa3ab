#pragma once

/// Segments of remote memory, as one process sees them: pieces of the job's memory file, which every process of the job
/// has open. So a key is an offset, nothing has a name that could be left behind, and the ranks of a process share one
/// mapping of each segment.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "amity/fabric/remote_memory.hpp"
#include "amity/fabric/shm/file_mapping.hpp"
#include "amity/fabric/shm/job_memory.hpp"

namespace amity::fabric::shm {

/// All functions may be called from many threads at once.
class segments {
 public:
  /// The region of `job` is mapped before the first segment is made or opened; `job` outlives the object.
  explicit segments(job_memory& job);

  segment create(rank_t owner, std::size_t bytes);
  void destroy(const segment& own) noexcept;
  /// On behalf of rank `by`.
  remote_segment open(rank_t by, rank_t owner, const segment_key& key);
  void close(const remote_segment& opened) noexcept;

  static rank_t owner_of(const remote_segment& opened) noexcept {
    return static_cast<rank_t>(opened.id % huge_page_bytes);
  }

 private:
  struct mapped {
    file_mapping memory;
    std::size_t users = 0;  ///< the owner, if it is of this process, and handles
  };
  struct key_fields;

  std::uint64_t seal_of(const key_fields& fields) const noexcept;
  std::byte* use(std::size_t offset, std::size_t bytes);
  void drop(std::size_t offset) noexcept;

  job_memory& job_;
  std::uint64_t file_;                    ///< a number that tells the files of two jobs apart
  std::mutex mutex_;                      ///< guards `mapped_`
  std::map<std::size_t, mapped> mapped_;  ///< by offset
};

}  // namespace amity::fabric::shm
