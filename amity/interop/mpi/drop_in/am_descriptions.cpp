#include "amity/interop/mpi/drop_in/am_descriptions.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/interop/mpi/drop_in/am_operations.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/window/layout.hpp"

namespace amity::mpi {
namespace {

using amity::detail::am_description;
using amity::detail::am_side;

/// Memory that is aligned for each type of C begins at multiples of this.
constexpr std::int64_t alignment_of_types = alignof(std::max_align_t);

/// The data and the memory of one segment, so that sums of many do not overflow.
constexpr std::uint64_t segment_bytes_max = std::uint64_t{1} << 40;

/// The largest count of a vector message. Larger numbers are wrong counts.
constexpr std::int64_t output_count_max = std::numeric_limits<std::uint32_t>::max() - 1;

std::uint64_t product(std::int64_t count, std::uint64_t bytes) {
  std::uint64_t all = 0;
  if (!__builtin_mul_overflow(static_cast<std::uint64_t>(count), bytes, &all) && all <= segment_bytes_max) return all;
  throw mpi_error(MPI_ERR_COUNT, fmt::format("a segment with {} elements of {} bytes", count, bytes),
                  fmt::format("pass segments of at most {} bytes", segment_bytes_max));
}

am_side side_of(const known_type& of) {
  const datatype& type = of.type;
  const counted_layout& data = type.data();
  const auto count = static_cast<std::size_t>(of.count);
  am_side side;
  side.packed_bytes = of.bytes();
  side.alignment = type.extent() % alignment_of_types == 0 ? static_cast<std::uint64_t>(alignment_of_types) : 8;
  if (type.extent() < 0)
    throw mpi_error(MPI_ERR_TYPE, fmt::format("a type with an extent of {} bytes", type.extent()),
                    "pass a type whose extent is 0 or more");
  const bool is_dense =
      data.is_block(2) && data.first() == 0 && type.extent() == static_cast<std::ptrdiff_t>(data.bytes());
  if (side.packed_bytes == 0 || is_dense) {
    side.footprint = side.packed_bytes;
    return side;
  }
  side.footprint = product(of.count, static_cast<std::uint64_t>(type.extent()));
  side.alignment = static_cast<std::uint64_t>(alignment_of_types);
  side.blocks = data.of(count);
  if (side.blocks == nullptr)
    side.blocks = std::make_shared<const layout>(layout::contiguous(side.packed_bytes).moved(data.first()));
  const std::int64_t begin = side.blocks->first();
  // What lies before the first byte makes the address that the handler gets aligned.
  side.first = begin - (begin % alignment_of_types + alignment_of_types) % alignment_of_types;
  const auto end = static_cast<std::uint64_t>(side.blocks->end() - side.first);
  if (end > side.footprint) side.overhang = end - side.footprint;
  return side;
}

std::vector<std::byte> extra_of(const am_shape& of) {
  const bytes_view input = datatype::encoded(of.input.handle), persistent = datatype::encoded(of.persistent.handle),
                   output = datatype::encoded(of.output.handle);
  const am_types head{.input_count = of.input.count,
                      .persistent_count = of.persistent.count,
                      .output_count = of.output.count,
                      .input_bytes = static_cast<std::uint32_t>(input.size()),
                      .persistent_bytes = static_cast<std::uint32_t>(persistent.size()),
                      .is_vector = of.is_vector ? 1u : 0u};
  std::vector<std::byte> extra(sizeof head);
  std::memcpy(extra.data(), &head, sizeof head);
  for (const bytes_view each : {input, persistent, output}) extra.insert(extra.end(), each.begin(), each.end());
  return extra;
}

am_description describe_shape(const am_shape& of) {
  am_description made{.operation = static_cast<std::uint32_t>(of.op),
                      .count_max = 0,
                      .input = side_of(of.input),
                      .output = side_of(of.output),
                      .persistent_bytes = of.persistent_bytes,
                      .extra = extra_of(of)};
  if (!of.is_vector) return made;
  if (of.output.count > output_count_max)
    throw mpi_error(MPI_ERR_COUNT, fmt::format("a vector message whose segments have {} elements", of.output.count),
                    fmt::format("pass at most {}", output_count_max));
  made.count_max = static_cast<std::uint32_t>(of.output.count);  // 0: a plain message to the core
  return made;
}

}  // namespace

std::size_t known_type::bytes() const { return product(count, type.size()); }

bool am_descriptions::entry::is(const am_shape& of) const noexcept {
  return description != nullptr && op == of.op && input.is(of.input) && persistent.is(of.persistent) &&
         output.is(of.output) && description->persistent_bytes == of.persistent_bytes;
}

std::shared_ptr<const am_description> am_descriptions::find(const am_shape& of) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(kept_, [&](const entry& each) { return each.is(of); });
  if (found != kept_.end()) return found->description;
  const auto keep = [](const known_type& what) {
    return part{.count = what.count, .type = what.type.shared_from_this()};
  };
  entry made{.op = of.op,
             .input = keep(of.input),
             .persistent = keep(of.persistent),
             .output = keep(of.output),
             .description = std::make_shared<const am_description>(describe_shape(of))};
  kept_[oldest_] = std::move(made);
  return kept_[std::exchange(oldest_, (oldest_ + 1) % kept_max)].description;
}

}  // namespace amity::mpi
