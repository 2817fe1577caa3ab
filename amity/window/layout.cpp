#include "amity/window/layout.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity {
namespace {

/// In front of the blocks of an encoded layout.
struct layout_head {
  std::uint64_t blocks;
  std::uint64_t count;
  std::int64_t stride;
};

struct encoded_block {
  std::int64_t offset;
  std::uint64_t bytes;
};

constexpr std::size_t bytes_max = std::numeric_limits<std::ptrdiff_t>::max();

[[noreturn]] void refuse(const std::string& problem) {
  throw error("window layout", no_rank, problem, "describe data of less than 2^63 bytes, at addresses that exist");
}

/// The sum, if it is the distance between two addresses.
std::ptrdiff_t sum(std::ptrdiff_t a, std::ptrdiff_t b) {
  std::ptrdiff_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) refuse(fmt::format("an offset of {} and {} bytes", a, b));
  return result;
}

std::ptrdiff_t product(std::size_t count, std::ptrdiff_t stride) {
  std::ptrdiff_t result = 0;
  if (__builtin_mul_overflow(count, stride, &result)) refuse(fmt::format("{} steps of {} bytes", count, stride));
  return result;
}

}  // namespace

layout::layout(std::vector<block> blocks, std::size_t count, std::ptrdiff_t stride)
    : blocks_(std::move(blocks)), count_(blocks_.empty() ? 0 : count), stride_(count > 1 ? stride : 0) {
  if (count_ == 0) {
    blocks_.clear();
    stride_ = 0;
    return;
  }
  first_ = std::numeric_limits<std::ptrdiff_t>::max();
  end_ = std::numeric_limits<std::ptrdiff_t>::min();
  block_bytes_ = blocks_.front().bytes;
  offset_grain_ = static_cast<std::size_t>(std::abs(stride_));
  std::size_t all = 0;
  for (const block& each : blocks_) {
    if (each.bytes > bytes_max || all > bytes_max - each.bytes)
      refuse(fmt::format("blocks of more than {} bytes", all));
    ends_.push_back(all += each.bytes);
    if (each.bytes != block_bytes_) block_bytes_ = 0;
    offset_grain_ = std::gcd(offset_grain_, static_cast<std::size_t>(std::abs(each.offset)));
    size_grain_ = std::gcd(size_grain_, each.bytes);
    first_ = std::min(first_, each.offset);
    end_ = std::max(end_, sum(each.offset, static_cast<std::ptrdiff_t>(each.bytes)));
  }
  static_cast<void>(product(count_, static_cast<std::ptrdiff_t>(all)));
  const std::ptrdiff_t last = product(count_ - 1, stride_);
  first_ = sum(first_, std::min<std::ptrdiff_t>(last, 0));
  end_ = sum(end_, std::max<std::ptrdiff_t>(last, 0));
}

layout layout::contiguous(std::size_t bytes) { return indexed({{.offset = 0, .bytes = bytes}}); }

layout layout::strided(std::size_t count, std::size_t block_bytes, std::ptrdiff_t stride) {
  return contiguous(block_bytes).repeated(count, stride);
}

layout layout::indexed(const std::vector<block>& blocks) {
  std::vector<block> joined;
  for (const block& each : blocks) {
    if (each.bytes == 0) continue;
    const bool follows =
        !joined.empty() &&
        sum(joined.back().offset, static_cast<std::ptrdiff_t>(std::min(joined.back().bytes, bytes_max))) == each.offset;
    if (follows && each.bytes <= bytes_max - joined.back().bytes) {
      joined.back().bytes += each.bytes;
    } else {
      joined.push_back(each);
    }
  }
  return {std::move(joined), 1, 0};
}

layout layout::repeated(std::size_t count, std::ptrdiff_t stride) const {
  if (count == 0 || blocks_.empty()) return {};
  if (count == 1) return *this;
  if (count_ == 1) {
    // Without a gap between them, they are one block.
    if (blocks_.size() == 1 && std::cmp_equal(stride, blocks_[0].bytes)) {
      const auto whole = static_cast<std::size_t>(product(count, stride));
      return {{{.offset = blocks_[0].offset, .bytes = whole}}, 1, 0};
    }
    return {blocks_, count, stride};
  }
  // A repetition that continues the one inside it is the same one.
  if (stride == product(count_, stride_)) return {blocks_, count_ * count, stride_};
  std::vector<block> all;
  for (std::size_t i = 0; i < count_; ++i) {
    for (const block& each : blocks_) all.push_back({sum(each.offset, product(i, stride_)), each.bytes});
  }
  return layout(std::move(all), count, stride);
}

layout layout::moved(std::ptrdiff_t bytes) const {
  std::vector<block> all = blocks_;
  for (block& each : all) each.offset = sum(each.offset, bytes);
  return {std::move(all), count_, stride_};
}

