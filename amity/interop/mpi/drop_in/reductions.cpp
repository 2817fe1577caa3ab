#include "amity/interop/mpi/drop_in/reductions.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "amity/interop/mpi/drop_in/mpi_error.hpp"

namespace amity::mpi {
namespace {

/// A set of categories: a bit for each.
using category_set = std::uint32_t;

template <class... Categories>
constexpr category_set set_of(Categories... all) {
  return ((1u << static_cast<unsigned>(all)) | ...);
}

constexpr category_set integers =
    set_of(type_category::c_integer, type_category::fortran_integer, type_category::multi_language);
constexpr category_set ordered = integers | set_of(type_category::floating_point);
constexpr category_set numbers = ordered | set_of(type_category::complex);
constexpr category_set truth_values = integers | set_of(type_category::logical);
constexpr category_set bits = integers | set_of(type_category::byte);
constexpr category_set pairs = set_of(type_category::pair);
constexpr category_set all_categories = ~category_set{0};

struct named_op {
  MPI_Op handle;
  accumulate_op op;
  category_set categories;
};

// Handles are no constants: in some MPIs they are addresses. What windows use most comes first.
const named_op* find_op(MPI_Op handle) noexcept {
  static const std::array<named_op, accumulate_ops> ops{{
      {MPI_SUM, accumulate_op::sum, numbers},
      {MPI_REPLACE, accumulate_op::replace, all_categories},
      {MPI_NO_OP, accumulate_op::no_op, all_categories},
      {MPI_BOR, accumulate_op::bit_or, bits},
      {MPI_MIN, accumulate_op::minimum, ordered},
      {MPI_MAX, accumulate_op::maximum, ordered},
      {MPI_PROD, accumulate_op::product, numbers},
      {MPI_LAND, accumulate_op::logical_and, truth_values},
      {MPI_LOR, accumulate_op::logical_or, truth_values},
      {MPI_LXOR, accumulate_op::logical_xor, truth_values},
      {MPI_BAND, accumulate_op::bit_and, bits},
      {MPI_BXOR, accumulate_op::bit_xor, bits},
      {MPI_MINLOC, accumulate_op::minimum_location, pairs},
      {MPI_MAXLOC, accumulate_op::maximum_location, pairs},
  }};
  const auto found = std::ranges::find(ops, handle, &named_op::handle);
  return found == ops.end() ? nullptr : &*found;
}

// Apart from the functions below, which operations call.

[[noreturn, gnu::noinline]] void refuse_op() {
  throw mpi_error(MPI_ERR_OP, "the operation is not one of the predefined operations",
                  "pass MPI_SUM, MPI_REPLACE or another predefined operation: windows allow no others");
}

[[noreturn, gnu::noinline]] void refuse_mixed(accumulate_op op) {
  throw mpi_error(
      MPI_ERR_OP,
      fmt::format("{} is not defined on a data type that is not made of one predefined type alone", name_of(op)),
      "pass a data type of one predefined type that the operation combines");
}

[[noreturn, gnu::noinline]] void refuse_category(accumulate_op op, type_category category) {
  throw mpi_error(MPI_ERR_OP,
                  fmt::format("{} is not defined on data types of the category {}", name_of(op), name_of(category)),
                  "see the table of predefined reduction operations in section 5.9.2 of MPI-3.1");
}

std::string describe_elements(const datatype& type) {
  return type.kind() ? fmt::format("elements of {}", layout_of(type.kind()->type).name)
                     : std::string("elements of several predefined types");
}

[[noreturn, gnu::noinline]] void refuse_elements(accumulate_op op, const datatype& origin, const datatype& target,
                                                 std::string_view name) {
  throw mpi_error(MPI_ERR_ARG,
                  fmt::format("{} has {}, and target_datatype has {}, so that {} cannot combine them", name,
                              describe_elements(origin), describe_elements(target), name_of(op)),
                  "pass types that are made of the same predefined type");
}

[[noreturn, gnu::noinline]] void refuse_swap(const datatype& type) {
  std::string what = "this data type";
  if (!type.is_predefined()) {
    what = "a data type that is not predefined";
  } else if (type.kind()) {
    what = fmt::format("data types of the category {}", name_of(type.kind()->category));
  }
  throw mpi_error(MPI_ERR_TYPE, fmt::format("a compare-and-swap is not defined on {}", what),
                  "pass a predefined type of integers, truth values or bytes");
}

}  // namespace

reduction find_reduction(MPI_Op op, const datatype& type) {
  const named_op* const known = find_op(op);
  if (known == nullptr) refuse_op();
  const auto& kind = type.kind();
  if (!kind) {
    if (known->categories != all_categories) refuse_mixed(known->op);
    return {.op = known->op, .type = element_type::byte, .operands = &type.data()};
  }
  if ((known->categories & set_of(kind->category)) == 0) refuse_category(known->op, kind->category);
  return {.op = known->op, .type = kind->type, .operands = &type.elements()};
}

void check_elements(accumulate_op op, const datatype& origin, const datatype& target, std::string_view name) {
  if (op == accumulate_op::replace || op == accumulate_op::no_op || origin.size() == 0) return;
  if (origin.kind() && target.kind() && origin.kind()->type == target.kind()->type) return;
  refuse_elements(op, origin, target, name);
}

element_type find_swapped_element(const datatype& type) {
  constexpr category_set swapped = integers | set_of(type_category::logical, type_category::byte);
  const auto& kind = type.kind();
  if (!type.is_predefined() || !kind || (swapped & set_of(kind->category)) == 0) refuse_swap(type);
  return kind->type;
}

}  // namespace amity::mpi
