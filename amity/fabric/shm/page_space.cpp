#include "amity/fabric/shm/page_space.hpp"

#include <algorithm>
#include <iterator>

#include "amity/base/assert.hpp"

namespace amity::fabric::shm {

std::optional<std::size_t> page_space::take(std::size_t bytes) {
  const std::size_t needed = round_up(bytes, page_bytes);
  const auto found = std::ranges::find_if(free_, [&](const auto& each) { return each.second >= needed; });
  if (found == free_.end()) return std::nullopt;
  const auto [offset, size] = *found;
  free_.erase(found);
  if (size > needed) free_.emplace(offset + needed, size - needed);
  return offset;
}

void page_space::give_back(std::size_t offset, std::size_t bytes) {
  std::size_t size = round_up(bytes, page_bytes);
  const auto after = free_.lower_bound(offset);
  AMITY_ASSERT(after == free_.end() || after->first >= offset + size, offset, size);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    AMITY_ASSERT(before->first + before->second <= offset, offset, size);
    if (before->first + before->second == offset && chunk_of(before->first) == chunk_of(offset)) {
      offset = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  if (after != free_.end() && offset + size == after->first && chunk_of(offset) == chunk_of(after->first)) {
    size += after->second;
    free_.erase(after);
  }
  free_.emplace(offset, size);
}

}  // namespace amity::fabric::shm
