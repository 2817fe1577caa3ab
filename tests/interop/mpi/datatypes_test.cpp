/// How data types are found and kept, and single types of each kind.

#include "amity/interop/mpi/drop_in/datatype.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "amity/interop/mpi/drop_in/encoded_type.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"

namespace amity::mpi {
namespace {

MPI_Datatype contiguous(int count, MPI_Datatype of) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(count, of, &made);
  MPI_Type_commit(&made);
  return made;
}

MPI_Datatype vector(int count, int stride, MPI_Datatype of) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_vector(count, 1, stride, of, &made);
  MPI_Type_commit(&made);
  return made;
}

void expect_type_error(MPI_Datatype type, const std::string& problem) {
  try {
    static_cast<void>(datatype::of(type));
    FAIL() << "no error";
  } catch (const mpi_error& error) {
    EXPECT_EQ(error.error_class(), MPI_ERR_TYPE);
    EXPECT_NE(std::string(error.what()).find(problem), std::string::npos) << error.what();
  }
}

layout layout_of_one(MPI_Datatype type) { return datatype::of(type).data().of_one(); }

TEST(datatypes, predefined) {
  const datatype& of_int = datatype::of(MPI_INT);
  EXPECT_EQ(&datatype::of(MPI_INT), &of_int);
  EXPECT_TRUE(of_int.is_predefined());
  EXPECT_EQ(of_int.size(), sizeof(int));
  EXPECT_EQ(of_int.extent(), std::ptrdiff_t{sizeof(int)});
  EXPECT_EQ(of_int.data().of(1000), nullptr);
  EXPECT_EQ(of_int.kind(), (element_kind{element_type::int32, type_category::c_integer}));
}

TEST(datatypes, found_again) {
  MPI_Datatype first = vector(3, 2, MPI_INT), second = vector(4, 2, MPI_INT);
  const datatype& of_first = datatype::of(first);
  const datatype& of_second = datatype::of(second);
  EXPECT_NE(&of_first, &of_second);
  EXPECT_EQ(&datatype::of(first), &of_first);
  EXPECT_EQ(&datatype::of(second), &of_second);
  // By another thread, which remembers nothing.
  std::jthread([&] { EXPECT_EQ(&datatype::of(first), &of_first); });
  MPI_Type_free(&first);
  MPI_Type_free(&second);
}

TEST(datatypes, end_with_their_types) {
  MPI_Datatype type = vector(3, 2, MPI_INT);
  std::weak_ptr<const datatype> seen = datatype::of(type).weak_from_this();
  EXPECT_FALSE(seen.expired());
  MPI_Type_free(&type);
  EXPECT_TRUE(seen.expired());

  type = vector(3, 2, MPI_INT);
  std::shared_ptr<const datatype> kept = datatype::of(type).shared_from_this();
  seen = kept;
  MPI_Type_free(&type);
  EXPECT_EQ(kept->size(), 3 * sizeof(int));
  kept.reset();
  EXPECT_TRUE(seen.expired());
}

// A handle of a type that was freed belongs to another type then.
TEST(datatypes, handles_used_again) {
  bool is_reused = false;
  MPI_Datatype before = MPI_DATATYPE_NULL;
  for (int count = 1; count < 100; ++count) {
    MPI_Datatype type = contiguous(count, MPI_INT);
    is_reused |= type == before;
    before = type;
    EXPECT_EQ(datatype::of(type).size(), static_cast<std::size_t>(count) * sizeof(int));
    MPI_Type_free(&type);
  }
  EXPECT_TRUE(is_reused);
}

// Another thread frees the type and makes the next one.
TEST(datatypes, handles_used_again_by_other_threads) {
  MPI_Datatype type = contiguous(1, MPI_INT);
  for (int count = 2; count < 100; ++count) {
    EXPECT_EQ(datatype::of(type).size(), static_cast<std::size_t>(count - 1) * sizeof(int));
    std::jthread([&] {
      MPI_Type_free(&type);
      type = contiguous(count, MPI_INT);
      static_cast<void>(datatype::of(type));
    }).join();
  }
  MPI_Type_free(&type);
}

