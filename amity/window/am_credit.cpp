#include "amity/window/am_credit.hpp"

#include <algorithm>
#include <numeric>

namespace amity::detail {

void am_credit::set(std::uint32_t buffer, std::uint64_t bytes) {
  std::size_t at = find(buffer);
  if (at == parts_.size()) {
    parts_.push_back({.bytes = 0, .used = 0});
    free_.push_back({.buffer = buffer, .bytes = 0});
  }
  parts_[at].bytes = bytes;
  update(at);
}

std::uint64_t am_credit::bytes() const noexcept {
  return std::accumulate(parts_.begin(), parts_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const part& each) { return sum + each.bytes; });
}

std::uint64_t am_credit::bytes_in(std::uint32_t buffer) const noexcept {
  const std::size_t at = find(buffer);
  return at == parts_.size() ? 0 : parts_[at].bytes;
}

std::uint64_t am_credit::free_in(std::uint32_t buffer) const noexcept {
  const std::size_t at = find(buffer);
  return at == parts_.size() ? 0 : free_[at].bytes;
}

bool am_credit::try_take(const am_need& of_unit, const am_room& where) noexcept {
  bool fits = true;
  for_each_part(of_unit, where,
                [&](std::uint32_t buffer, std::uint64_t bytes) { fits = fits && free_in(buffer) >= bytes; });
  if (fits) for_each_part(of_unit, where, [this](std::uint32_t buffer, std::uint64_t bytes) { take(buffer, bytes); });
  return fits;
}

void am_credit::give_back(const am_need& of_unit, const am_room& where) noexcept {
  for_each_part(of_unit, where, [this](std::uint32_t buffer, std::uint64_t bytes) { give_back(buffer, bytes); });
}

std::uint64_t am_credit::give_back(std::uint32_t buffer, std::uint64_t bytes) noexcept {
  const std::size_t at = find(buffer);
  if (at == parts_.size()) return 0;  // no bytes of it
  const std::uint64_t before = free_[at].bytes;
  parts_[at].used -= bytes;
  const std::uint64_t after = parts_[at].bytes > parts_[at].used ? parts_[at].bytes - parts_[at].used : 0;
  update(at);
  return after - before;
}

std::size_t am_credit::find(std::uint32_t buffer) const noexcept {
  return static_cast<std::size_t>(std::ranges::find(free_, buffer, &am_free::buffer) - free_.begin());
}

void am_credit::take(std::uint32_t buffer, std::uint64_t bytes) noexcept {
  const std::size_t at = find(buffer);
  if (at == parts_.size()) return;  // 0 bytes
  parts_[at].used += bytes;
  update(at);
}

void am_credit::update(std::size_t at) noexcept {
  const part& of = parts_[at];
  free_[at].bytes = of.bytes > of.used ? of.bytes - of.used : 0;
  if (of.bytes > 0 || of.used > 0) return;
  parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(at));
  free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(at));
}

}  // namespace amity::detail
