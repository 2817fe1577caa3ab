#include "amity/window/attached_memory.hpp"

#include <iterator>
#include <limits>

#include <fmt/format.h>

namespace amity::detail {

void attached_memory::attach(std::uint64_t begin, std::uint64_t end) {
  const std::lock_guard held(mutex_);
  pieces_.emplace(begin, end);
  divide_at(begin);
  divide_at(end);
  for (auto each = counts_.find(begin); each->first != end; ++each) ++each->second;
  join_at(begin);
  join_at(end);
}

bool attached_memory::detach(std::uint64_t begin) {
  const std::lock_guard held(mutex_);
  const auto after = pieces_.upper_bound(begin);
  if (after == pieces_.begin() || std::prev(after)->first != begin) return false;
  const std::uint64_t end = std::prev(after)->second;
  pieces_.erase(std::prev(after));
  divide_at(begin);
  divide_at(end);
  for (auto each = counts_.find(begin); each->first != end; ++each) --each->second;
  join_at(begin);
  join_at(end);
  return true;
}

// Makes the address a key.
void attached_memory::divide_at(std::uint64_t address) {
  const auto after = counts_.upper_bound(address);
  counts_.emplace_hint(after, address, after == counts_.begin() ? 0 : std::prev(after)->second);
}

// Removes the key again if the bytes before it belong to as many pieces.
void attached_memory::join_at(std::uint64_t address) {
  const auto at = counts_.find(address);
  if (at->second == (at == counts_.begin() ? 0 : std::prev(at)->second)) counts_.erase(at);
}

bool attached_memory::covers(std::uint64_t begin, std::uint64_t bytes) const {
  if (bytes > std::numeric_limits<std::uint64_t>::max() - begin) return false;
  const std::uint64_t end = begin + bytes;
  for (auto next = counts_.upper_bound(begin); begin < end; ++next) {
    if (next == counts_.begin() || std::prev(next)->second == 0) return false;
    begin = next->first;  // exists: the last count is 0
  }
  return true;
}

std::string attached_memory::find_problem(std::uint64_t at, std::size_t bytes, const layout* blocks,
                                          std::size_t from) const {
  const std::lock_guard held(mutex_);
  std::string problem;
  const auto look = [&](std::ptrdiff_t offset, std::size_t part) {
    const std::uint64_t begin = at + static_cast<std::uint64_t>(offset);
    if (!problem.empty() || covers(begin, part)) return;
    problem = fmt::format("{} bytes at address {:#x} are not attached; {}", part, begin, nearest_to(begin));
  };
  if (blocks == nullptr) {
    look(0, bytes);
  } else {
    blocks->for_each(from, bytes, look);
  }
  return problem;
}

std::string attached_memory::describe_nearest(std::uint64_t address) const {
  const std::lock_guard held(mutex_);
  return nearest_to(address);
}

std::string attached_memory::nearest_to(std::uint64_t address) const {
  if (pieces_.empty()) return "no memory is attached";
  auto nearest = pieces_.begin();
  std::uint64_t distance_min = std::numeric_limits<std::uint64_t>::max();
  for (auto each = pieces_.begin(); each != pieces_.end(); ++each) {
    const auto [begin, end] = *each;
    const std::uint64_t distance = address < begin ? begin - address : address >= end ? address - end : 0;
    if (distance >= distance_min) continue;
    distance_min = distance;
    nearest = each;
  }
  return fmt::format("the nearest attached memory is {:#x} to {:#x}, {} bytes", nearest->first, nearest->second - 1,
                     nearest->second - nearest->first);
}

}  // namespace amity::detail
