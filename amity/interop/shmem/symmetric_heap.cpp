#include "amity/interop/shmem/symmetric_heap.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"

namespace amity::shmem {

std::size_t heap_bytes_wanted() {
  constexpr std::size_t usual = std::size_t{1} << 30;
  for (const char* name : {"SHMEM_SYMMETRIC_SIZE", "SMA_SYMMETRIC_SIZE"}) {
    const char* const text = std::getenv(name);
    if (text == nullptr) continue;
    char* end = nullptr;
    double bytes = std::strtod(text, &end);
    if (const std::size_t unit = std::string_view("kmgt").find(static_cast<char>(*end | 0x20));
        *end != '\0' && unit != std::string_view::npos) {
      bytes *= std::pow(1024.0, static_cast<double>(unit + 1));
      ++end;
    }
    if (end == text || *end != '\0' || !(bytes >= 0) || bytes > 0x1p45) {
      throw error("shmem_init", no_rank, fmt::format("{}={} is no size of a symmetric heap", name, text),
                  "give a number of bytes, at most 32T, or one with K, M, G or T, as 512M");
    }
    return static_cast<std::size_t>(bytes);
  }
  return usual;
}

symmetric_heap::symmetric_heap(std::size_t bytes)
    : alignment_max_(std::clamp(std::bit_floor(bytes / 4), std::size_t{2} << 20, std::size_t{32} << 20)) {
  if (bytes > 0) free_.emplace(0, bytes);
}

std::optional<std::size_t> symmetric_heap::take(std::size_t bytes, std::size_t alignment) {
  alignment = std::max(alignment, alignment_min);
  if (bytes > ~std::size_t{0} - alignment_min) return std::nullopt;
  const std::size_t whole = (bytes + alignment_min - 1) / alignment_min * alignment_min;
  for (auto place = free_.begin(); place != free_.end(); ++place) {
    const auto [first, room] = *place;
    const std::size_t at = (first + alignment - 1) / alignment * alignment;
    if (at - first > room || whole > room - (at - first)) continue;
    const std::size_t behind = room - (at - first) - whole;
    if (at == first) {
      free_.erase(place);
    } else {
      place->second = at - first;
    }
    if (behind > 0) free_.emplace(at + whole, behind);
    taken_.emplace(at, whole);
    return at;
  }
  return std::nullopt;
}

std::size_t symmetric_heap::size_at(std::size_t offset) const {
  const auto found = taken_.find(offset);
  return found == taken_.end() ? 0 : found->second;
}

void symmetric_heap::give_back(std::size_t offset) {
  const auto found = taken_.find(offset);
  AMITY_ASSERT(found != taken_.end(), offset);
  auto place = free_.emplace(offset, found->second).first;
  taken_.erase(found);
  if (const auto next = std::next(place); next != free_.end() && place->first + place->second == next->first) {
    place->second += next->second;
    free_.erase(next);
  }
  if (place == free_.begin()) return;
  if (const auto before = std::prev(place); before->first + before->second == place->first) {
    before->second += place->second;
    free_.erase(place);
  }
}

}  // namespace amity::shmem
