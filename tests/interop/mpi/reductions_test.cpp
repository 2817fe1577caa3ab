/// Reductions against those of MPI_Reduce_local.

#include "amity/interop/mpi/drop_in/reductions.hpp"

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "amity/interop/mpi/drop_in/mpi_error.hpp"

namespace amity::mpi {
namespace {

constexpr std::size_t items = 12;

std::vector<std::pair<MPI_Op, accumulate_op>> all_ops() {
  using enum accumulate_op;
  return {{MPI_SUM, sum},
          {MPI_PROD, product},
          {MPI_MIN, minimum},
          {MPI_MAX, maximum},
          {MPI_LAND, logical_and},
          {MPI_LOR, logical_or},
          {MPI_LXOR, logical_xor},
          {MPI_BAND, bit_and},
          {MPI_BOR, bit_or},
          {MPI_BXOR, bit_xor},
          {MPI_MINLOC, minimum_location},
          {MPI_MAXLOC, maximum_location},
          {MPI_REPLACE, replace},
          {MPI_NO_OP, no_op}};
}

/// A letter for each op in the order of `all_ops`: y: MPI-3.1 defines it, +: only this library and implementations.
std::string_view defined_on(type_category category) {
  switch (category) {
    case type_category::c_integer:
      return "yyyyyyyyyy--yy";
    case type_category::fortran_integer:
    case type_category::multi_language:
      return "yyyy+++yyy--yy";
    case type_category::floating_point:
      return "yyyy--------yy";
    case type_category::logical:
      return "----yyy-----yy";
    case type_category::complex:
      return "yy----------yy";
    case type_category::byte:
      return "-------yyy--yy";
    case type_category::pair:
      return "----------yyyy";
    case type_category::other:
      break;
  }
  return "------------yy";
}

template <class T>
T number_as(int number, bool is_truth_value) {
  return static_cast<T>(is_truth_value ? number % 2 : number);
}

/// `items` elements with small numbers, some of them equal to those with another seed.
std::vector<std::byte> random_elements(const element_kind& kind, int seed) {
  std::vector<std::byte> all(items * layout_of(kind.type).bytes);
  const auto fill = [&]<class T>(std::type_identity<T>) {
    for (int i = 0; i < static_cast<int>(items); ++i) {
      const int number = (i * seed + i / 3) % 5;
      T element;
      std::memset(static_cast<void*>(&element), 0, sizeof element);
      if constexpr (amity::detail::is_pair<T>) {
        element.value = static_cast<decltype(element.value)>(number);
        element.location = static_cast<decltype(element.location)>((i * seed) % 7);
      } else if constexpr (amity::detail::is_complex<T>) {
        using part = typename T::value_type;
        element = T(static_cast<part>(number), static_cast<part>(i % 4));
      } else {
        element = number_as<T>(number, kind.category == type_category::logical);
      }
      std::memcpy(all.data() + static_cast<std::size_t>(i) * sizeof element, &element, sizeof element);
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((static_cast<std::size_t>(kind.type) == I
          ? fill(std::type_identity<std::tuple_element_t<I, amity::detail::element_list>>())
          : void()),
     ...);
  }
  (std::make_index_sequence<element_types>());
  return all;
}

/// What the standard leaves open, or an MPI does wrongly: MPICH combines REAL*16 as if it were long double.
bool is_compared(const predefined_type& type) {
  return type.kind->type != element_type::float128 && type.kind->type != element_type::complex128;
}

void expect_result_of_mpi(const predefined_type& type, MPI_Op op, const reduction& found) {
  const std::vector<std::byte> operands = random_elements(*type.kind, 3);
  std::vector<std::byte> expected = random_elements(*type.kind, 4), there = expected;
  ASSERT_EQ(MPI_Reduce_local(operands.data(), expected.data(), static_cast<int>(items), type.handle, op), MPI_SUCCESS);
  find_accumulate(found.op, found.type)(there.data(), operands.data(), nullptr, items);
  EXPECT_EQ(there, expected);
}

void expect_error(const auto& call, int error_class, const std::string& problem) {
  try {
    call();
    FAIL() << "no error";
  } catch (const mpi_error& error) {
    EXPECT_EQ(error.error_class(), error_class);
    EXPECT_NE(std::string(error.what()).find(problem), std::string::npos) << error.what();
  }
}

TEST(reductions, on_all_predefined_types) {
  const predefined_types all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const predefined_type& type = all[i];
    const datatype& found = datatype::of(type.handle);
    std::size_t letter = 0;
    for (const auto& [op, expected] : all_ops()) {
      SCOPED_TRACE(std::string(type.name) + ", " + std::string(name_of(expected)));
      const char defined = defined_on(type.kind->category)[letter++];
      if (defined == '-') {
        expect_error([&] { find_reduction(op, found); }, MPI_ERR_OP, "is not defined on data types of the category");
        continue;
      }
      const reduction made = find_reduction(op, found);
      EXPECT_EQ(made.op, expected);
      EXPECT_EQ(made.type, type.kind->type);
      EXPECT_EQ(made.operands, &found.elements());
      EXPECT_NE(find_accumulate(made.op, made.type), nullptr);
      if (defined == 'y' && op != MPI_REPLACE && op != MPI_NO_OP && is_compared(type))
        expect_result_of_mpi(type, op, made);
    }
  }
}

TEST(reductions, on_derived_types) {
  MPI_Datatype every_other = MPI_DATATYPE_NULL, mixed = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_DOUBLE_INT, &every_other);
  MPI_Type_commit(&every_other);
  const datatype& of_pairs = datatype::of(every_other);
  const reduction made = find_reduction(MPI_MAXLOC, of_pairs);
  EXPECT_EQ(made.type, element_type::double_int);
  EXPECT_EQ(made.operands, &of_pairs.elements());
  EXPECT_EQ(made.operands->of_one(), layout::strided(3, 16, 32));