TEST(datatypes, duplicates) {
  MPI_Datatype type = vector(3, 2, MPI_INT), copy = MPI_DATATYPE_NULL;
  const layout expected = layout_of_one(type);
  MPI_Type_dup(type, &copy);
  const datatype& of_copy = datatype::of(copy);
  EXPECT_NE(&of_copy, &datatype::of(type));
  MPI_Type_free(&type);
  EXPECT_EQ(&datatype::of(copy), &of_copy);
  EXPECT_EQ(of_copy.data().of_one(), expected);
  MPI_Type_free(&copy);
}

// Types that take longer to read than threads to begin.
TEST(datatypes, one_for_all_threads) {
  constexpr int threads = 4, rounds = 10;
  std::vector<int> places(20'000);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(2 * i + i % 2);
  std::array<MPI_Datatype, rounds> types;
  for (MPI_Datatype& each : types) {
    MPI_Type_create_indexed_block(static_cast<int>(places.size()), 1, places.data(), MPI_INT, &each);
    MPI_Type_commit(&each);
  }
  std::array<std::array<const datatype*, rounds>, threads> found;
  std::barrier begin(threads);
  {
    std::vector<std::jthread> all;
    for (auto& mine : found) {
      all.emplace_back([&] {
        for (std::size_t round = 0; round < rounds; ++round) {
          begin.arrive_and_wait();
          mine[round] = &datatype::of(types[round]);
        }
      });
    }
  }
  for (const auto& each : found) EXPECT_EQ(each, found.front());
  for (MPI_Datatype& each : types) MPI_Type_free(&each);
}

TEST(datatypes, errors) {
  expect_type_error(MPI_DATATYPE_NULL, "the data type is MPI_DATATYPE_NULL; ");
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_INT, &type);
  expect_type_error(type, "has not been committed; call MPI_Type_commit");
  MPI_Type_commit(&type);
  EXPECT_EQ(datatype::of(type).size(), 3 * sizeof(int));
  MPI_Type_free(&type);
}

TEST(datatypes, bytes_kept) {
  MPI_Datatype type = vector(3, 2, MPI_INT);
  const bytes_view first = datatype::encoded(type);
  EXPECT_TRUE(std::ranges::equal(first, encode_type(type, datatype::predefined())));
  std::jthread([&] { EXPECT_EQ(datatype::encoded(type).data(), first.data()); });
  EXPECT_TRUE(std::ranges::equal(datatype::encoded(MPI_INT), encode_type(MPI_INT, datatype::predefined())));
  const std::shared_ptr<const datatype> kept = datatype::of(type).shared_from_this();
  const std::vector<std::byte> expected(first.begin(), first.end());
  MPI_Type_free(&type);
  EXPECT_TRUE(std::ranges::equal(first, expected));
}

TEST(datatypes, released_and_made_again) {
  MPI_Datatype type = vector(3, 2, MPI_INT);
  const layout expected = layout_of_one(type);
  const std::weak_ptr<const datatype> seen = datatype::of(type).weak_from_this(),
                                      predefined = datatype::of(MPI_INT).weak_from_this();
  datatype::release_all();
  EXPECT_TRUE(predefined.expired());
  EXPECT_EQ(layout_of_one(type), expected);
  EXPECT_EQ(datatype::of(MPI_INT).size(), sizeof(int));
  MPI_Type_free(&type);
  EXPECT_TRUE(seen.expired());
}

TEST(datatypes, layouts_of_several_items) {
  MPI_Datatype type = vector(3, 2, MPI_INT);
  const counted_layout& data = datatype::of(type).data();
  EXPECT_EQ(*data.of(1), layout::strided(3, 4, 8));
  const auto of_two = data.of(2);
  EXPECT_EQ(*of_two, layout::strided(3, 4, 8).repeated(2, 20));
  EXPECT_EQ(data.of(2), of_two);
  EXPECT_EQ(*data.of(5), layout::strided(3, 4, 8).repeated(5, 20));
  EXPECT_EQ(*data.of(2), *of_two);
  EXPECT_EQ(data.of(0), nullptr);
  MPI_Type_free(&type);
}

