/// The table of predefined data types against the names in mpi.h.

#include "amity/interop/mpi/drop_in/predefined_types.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "amity/interop/mpi/drop_in/type_contents.hpp"

namespace amity::mpi {
namespace {

/// All names of handles of types that mpi.h defines (tests/interop/mpi/CMakeLists.txt).
std::vector<std::pair<std::string, MPI_Datatype>> names_in_header() {
  return {
#include "predefined_names.inc"
  };
}

TEST(predefined_types, have_all_names_of_header) {
  const predefined_types all;
  const auto names = names_in_header();
  EXPECT_GT(names.size(), 60u);
  for (const auto& [name, handle] : names) {
    if (handle == MPI_DATATYPE_NULL) continue;  // the MPI lacks it
    EXPECT_NE(all.find(handle), nullptr) << name;
  }
}

TEST(predefined_types, others_not_found) {
  const predefined_types all;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_dup(MPI_INT, &made);
  EXPECT_EQ(all.find(made), nullptr);
  EXPECT_EQ(all.find(MPI_DATATYPE_NULL), nullptr);
  MPI_Type_free(&made);
}

TEST(predefined_types, elements_have_their_size) {
  const predefined_types all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].name);
    EXPECT_EQ(all.find(all[i].handle), &all[i]);
    EXPECT_EQ(all[i].data.bytes(), all[i].bytes);
    ASSERT_TRUE(all[i].kind);
    const element_layout& element = layout_of(all[i].kind->type);
    if (all[i].kind->category == type_category::pair) {
      EXPECT_EQ(std::cmp_equal(element.bytes, extent_of(all[i].handle).extent), true);
    } else {
      EXPECT_EQ(element.bytes, all[i].bytes);
    }
  }
}

TEST(predefined_types, kinds) {
  const predefined_types all;
  const auto expect = [&](MPI_Datatype handle, element_type type, type_category category) {
    const predefined_type* const found = all.find(handle);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->kind, (element_kind{type, category})) << found->name;
  };
  using enum type_category;
  expect(MPI_CHAR, element_type::int8, c_integer);
  expect(MPI_UNSIGNED_CHAR, element_type::uint8, c_integer);
  expect(MPI_UNSIGNED_SHORT, element_type::uint16, c_integer);
  expect(MPI_LONG, element_type::int64, c_integer);
  expect(MPI_UINT64_T, element_type::uint64, c_integer);
  expect(MPI_INTEGER, element_type::int32, fortran_integer);
  expect(MPI_FLOAT, element_type::float32, floating_point);
  expect(MPI_LONG_DOUBLE, element_type::long_double, floating_point);
  expect(MPI_REAL, element_type::float32, floating_point);
  expect(MPI_DOUBLE_PRECISION, element_type::float64, floating_point);
  expect(MPI_C_BOOL, element_type::boolean, logical);
  expect(MPI_LOGICAL, element_type::int32, logical);
  expect(MPI_C_DOUBLE_COMPLEX, element_type::complex64, complex);
  expect(MPI_C_LONG_DOUBLE_COMPLEX, element_type::complex_long_double, complex);
  expect(MPI_DOUBLE_COMPLEX, element_type::complex64, complex);
  expect(MPI_BYTE, element_type::byte, byte);
  expect(MPI_PACKED, element_type::byte, other);
  expect(MPI_WCHAR, element_type::uint32, other);
  expect(MPI_AINT, element_type::int64, multi_language);
  expect(MPI_COUNT, element_type::int64, multi_language);
  expect(MPI_SHORT_INT, element_type::short_int, pair);
  expect(MPI_LONG_DOUBLE_INT, element_type::long_double_int, pair);
  expect(MPI_2REAL, element_type::float_float, pair);
  expect(MPI_2INTEGER, element_type::int_int, pair);
#ifdef MPI_REAL16
  expect(MPI_REAL16, element_type_of<float128_t>, floating_point);
  expect(MPI_COMPLEX32, element_type_of<std::complex<float128_t>>, complex);
#endif
#ifdef MPI_LOGICAL8
  expect(MPI_LOGICAL1, element_type::int8, logical);
  expect(MPI_LOGICAL8, element_type::int64, logical);
#endif
}

}  // namespace
}  // namespace amity::mpi