template <std::size_t Bytes, class Byte, class Copy>
void layout::copy_blocks(const std::byte* base, std::size_t from, std::span<Byte> packed, Copy copy) const noexcept {
  const std::size_t first = from / Bytes, blocks = blocks_.size();
  std::size_t repetition = first / blocks, index = first % blocks;
  Byte* at = packed.data();
  Byte* const end = at + packed.size();
  if (blocks == 1) {
    const auto stride = static_cast<std::uint64_t>(stride_);
    std::uint64_t offset = static_cast<std::uint64_t>(blocks_[0].offset) + repetition * stride;
    for (; at != end; at += Bytes, offset += stride)
      copy(at, detail::byte_at(base, offset), std::integral_constant<std::size_t, Bytes>());
    return;
  }
  while (at != end) {
    std::byte* const pattern = detail::byte_at(base, repetition * static_cast<std::uint64_t>(stride_));
    const std::size_t left = static_cast<std::size_t>(end - at) / Bytes;
    for (const std::size_t behind = std::min(blocks, index + left); index != behind; ++index, at += Bytes) {
      copy(at, detail::byte_at(pattern, static_cast<std::uint64_t>(blocks_[index].offset)),
           std::integral_constant<std::size_t, Bytes>());
    }
    index = 0;
    ++repetition;
  }
}

template <class Byte, class Copy>
void layout::copy_parts(const std::byte* base, std::size_t from, std::span<Byte> packed, Copy copy) const noexcept {
  const auto copy_any = [&](std::span<Byte> part) {
    Byte* at = part.data();
    for_each(from, part.size(), [&](std::ptrdiff_t offset, std::size_t bytes) {
      copy(at, detail::byte_at(base, static_cast<std::uint64_t>(offset)), bytes);
      at += bytes;
    });
    from += part.size();
    packed = packed.subspan(part.size());
  };
  const auto copy_equal = [&]<std::size_t Bytes>(std::integral_constant<std::size_t, Bytes>) {
    // The rest of a block, whole blocks, and the beginning of one.
    copy_any(packed.first(std::min((Bytes - from % Bytes) % Bytes, packed.size())));
    const std::size_t whole = packed.size() / Bytes * Bytes;
    copy_blocks<Bytes>(base, from, packed.first(whole), copy);
    from += whole;
    packed = packed.subspan(whole);
  };
  switch (block_bytes_) {
    case 1:
      copy_equal(std::integral_constant<std::size_t, 1>());
      break;
    case 2:
      copy_equal(std::integral_constant<std::size_t, 2>());
      break;
    case 4:
      copy_equal(std::integral_constant<std::size_t, 4>());
      break;
    case 8:
      copy_equal(std::integral_constant<std::size_t, 8>());
      break;
    case 12:
      copy_equal(std::integral_constant<std::size_t, 12>());
      break;
    case 16:
      copy_equal(std::integral_constant<std::size_t, 16>());
      break;
    case 24:
      copy_equal(std::integral_constant<std::size_t, 24>());
      break;
    case 32:
      copy_equal(std::integral_constant<std::size_t, 32>());
      break;
    case 64:
      copy_equal(std::integral_constant<std::size_t, 64>());
      break;
    default:
      break;
  }
  copy_any(packed);
}

void layout::pack(const std::byte* base, std::size_t from, mutable_bytes to) const noexcept {
  copy_parts(base, from, to,
             [](std::byte* packed, const std::byte* memory, auto bytes) { std::memcpy(packed, memory, bytes); });
}

void layout::unpack(std::byte* base, std::size_t from, bytes_view data) const noexcept {
  copy_parts(base, from, data,
             [](const std::byte* packed, std::byte* memory, auto bytes) { std::memcpy(memory, packed, bytes); });
}

std::vector<std::byte> layout::encode() const {
  std::vector<std::byte> encoded(sizeof(layout_head) + blocks_.size() * sizeof(encoded_block));
  const layout_head head{.blocks = blocks_.size(), .count = count_, .stride = stride_};
  std::memcpy(encoded.data(), &head, sizeof head);
  std::byte* at = encoded.data() + sizeof head;
  for (const block& each : blocks_) {
    const encoded_block next{.offset = each.offset, .bytes = each.bytes};
    std::memcpy(at, &next, sizeof next);
    at += sizeof next;
  }
  return encoded;
}

layout layout::decode(bytes_view encoded) {
  layout_head head;
  if (encoded.size() < sizeof head) refuse(fmt::format("{} bytes instead of a layout", encoded.size()));
  std::memcpy(&head, encoded.data(), sizeof head);
  const bytes_view rest = encoded.subspan(sizeof head);
  if (rest.size() % sizeof(encoded_block) != 0 || head.blocks != rest.size() / sizeof(encoded_block))
    refuse(fmt::format("a layout of {} blocks in {} bytes", head.blocks, encoded.size()));
  std::vector<block> blocks;
  for (std::size_t i = 0; i < head.blocks; ++i) {
    encoded_block next;
    std::memcpy(&next, rest.data() + i * sizeof next, sizeof next);
    if (next.bytes == 0) refuse("a block of 0 bytes");
    blocks.push_back({.offset = next.offset, .bytes = next.bytes});
  }
  return {std::move(blocks), head.count, head.stride};
}

}  // namespace amity