TEST(datatypes, contiguous_is_null) {
  MPI_Datatype three = contiguous(3, MPI_INT), moved = MPI_DATATYPE_NULL, apart = MPI_DATATYPE_NULL;
  EXPECT_EQ(datatype::of(three).data().of(7), nullptr);
  // One block that does not begin at the address of the buffer.
  const int length = 3;
  const MPI_Aint begin = 8;
  MPI_Type_create_hindexed(1, &length, &begin, MPI_INT, &moved);
  MPI_Type_commit(&moved);
  EXPECT_EQ(datatype::of(moved).data().of(7), nullptr);
  EXPECT_EQ(datatype::of(moved).true_lower_bound(), 8);
  EXPECT_EQ(datatype::of(moved).true_extent(), 12);
  // Contiguous only if there is one of it.
  MPI_Type_create_resized(MPI_INT, 0, 16, &apart);
  MPI_Type_commit(&apart);
  EXPECT_EQ(datatype::of(apart).data().of(1), nullptr);
  EXPECT_EQ(*datatype::of(apart).data().of(7), layout::strided(7, 4, 16));
  for (MPI_Datatype* each : {&three, &moved, &apart}) MPI_Type_free(each);
}

// The pattern of a large type stays small.
TEST(datatypes, large_types_are_compact) {
  MPI_Datatype column = vector(1'000'000, 1000, MPI_DOUBLE);
  EXPECT_EQ(layout_of_one(column).encode().size(), 40u);
  const int sizes[] = {1000, 1000}, selected[] = {900, 10}, starts[] = {50, 20};
  MPI_Datatype tile = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(2, sizes, selected, starts, MPI_ORDER_C, MPI_DOUBLE, &tile);
  MPI_Type_commit(&tile);
  EXPECT_EQ(layout_of_one(tile).encode().size(), 40u);
  const int length = 1;
  const MPI_Aint begin = 8;
  MPI_Datatype moved = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(1, &length, &begin, column, &moved);
  MPI_Type_commit(&moved);
  EXPECT_EQ(layout_of_one(moved), layout_of_one(column).moved(8));
  MPI_Type_free(&moved);
  MPI_Type_free(&tile);
  MPI_Type_free(&column);
}

TEST(datatypes, pairs_with_and_without_padding) {
  using pair = value_location<double, int>;
  const datatype& of_pair = datatype::of(MPI_DOUBLE_INT);
  EXPECT_EQ(of_pair.size(), 12u);
  EXPECT_EQ(of_pair.extent(), 16);
  EXPECT_EQ(of_pair.element_bytes(), sizeof(pair));
  EXPECT_EQ(of_pair.elements().of(5), nullptr);
  EXPECT_EQ(*of_pair.data().of(5), layout::strided(5, 12, 16));
  EXPECT_EQ(of_pair.kind(), (element_kind{element_type_of<pair>, type_category::pair}));

  MPI_Datatype every_other = vector(3, 2, MPI_DOUBLE_INT);
  const datatype& of_vector = datatype::of(every_other);
  EXPECT_EQ(of_vector.size(), 36u);
  EXPECT_EQ(of_vector.data().of_one(), layout::strided(3, 12, 32));
  EXPECT_EQ(of_vector.elements().of_one(), layout::strided(3, 16, 32));
  EXPECT_EQ(of_vector.kind(), of_pair.kind());
  MPI_Type_free(&every_other);

  // Without padding there is one layout.
  const datatype& of_ints = datatype::of(MPI_2INT);
  EXPECT_EQ(&of_ints.elements(), &of_ints.data());
}

