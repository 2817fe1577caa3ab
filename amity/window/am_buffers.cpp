#include "amity/window/am_buffers.hpp"

#include <algorithm>
#include <limits>

namespace amity::detail {
namespace {

/// How often the need of a segment fits.
std::uint64_t times(std::uint64_t free, std::uint64_t need) noexcept {
  return need == 0 ? std::numeric_limits<std::uint64_t>::max() : free / need;
}

/// What is owed stays in one buffer if that is large enough, so that whole units find space there.
void subtract_owed(std::vector<am_free>& from, std::uint64_t owed) noexcept {
  while (owed > 0 && !from.empty()) {
    am_free& largest = *std::ranges::max_element(from, {}, &am_free::bytes);
    if (largest.bytes == 0) return;
    const std::uint64_t part = std::min(owed, largest.bytes);
    largest.bytes -= part;
    owed -= part;
  }
}

}  // namespace

am_fit find_fit(const std::vector<am_free>& free, const am_need& of_segment, std::uint64_t segments_max) {
  am_fit best;
  const auto offer = [&](std::uint64_t segments, const am_room& where) {
    const std::uint64_t count = std::min(segments, segments_max);
    if (count > best.segments) best = {.segments = count, .where = where};
  };
  for (const am_free& each : free)
    offer(times(each.bytes, of_segment.input + of_segment.output), {each.buffer, each.buffer});
  for (const am_free& input : free) {
    if (best.segments == segments_max) break;
    for (const am_free& output : free) {
      if (input.buffer == output.buffer) continue;
      offer(std::min(times(input.bytes, of_segment.input), times(output.bytes, of_segment.output)),
            {input.buffer, output.buffer});
    }
  }
  return best;
}

bool am_buffers::try_attach(mutable_bytes memory) {
  const bool overlaps = std::ranges::any_of(buffers_, [&](const buffer& each) {
    return memory.data() < each.memory.data() + each.memory.size() &&
           each.memory.data() < memory.data() + memory.size();
  });
  if (overlaps) return false;
  buffers_.push_back({.number = ++last_number_, .memory = memory, .used = 0, .kept = 0, .pieces = {}});
  return true;
}

am_buffers::detaching am_buffers::try_detach(const void* base) {
  const auto found = std::ranges::find_if(buffers_, [&](const buffer& each) { return each.memory.data() == base; });
  if (found == buffers_.end()) return detaching::unknown;
  if (found->used > 0) return detaching::in_use;
  if (bytes_attached() - found->memory.size() < owed_) return detaching::owed;
  buffers_.erase(found);
  return detaching::done;
}

am_buffers::buffer* am_buffers::find(std::uint32_t number) noexcept {
  const auto found = std::ranges::find(buffers_, number, &buffer::number);
  return found == buffers_.end() ? nullptr : &*found;
}

bool am_buffers::has(std::uint32_t number) const noexcept {
  return std::ranges::find(buffers_, number, &buffer::number) != buffers_.end();
}

void am_buffers::keep(std::uint32_t number, std::uint64_t bytes) noexcept {
  if (buffer* const in = find(number)) in->kept += bytes;
}

void am_buffers::keep_less(std::uint32_t number, std::uint64_t bytes) noexcept {
  if (buffer* const in = find(number)) in->kept -= bytes;
}

void am_buffers::use_kept(std::uint32_t number, std::uint64_t bytes) noexcept {
  buffer* const in = find(number);
  in->used += bytes;
  in->kept -= bytes;
}

void am_buffers::give_back_kept(std::uint32_t number, std::uint64_t bytes, std::uint64_t kept) noexcept {
  buffer* const in = find(number);
  in->used -= bytes;
  in->kept += kept;
}

std::uint64_t am_buffers::kept_too_much(std::uint32_t number) const noexcept {
  const auto in = std::ranges::find(buffers_, number, &buffer::number);
  if (in == buffers_.end()) return 0;
  const std::uint64_t taken = in->used + in->kept;
  return taken > in->memory.size() ? taken - in->memory.size() : 0;
}

std::vector<am_free> am_buffers::free(bool leaves_kept) const {
  std::vector<am_free> all;
  for (const buffer& each : buffers_) {
    const std::uint64_t taken = each.used + (leaves_kept ? each.kept : 0);
    all.push_back({.buffer = each.number, .bytes = each.memory.size() - std::min(taken, each.memory.size())});
  }
  subtract_owed(all, owed_left());
  return all;
}

std::uint64_t am_buffers::bytes_attached() const noexcept {
  std::uint64_t sum = 0;
  for (const buffer& each : buffers_) sum += each.memory.size();
  return sum;
}

std::uint64_t am_buffers::bytes_free() const noexcept {
  std::uint64_t sum = 0;
  for (const buffer& each : buffers_) sum += each.memory.size() - each.used;
  return sum;
}

std::uint64_t am_buffers::bytes_largest() const noexcept {
  std::uint64_t largest = 0;
  for (const buffer& each : buffers_) largest = std::max<std::uint64_t>(largest, each.memory.size());
  return largest;
}

am_fit am_buffers::try_take(const am_need& of_segment, std::uint64_t segments_max) {
  const am_fit found = find_fit(free(), of_segment, segments_max);
  if (found.segments > 0) {
    use({.input = found.segments * of_segment.input, .output = found.segments * of_segment.output}, found.where);
  }
  return found;
}

bool am_buffers::try_take_owed(const am_need& of_unit, am_room& where) {
  std::vector<am_free> all;
  for (const buffer& each : buffers_) all.push_back({.buffer = each.number, .bytes = each.memory.size() - each.used});
  const am_fit found = find_fit(all, of_unit, 1);
  if (found.segments == 0) return false;
  where = found.where;
  use(of_unit, where);
  owed_used_ += of_unit.input + of_unit.output;
  return true;
}

bool am_buffers::try_take_there(const am_need& of_unit, const am_room& where) {
  buffer* const input = find(where.input_buffer);
  buffer* const output = find(where.output_buffer);
  if (input == nullptr || output == nullptr) return false;
  const auto has = [](const buffer& of, std::uint64_t bytes) { return of.memory.size() - of.used >= bytes; };
  if (!has(*input, of_unit.input) || !has(*output, of_unit.output)) return false;
  if (input == output && !has(*input, of_unit.input + of_unit.output)) return false;
  use(of_unit, where);
  return true;
}

void am_buffers::use(const am_need& of_unit, const am_room& where) noexcept {
  for_each_part(of_unit, where, [this](std::uint32_t number, std::uint64_t bytes) { find(number)->used += bytes; });
}

void am_buffers::give_back(const am_need& of_unit, const am_room& where, bool was_owed) noexcept {
  if (buffer* const input = find(where.input_buffer)) input->used -= of_unit.input;
  if (buffer* const output = find(where.output_buffer)) output->used -= of_unit.output;
  if (was_owed) owed_used_ -= of_unit.input + of_unit.output;
}

bool am_buffers::can_ever_fit(const am_need& of_segment) const {
  std::vector<am_free> all;
  for (const buffer& each : buffers_) all.push_back({.buffer = each.number, .bytes = each.memory.size()});
  subtract_owed(all, owed_);
  return find_fit(all, of_segment, 1).segments == 1;
}

bool am_buffers::would_fit(const am_need& of_unit) const {
  std::vector<am_free> all;
  for (const buffer& each : buffers_) all.push_back({.buffer = each.number, .bytes = each.memory.size()});
  return find_fit(all, of_unit, 1).segments == 1;
}

std::byte* am_buffers::try_place(std::uint32_t number, std::uint64_t bytes, std::uint64_t alignment) {
  buffer* const in = find(number);
  if (in == nullptr || bytes == 0) return nullptr;
  const auto aligned = [&](std::byte* from) {
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    return from + ((alignment - address % alignment) % alignment);
  };
  std::byte* begin = aligned(in->memory.data());
  auto next = in->pieces.begin();
  for (; next != in->pieces.end(); ++next) {
    if (begin + bytes <= next->begin) break;
    begin = aligned(next->begin + next->bytes);
  }
  if (begin + bytes > in->memory.data() + in->memory.size()) return nullptr;
  in->pieces.insert(next, {.begin = begin, .bytes = bytes});
  return begin;
}

void am_buffers::remove_place(std::uint32_t number, const std::byte* place) noexcept {
  if (buffer* const in = find(number))
    std::erase_if(in->pieces, [&](const piece& each) { return each.begin == place; });
}

}  // namespace amity::detail
