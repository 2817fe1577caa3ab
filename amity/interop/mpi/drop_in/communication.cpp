#include "amity/interop/mpi/drop_in/communication.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "amity/base/copy_bytes.hpp"
#include "amity/interop/mpi/drop_in/datatype.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/pointer_checks.hpp"
#include "amity/interop/mpi/drop_in/reductions.hpp"
#include "amity/window/accumulate.hpp"
#include "amity/window/compare_swap.hpp"
#include "amity/window/window_operation.hpp"

namespace amity::mpi {
namespace {

using amity::detail::operation_kind;
using amity::detail::origin_layouts;
using amity::detail::window_operation;

/// Where data lies: one block from `first` on, or the blocks of a layout.
struct data_place {
  std::size_t bytes;
  std::ptrdiff_t first;                  ///< of one block, from the address of the buffer
  std::shared_ptr<const layout> blocks;  ///< null: one block

  data_place(const counted_layout& items, MPI_Count count)
      : bytes(items.bytes() * static_cast<std::size_t>(count)),
        first(items.first()),
        blocks(items.of(static_cast<std::size_t>(count))) {}
};

/// The items of operands and results of an accumulate.
const counted_layout& combined_items(const datatype& type) noexcept {
  return type.kind() ? type.elements() : type.data();
}

void check_count(MPI_Count count) {
  if (count >= 0) [[likely]]
    return;
  throw mpi_error(MPI_ERR_COUNT, fmt::format("a count of {}", count), "pass a count of 0 or more");
}

/// False: the operation has no target.
bool check_target(const window& on, const target_data& to) {
  check_count(to.count);
  if (to.rank >= 0 && to.rank < on.size()) [[likely]]
    return true;
  if (to.rank == MPI_PROC_NULL) return false;
  throw mpi_error(MPI_ERR_RANK, fmt::format("target rank {}", to.rank),
                  fmt::format("pass a rank from 0 to {}, or MPI_PROC_NULL", on.size() - 1));
}

/// As much of `into` as the data of `from` needs: the receiving side may be larger. (MPI-3.1, sections 11.3.1
/// and 11.3.2.)
data_place fitted(const data_place& into, const data_place& from, const counted_layout& items) {
  if (into.bytes == from.bytes) [[likely]]
    return into;
  if (into.bytes < from.bytes) {
    throw mpi_error(MPI_ERR_TRUNCATE, fmt::format("{} bytes of data for {} bytes of memory", from.bytes, into.bytes),
                    "pass a larger count, or a larger type, where the data goes to");
  }
  const std::size_t item = items.bytes();
  if (from.bytes % item != 0) {
    throw mpi_error(MPI_ERR_TYPE, fmt::format("{} bytes of data for items of {} bytes", from.bytes, item),
                    "pass types of which one has whole items of the other");
  }
  return {items, static_cast<MPI_Count>(from.bytes / item)};
}
template <class Data>
data_place fitted(const Data& into, const data_place& from) {
  const datatype& type = datatype::of(into.type);
  return fitted(data_place(type.data(), into.count), from, type.data());
}

/// An address, also in memory whose offsets are addresses (MPI_BOTTOM).
std::byte* at(const void* base, std::ptrdiff_t offset) noexcept {
  return amity::detail::byte_at(static_cast<const std::byte*>(base), static_cast<std::uint64_t>(offset));
}

bytes_view operand_bytes(const origin_data& data, const data_place& where) {
  return {at(data.address, where.blocks == nullptr ? where.first : 0), where.bytes};
}
mutable_bytes result_bytes(const origin_data& data, const data_place& where) {
  return {at(data.address, where.blocks == nullptr ? where.first : 0), where.bytes};
}

window_operation operation(operation_kind kind, const window& on, const target_data& to, const data_place& there) {
  const std::uint64_t place = on.place(to.rank, to.displacement);
  return {.kind = kind,
          .target = to.rank,
          .at = there.blocks == nullptr ? place + static_cast<std::uint64_t>(there.first) : place,
          .in_blocks = there.blocks != nullptr,
          .there = there.blocks};
}

/// One block of bytes that is described in the same way on both sides.
struct simple_transfer {
  std::byte* here;
  std::uint64_t there;  ///< from the beginning of the target's memory
  std::size_t bytes;
};

/// Most transfers are such ones. Nothing: it is another one.
std::optional<simple_transfer> find_simple(const window& on, const origin_data& origin, const target_data& target) {
  if (origin.type != target.type || origin.count != target.count || origin.address == nullptr) return std::nullopt;
  const counted_layout& data = datatype::of(origin.type).data();
  const auto count = static_cast<std::size_t>(origin.count);
  if (!data.is_block(count)) return std::nullopt;
  return simple_transfer{.here = at(origin.address, data.first()),
                         .there = on.place(target.rank, target.displacement) + static_cast<std::uint64_t>(data.first()),
                         .bytes = data.bytes() * count};
}

void begin(std::string_view call, window& on, window_operation&& what, origin_layouts&& own) {
  if (own.from == nullptr && own.into == nullptr && what.there == nullptr)
    return on.core().begin(call, std::move(what));
  on.core().begin_in_blocks(call, std::move(what), own);
}

}  // namespace

void put(std::string_view call, window& on, const origin_data& from, const target_data& to) {
  check_count(from.count);
  if (!check_target(on, to)) return;
  if (const auto simple = find_simple(on, from, to)) [[likely]] {
    if (std::byte* const direct = on.core().direct_for_put(to.rank, simple->there, simple->bytes)) [[likely]]
      return copy_bytes(direct, simple->here, simple->bytes);
  }
  const counted_layout& items = datatype::of(from.type).data();
  check_buffer(from.address, items, from.count, "origin_addr");
  const data_place here(items, from.count);
  const data_place there = fitted(to, here);
  window_operation what = operation(operation_kind::put, on, to, there);
  what.from = operand_bytes(from, here);
  if (here.blocks == nullptr && there.blocks == nullptr) {
    if (std::byte* const direct = on.core().direct_for_put(to.rank, what.at, what.from.size()))
      return copy_bytes(direct, what.from.data(), what.from.size());
  }
  begin(call, on, std::move(what), {.from = here.blocks});
}

void get(std::string_view call, window& on, const origin_data& into, const target_data& from) {
  check_count(into.count);
  if (!check_target(on, from)) return;
  if (const auto simple = find_simple(on, into, from)) [[likely]] {
    if (const std::byte* const direct = on.core().direct_for_get(from.rank, simple->there, simple->bytes)) [[likely]]
      return copy_bytes(simple->here, direct, simple->bytes);
  }
  check_buffer(into.address, datatype::of(into.type).data(), into.count, "origin_addr");
  const data_place there(datatype::of(from.type).data(), from.count);
  const data_place here = fitted(into, there);
  window_operation what = operation(operation_kind::get, on, from, there);
  what.into = result_bytes(into, here);
  if (here.blocks == nullptr && there.blocks == nullptr) {
    if (const std::byte* const direct = on.core().direct_for_get(from.rank, what.at, what.into.size()))
      return copy_bytes(what.into.data(), direct, what.into.size());
  }
  begin(call, on, std::move(what), {.into = here.blocks});
}

void accumulate(std::string_view call, window& on, const origin_data& operands, const origin_data* result,
                const target_data& to, MPI_Op op) {
  const bool has_operands = op != MPI_NO_OP;
  if (!has_operands && result == nullptr) {
    throw mpi_error(MPI_ERR_OP, "MPI_NO_OP in a call that returns nothing",
                    "call MPI_Get_accumulate or MPI_Rget_accumulate");
  }
  if (has_operands) check_count(operands.count);
  if (result != nullptr) check_count(result->count);
  if (!check_target(on, to)) return;
  const datatype& type = datatype::of(to.type);
  // Programs pass no element, of types that the operation is not defined on, or types that have none.
  if (to.count == 0 || type.size() == 0) return on.core().check_operation(call, to.rank);
  const reduction what_to_do = find_reduction(op, type);
  data_place there(*what_to_do.operands, to.count);
  origin_layouts own;
  bytes_view given;
  if (has_operands) {
    const datatype& of_operands = datatype::of(operands.type);
    if (operands.count > 0) check_elements(what_to_do.op, of_operands, type, "origin_datatype");
    const counted_layout& items = combined_items(of_operands);
    check_buffer(operands.address, items, operands.count, "origin_addr");
    const data_place here(items, operands.count);
    there = fitted(there, here, *what_to_do.operands);
    given = operand_bytes(operands, here);
    own.from = here.blocks;
  }
  window_operation what = operation(operation_kind::accumulate, on, to, there);
  what.op = what_to_do.op;
  what.type = what_to_do.type;
  what.from = given;
  if (result != nullptr) {
    const datatype& of_result = datatype::of(result->type);
    if (there.bytes > 0) check_elements(what_to_do.op, of_result, type, "result_datatype");
    const counted_layout& items = combined_items(of_result);
    check_buffer(result->address, items, result->count, "result_addr");
    const data_place here = fitted(data_place(items, result->count), there, items);
    what.into = result_bytes(*result, here);
    own.into = here.blocks;
  }
  if (there.bytes == 0) return on.core().check_operation(call, to.rank);
  const element_layout& element = layout_of(what.type);
  const bool is_one =
      there.bytes == element.bytes && there.blocks == nullptr && own.from == nullptr && own.into == nullptr;
  if (is_one && element.is_covered) {
    const accumulate_function function = find_accumulate(what.op, what.type);
    const auto apply = [&](std::byte* at) { function(at, what.from.data(), what.into.data(), 1); };
    if (on.core().try_accumulate(to.rank, what.at, there.bytes, apply)) return;
  }
  begin(call, on, std::move(what), std::move(own));
}

void fetch_and_op(std::string_view call, window& on, const void* operand, void* result, const target_data& to,
                  MPI_Op op) {
  if (!check_target(on, to)) return;
  if (op != MPI_NO_OP) check_pointer(operand, "origin_addr");
  check_pointer(result, "result_addr");
  const datatype& type = datatype::of(to.type);
  if (!type.is_predefined())
    throw mpi_error(MPI_ERR_TYPE, "a data type that is not predefined", "call MPI_Get_accumulate for it");
  const reduction what_to_do = find_reduction(op, type);
  const std::uint64_t place = on.place(to.rank, to.displacement);
  const std::size_t bytes = type.element_bytes();
  if (layout_of(what_to_do.type).is_covered) {
    const accumulate_function function = find_accumulate(what_to_do.op, what_to_do.type);
    const auto apply = [&](std::byte* there) {
      function(there, static_cast<const std::byte*>(operand), static_cast<std::byte*>(result), 1);
    };
    if (on.core().try_accumulate(to.rank, place, bytes, apply)) [[likely]]
      return;
  }
  window_operation what{.kind = operation_kind::accumulate, .target = to.rank, .at = place};
  if (op != MPI_NO_OP) what.from = {static_cast<const std::byte*>(operand), bytes};
  what.into = {static_cast<std::byte*>(result), bytes};
  what.op = what_to_do.op;
  what.type = what_to_do.type;
  on.core().begin_copied(call, std::move(what));
}

void compare_and_swap(std::string_view call, window& on, const void* desired, const void* expected, void* result,
                      const target_data& to) {
  if (!check_target(on, to)) return;
  check_pointer(desired, "origin_addr");
  check_pointer(expected, "compare_addr");
  check_pointer(result, "result_addr");
  const datatype& type = datatype::of(to.type);
  const std::size_t bytes = layout_of(find_swapped_element(type)).bytes;
  const std::uint64_t place = on.place(to.rank, to.displacement);
  amity::detail::swap_operands words{};
  std::memcpy(&words.expected, expected, bytes);
  std::memcpy(&words.desired, desired, bytes);
  const auto swap = [&](std::byte* there) {
    const std::uint64_t before = amity::detail::compare_swap(there, bytes, words.expected, words.desired);
    std::memcpy(result, &before, bytes);
  };
  if (on.core().try_accumulate(to.rank, place, bytes, swap)) [[likely]]
    return;
  on.core().begin(call, {.kind = operation_kind::compare_swap,
                         .target = to.rank,
                         .at = place,
                         .into = {static_cast<std::byte*>(result), bytes},
                         .swap = words});
}

}  // namespace amity::mpi