MPI_Datatype structure_of(std::vector<MPI_Datatype> parts) {
  std::vector<int> lengths(parts.size(), 1);
  std::vector<MPI_Aint> begins;
  for (std::size_t i = 0; i < parts.size(); ++i) begins.push_back(static_cast<MPI_Aint>(16 * i));
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(static_cast<int>(parts.size()), lengths.data(), begins.data(), parts.data(), &made);
  MPI_Type_commit(&made);
  return made;
}

TEST(datatypes, kinds_of_structures) {
  const auto kind_of = [](std::vector<MPI_Datatype> parts) {
    MPI_Datatype made = structure_of(std::move(parts));
    const auto kind = datatype::of(made).kind();
    MPI_Type_free(&made);
    return kind;
  };
  EXPECT_EQ(kind_of({MPI_INT, MPI_INT}), datatype::of(MPI_INT).kind());
  EXPECT_EQ(kind_of({MPI_LONG, MPI_INT64_T, MPI_LONG_LONG}), datatype::of(MPI_LONG).kind());
  EXPECT_EQ(kind_of({MPI_INT, MPI_UNSIGNED}), std::nullopt);
  EXPECT_EQ(kind_of({MPI_INT, MPI_DOUBLE, MPI_INT}), std::nullopt);
  EXPECT_EQ(kind_of({MPI_INT, MPI_LOGICAL}), std::nullopt);
  EXPECT_EQ(kind_of({MPI_DOUBLE_INT, MPI_DOUBLE}), std::nullopt);
  EXPECT_EQ(kind_of({MPI_INT, MPI_2INT}), std::nullopt);
}

TEST(datatypes, precisions_of_fortran) {
  const auto expect = [](MPI_Datatype type, std::size_t bytes, element_kind kind) {
    const datatype& found = datatype::of(type);
    EXPECT_EQ(found.size(), bytes);
    EXPECT_TRUE(found.is_predefined());
    EXPECT_EQ(found.kind(), kind);
  };
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_integer(4, &type);
  expect(type, 2, {element_type::int16, type_category::fortran_integer});
  MPI_Type_create_f90_integer(18, &type);
  expect(type, 8, {element_type::int64, type_category::fortran_integer});
  MPI_Type_create_f90_real(6, 30, &type);
  expect(type, 4, {element_type::float32, type_category::floating_point});
  MPI_Type_create_f90_real(15, MPI_UNDEFINED, &type);
  expect(type, 8, {element_type::float64, type_category::floating_point});
  MPI_Type_create_f90_complex(15, 307, &type);
  expect(type, 16, {element_type::complex64, type_category::complex});
  // Not all MPIs have numbers of this precision, which is that of REAL(10).
  if (MPI_Type_create_f90_real(18, MPI_UNDEFINED, &type) == MPI_SUCCESS)
    expect(type, 16, {element_type::long_double, type_category::floating_point});
}