  const int lengths[] = {1, 2};
  const MPI_Aint begins[] = {0, 8};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, begins, types, &mixed);
  MPI_Type_commit(&mixed);
  const datatype& of_mixed = datatype::of(mixed);
  for (const MPI_Op op : {MPI_REPLACE, MPI_NO_OP}) {
    const reduction bytes = find_reduction(op, of_mixed);
    EXPECT_EQ(bytes.type, element_type::byte);
    EXPECT_EQ(bytes.operands, &of_mixed.data());
  }
  expect_error([&] { find_reduction(MPI_SUM, of_mixed); }, MPI_ERR_OP, "not made of one predefined type");
  MPI_Type_free(&every_other);
  MPI_Type_free(&mixed);
}

TEST(reductions, operations_of_programs_refused) {
  MPI_Op op = MPI_OP_NULL;
  MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &op);
  for (const MPI_Op each : {op, MPI_OP_NULL})
    expect_error([&] { find_reduction(each, datatype::of(MPI_INT)); }, MPI_ERR_OP,
                 "not one of the predefined operations");
  MPI_Op_free(&op);
}

TEST(compare_and_swap, types) {
  for (const MPI_Datatype type : {MPI_INT, MPI_CHAR, MPI_UNSIGNED_LONG, MPI_INTEGER, MPI_LOGICAL, MPI_C_BOOL, MPI_AINT,
                                  MPI_OFFSET, MPI_COUNT, MPI_BYTE}) {
    const datatype& found = datatype::of(type);
    EXPECT_EQ(layout_of(find_swapped_element(found)).bytes, found.size());
  }
  for (const MPI_Datatype type :
       {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_C_FLOAT_COMPLEX, MPI_2INT, MPI_PACKED, MPI_WCHAR})
    expect_error([&] { find_swapped_element(datatype::of(type)); }, MPI_ERR_TYPE,
                 "is not defined on data types of the");
  MPI_Datatype copy = MPI_DATATYPE_NULL;
  MPI_Type_dup(MPI_INT, &copy);
  MPI_Type_commit(&copy);
  expect_error([&] { find_swapped_element(datatype::of(copy)); }, MPI_ERR_TYPE, "that is not predefined");
  MPI_Type_free(&copy);
}

}  // namespace
}  // namespace amity::mpi
