#include "amity/interop/mpi/drop_in/allocated_memory.hpp"

#include <algorithm>
#include <bit>
#include <exception>
#include <iterator>
#include <limits>
#include <memory>

#include "amity/core/engine.hpp"
#include "amity/core/memory.hpp"

namespace amity::mpi {
namespace {

/// The segment with the greatest beginning that is not behind the address.
auto segment_before(const std::map<const std::byte*, core::local_segment>& all, const void* address) {
  const auto behind = all.upper_bound(static_cast<const std::byte*>(address));
  return behind == all.begin() ? all.end() : std::prev(behind);
}

}  // namespace

void* allocated_memory::allocate(std::size_t bytes, std::size_t alignment) {
  const core::engine::entry entered(job_.world().own_engine(), "MPI_Alloc_mem");
  try {
    if (const int log2 = std::max(small_log2_min, static_cast<int>(std::bit_width(bytes - 1)));
        log2 <= small_log2_max && alignment <= cache_line_bytes) {
      std::byte* const piece = take_small(log2);
      given_.emplace(piece, log2);
      return piece;
    }
    const std::size_t reserve = alignment > cache_line_bytes ? alignment : 0;  // segments begin on a cache line
    if (bytes > std::numeric_limits<std::size_t>::max() - reserve) return nullptr;
    std::size_t room = bytes + reserve;
    void* piece = add_segment(room);
    std::align(alignment, bytes, piece, room);
    given_.emplace(piece, has_own_segment);
    return piece;
  } catch (const std::exception&) {
    return nullptr;
  }
}

std::byte* allocated_memory::add_segment(std::size_t bytes) {
  const core::local_segment made = job_.world().memory().allocate(bytes);
  segments_.emplace(made.data, made);
  return made.data;
}

std::byte* allocated_memory::take_small(int log2) {
  std::vector<std::byte*>& unused = unused_[static_cast<std::size_t>(log2)];
  if (unused.empty()) {
    std::byte* const all = add_segment(shared_bytes);
    for (std::size_t end = shared_bytes; end > 0; end -= std::size_t{1} << log2)
      unused.push_back(all + end - (std::size_t{1} << log2));
  }
  std::byte* const piece = unused.back();
  unused.pop_back();
  return piece;
}

bool allocated_memory::free(const void* base) {
  const core::engine::entry entered(job_.world().own_engine(), "MPI_Free_mem");
  const auto found = given_.find(base);
  if (found == given_.end()) return false;
  if (found->second == has_own_segment) {
    const auto segment = segment_before(segments_, base);
    job_.world().memory().release(segment->second);
    segments_.erase(segment);
  } else {
    unused_[static_cast<std::size_t>(found->second)].push_back(static_cast<std::byte*>(const_cast<void*>(base)));
  }
  given_.erase(found);
  return true;
}

std::optional<core::local_segment> allocated_memory::find(const void* base, std::size_t bytes) const {
  const core::engine::entry entered(job_.world().own_engine(), "MPI_Win_create");
  const auto segment = segment_before(segments_, base);
  if (segment == segments_.end()) return std::nullopt;
  const core::local_segment& candidate = segment->second;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(base) - candidate.data);
  const bool contains = offset <= candidate.bytes && bytes <= candidate.bytes - offset;
  return contains ? std::optional(candidate) : std::nullopt;
}

}  // namespace amity::mpi