// They must not be freed: the MPI would report an error, which ends the program.
TEST(datatypes, precisions_inside_other_types) {
  for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(each, MPI_ERRORS_ARE_FATAL);
  MPI_Datatype real = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_real(15, 307, &real);
  for (int i = 0; i < 10; ++i) {
    MPI_Datatype type = vector(3, 2, real);
    EXPECT_EQ(layout_of_one(type), layout::strided(3, 8, 16));
    EXPECT_EQ(datatype::of(type).kind(), datatype::of(MPI_DOUBLE).kind());
    MPI_Type_free(&type);
  }
  for (const MPI_Comm each : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(each, MPI_ERRORS_RETURN);
}

TEST(datatypes, precisions_of_quadruple_numbers) {
  EXPECT_EQ(kind_of_f90_type(MPI_COMBINER_F90_REAL, 33, 16)->type, element_type_of<float128_t>);
  EXPECT_EQ(kind_of_f90_type(MPI_COMBINER_F90_COMPLEX, 33, 32)->type, element_type_of<std::complex<float128_t>>);
  EXPECT_EQ(kind_of_f90_type(MPI_COMBINER_F90_INTEGER, 38, 16), std::nullopt);
}

#if MPI_VERSION >= 4
// The MPI reports the arguments of these functions in another way.
TEST(datatypes, made_with_large_counts) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const auto expect = [&](int result, const layout& expected) {
    ASSERT_EQ(result, MPI_SUCCESS);
    MPI_Type_commit(&made);
    EXPECT_EQ(layout_of_one(made), expected);
    MPI_Type_free(&made);
  };
  const MPI_Count lengths[] = {1, 2}, places[] = {3, 5}, sizes[] = {5, 6}, selected[] = {2, 3}, starts[] = {1, 2};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  const int distributions[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, arguments[] = {3, 2}, processes[] = {2, 3};
  expect(MPI_Type_contiguous_c(3, MPI_INT, &made), layout::contiguous(12));
  expect(MPI_Type_vector_c(3, 2, 4, MPI_INT, &made), layout::strided(3, 8, 16));
  expect(MPI_Type_create_hvector_c(3, 2, 20, MPI_INT, &made), layout::strided(3, 8, 20));
  expect(MPI_Type_indexed_c(2, lengths, places, MPI_INT, &made), layout::indexed({{12, 4}, {20, 8}}));
  expect(MPI_Type_create_hindexed_c(2, lengths, places, MPI_INT, &made), layout::indexed({{3, 4}, {5, 8}}));
  expect(MPI_Type_create_indexed_block_c(2, 2, places, MPI_INT, &made), layout::indexed({{12, 8}, {20, 8}}));
  expect(MPI_Type_create_hindexed_block_c(2, 2, places, MPI_INT, &made), layout::indexed({{3, 8}, {5, 8}}));
  expect(MPI_Type_create_struct_c(2, lengths, places, types, &made), layout::indexed({{3, 4}, {5, 16}}));
  expect(MPI_Type_create_resized_c(MPI_INT, -4, 16, &made), layout::contiguous(4));
  expect(MPI_Type_create_subarray_c(2, sizes, selected, starts, MPI_ORDER_C, MPI_INT, &made),
         layout::strided(2, 12, 24).moved(32));
  // Rank 4 is at (1, 1): rows 3 and 4, columns 2 and 3.
  expect(MPI_Type_create_darray_c(6, 4, 2, sizes, distributions, arguments, processes, MPI_ORDER_C, MPI_INT, &made),
         layout::strided(2, 8, 24).moved(80));
}
#endif

// Functions that MPI-3 has removed are in the libraries for old programs.
TEST(datatypes, made_by_old_functions) {
  const auto find = [](const char* name, auto* result) {
    using function = std::remove_pointer_t<decltype(result)>;
    *result = reinterpret_cast<function>(::dlsym(RTLD_DEFAULT, name));
    return *result != nullptr;
  };
  const auto expect = [](MPI_Datatype type, const layout& expected) {
    MPI_Type_commit(&type);
    EXPECT_EQ(layout_of_one(type), expected);
    MPI_Type_free(&type);
  };
  int lengths[] = {1, 2};
  MPI_Aint places[] = {3, 5};
  MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE}, made = MPI_DATATYPE_NULL;
  int (*hvector)(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype*) = nullptr;
  if (find("MPI_Type_hvector", &hvector)) {
    hvector(3, 2, 20, MPI_INT, &made);
    expect(made, layout::strided(3, 8, 20));
  }
  int (*hindexed)(int, int*, MPI_Aint*, MPI_Datatype, MPI_Datatype*) = nullptr;
  if (find("MPI_Type_hindexed", &hindexed)) {
    hindexed(2, lengths, places, MPI_INT, &made);
    expect(made, layout::indexed({{3, 4}, {5, 8}}));
  }
  int (*structure)(int, int*, MPI_Aint*, MPI_Datatype*, MPI_Datatype*) = nullptr;
  if (find("MPI_Type_struct", &structure)) {
    structure(2, lengths, places, types, &made);
    expect(made, layout::indexed({{3, 4}, {5, 16}}));
  }
}

}  // namespace
}  // namespace amity::mpi
