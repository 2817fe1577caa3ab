#include "amity/window/am_description.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <span>

#include "amity/base/error.hpp"

namespace amity::detail {
namespace {

struct encoded_side {
  std::uint64_t packed_bytes;
  std::uint64_t footprint;
  std::uint64_t overhang;
  std::int64_t first;
  std::uint64_t alignment;
  std::uint64_t layout_bytes;  ///< 0: the data is contiguous
};

struct encoded_head {
  std::uint32_t operation;
  std::uint32_t count_max;
  std::uint64_t persistent_bytes;
  encoded_side input;
  encoded_side output;
};
static_assert(sizeof(encoded_head) == 112);

/// Memory of a segment, so that sums of a few do not overflow.
constexpr std::uint64_t footprint_max = std::numeric_limits<std::uint64_t>::max() / 16;

constexpr std::uint64_t alignment_max = 4096;

std::vector<std::byte> encoded_blocks(const am_side& of) {
  return of.blocks == nullptr ? std::vector<std::byte>() : of.blocks->encode();
}

encoded_side encode_side(const am_side& of, std::size_t layout_bytes) noexcept {
  return {.packed_bytes = of.packed_bytes,
          .footprint = of.footprint,
          .overhang = of.overhang,
          .first = of.first,
          .alignment = of.alignment,
          .layout_bytes = layout_bytes};
}

[[noreturn]] void refuse() {
  throw error("an active message", no_rank, "its description is damaged", "run the same build on all ranks");
}

bytes_view take(bytes_view& rest, std::uint64_t bytes) {
  if (bytes > rest.size()) refuse();
  const bytes_view taken = rest.first(static_cast<std::size_t>(bytes));
  rest = rest.subspan(taken.size());
  return taken;
}

am_side decode_side(const encoded_side& from, bytes_view& rest) {
  am_side to{.packed_bytes = from.packed_bytes,
             .footprint = from.footprint,
             .overhang = from.overhang,
             .first = from.first,
             .alignment = from.alignment,
             .blocks = nullptr};
  if (from.layout_bytes > 0) to.blocks = std::make_shared<const layout>(layout::decode(take(rest, from.layout_bytes)));
  const bool has_place = to.footprint <= footprint_max && to.overhang <= footprint_max;
  if (!has_place || !std::has_single_bit(to.alignment) || to.alignment > alignment_max) refuse();
  if (to.blocks == nullptr) {
    if (to.packed_bytes != to.footprint || to.overhang != 0 || to.first != 0) refuse();
    return to;
  }
  const layout& blocks = *to.blocks;
  if (blocks.bytes() != to.packed_bytes || blocks.first() < to.first ||
      blocks.end() > to.first + static_cast<std::int64_t>(to.footprint + to.overhang))
    refuse();
  return to;
}

}  // namespace

std::vector<std::byte> am_description::encode() const {
  const std::vector<std::byte> input_blocks = encoded_blocks(input), output_blocks = encoded_blocks(output);
  const encoded_head head{.operation = operation,
                          .count_max = count_max,
                          .persistent_bytes = persistent_bytes,
                          .input = encode_side(input, input_blocks.size()),
                          .output = encode_side(output, output_blocks.size())};
  std::vector<std::byte> encoded;
  encoded.reserve(sizeof head + input_blocks.size() + output_blocks.size() + extra.size());
  for (const bytes_view part :
       {std::as_bytes(std::span(&head, 1)), bytes_view(input_blocks), bytes_view(output_blocks), bytes_view(extra)})
    encoded.insert(encoded.end(), part.begin(), part.end());
  return encoded;
}

am_description am_description::decode(bytes_view encoded) {
  encoded_head head;
  bytes_view rest = encoded;
  std::memcpy(&head, take(rest, sizeof head).data(), sizeof head);
  am_description of{.operation = head.operation,
                    .count_max = head.count_max,
                    .input = decode_side(head.input, rest),
                    .output = decode_side(head.output, rest),
                    .persistent_bytes = head.persistent_bytes};
  if (of.is_vector() && of.output.packed_bytes % of.count_max != 0) refuse();
  of.extra.assign(rest.begin(), rest.end());
  return of;
}

}  // namespace amity::detail
