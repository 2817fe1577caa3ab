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
  const bool is_one = where.input_buffer == where.output_buffer;
  if (free_in(where.input_buffer) < of_unit.input + (is_one ? of_unit.output : 0)) return false;
  if (!is_one && free_in(where.output_buffer) < of_unit.output) return false;
  change(where.input_buffer, of_unit.input, 0);
  change(where.output_buffer, of_unit.output, 0);
  return true;
}

void am_credit::give_back(const am_need& of_unit, const am_room& where) noexcept {
  change(where.input_buffer, 0, of_unit.input);
  change(where.output_buffer, 0, of_unit.output);
}

std::size_t am_credit::find(std::uint32_t buffer) const noexcept {
  return static_cast<std::size_t>(std::ranges::find(free_, buffer, &am_free::buffer) - free_.begin());
}

void am_credit::change(std::uint32_t buffer, std::uint64_t taken, std::uint64_t returned) noexcept {
  const std::size_t at = find(buffer);
  if (at == parts_.size()) return;  // no bytes of it
  parts_[at].used += taken - returned;
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
