/// Data types that are made again from their bytes, and bytes that are not those of a type.

#include "amity/interop/mpi/drop_in/encoded_type.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/type_contents.hpp"
#include "amity/interop/mpi/drop_in/type_map.hpp"
#include "tests/interop/mpi/live_types.hpp"
#include "tests/interop/mpi/packed_by_mpi.hpp"
#include "tests/interop/mpi/type_trees.hpp"

namespace amity::mpi {
namespace {

using testing::counted_errors;
using testing::described_type;
using testing::live_types;
using testing::packed_by_mpi;
using testing::surroundings;
using testing::type_trees;
using testing::variety;

using bytes = std::vector<std::byte>;

bytes encoded(MPI_Datatype type) { return encode_type(type, predefined_types()); }
made_type decoded(const bytes& from) { return decode_type(from, predefined_types()); }
made_type made_again(MPI_Datatype type) { return decoded(encoded(type)); }

std::string text_of(const bytes& all) { return {reinterpret_cast<const char*>(all.data()), all.size()}; }

int combiner_of(MPI_Datatype type) { return type_contents(type).combiner(); }

/// What both functions of MPI report of bounds.
std::vector<MPI_Count> bounds_of(MPI_Datatype type) {
  MPI_Count lower_bound = 0, extent = 0, true_lower_bound = 0, true_extent = 0;
  MPI_Type_get_extent_x(type, &lower_bound, &extent);
  MPI_Type_get_true_extent_x(type, &true_lower_bound, &true_extent);
  return {static_cast<MPI_Count>(size_of(type)), lower_bound, extent, true_lower_bound, true_extent};
}

void expect_same(MPI_Datatype made, MPI_Datatype original) {
  EXPECT_EQ(bounds_of(made), bounds_of(original));
  EXPECT_EQ(combiner_of(made), combiner_of(original));
  EXPECT_EQ(type_contents(made).numbers(), type_contents(original).numbers());
  const predefined_types predefined;
  const type_map of_made = read_type_map(made, predefined), of_original = read_type_map(original, predefined);
  EXPECT_EQ(of_made.data, of_original.data);
  EXPECT_EQ(of_made.elements, of_original.elements);
  EXPECT_EQ(of_made.kind, of_original.kind);
}

/// Combiners of a type and of all types that it is made of.
void add_combiners(std::set<int>& all, MPI_Datatype type) {
  const type_contents made(type);
  all.insert(made.combiner());
  for (const MPI_Datatype each : made.types()) add_combiners(all, each);
}

bool has_duplicate_of_predefined(const std::string& text) {
  return text.find("dup(MPI_") != std::string::npos || text.find("dup(f90_") != std::string::npos;
}

void expect_error(int error_class, const std::string& problem, const auto& act) {
  try {
    act();
    ADD_FAILURE() << "no error";
  } catch (const mpi_error& error) {
    EXPECT_EQ(error.error_class(), error_class);
    EXPECT_NE(std::string(error.what()).find(problem), std::string::npos) << error.what();
  }
}

/// Returns all combiners of the types.
std::set<int> make_types_again() {
  std::set<int> combiners;
  for (unsigned seed = 0; seed < 2000 && !::testing::Test::HasFailure(); ++seed) {
    std::optional<described_type> original = type_trees(seed, variety::all).next(static_cast<int>(seed % 6));
    if (original->get() == MPI_DATATYPE_NULL) continue;  // Open MPI refuses some arrays of types without data
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + original->text());
    add_combiners(combiners, original->get());
    const bytes from = encoded(original->get());
    const made_type made = decoded(from);
    expect_same(made.get(), original->get());
    if (!has_duplicate_of_predefined(original->text())) {
      EXPECT_EQ(encoded(made.get()), from);
    }
    original.reset();
    EXPECT_GE(bounds_of(made.get()).front(), 0);
  }
  return combiners;
}

TEST(encoded_types, all_combiners_nested) {
  EXPECT_EQ(
      make_types_again(),
      (std::set<int>{MPI_COMBINER_NAMED, MPI_COMBINER_DUP, MPI_COMBINER_CONTIGUOUS, MPI_COMBINER_VECTOR,
                     MPI_COMBINER_HVECTOR, MPI_COMBINER_INDEXED, MPI_COMBINER_HINDEXED, MPI_COMBINER_INDEXED_BLOCK,
                     MPI_COMBINER_HINDEXED_BLOCK, MPI_COMBINER_STRUCT, MPI_COMBINER_SUBARRAY, MPI_COMBINER_DARRAY,
                     MPI_COMBINER_F90_REAL, MPI_COMBINER_F90_COMPLEX, MPI_COMBINER_F90_INTEGER, MPI_COMBINER_RESIZED}));
  const live_types before;
  make_types_again();
  EXPECT_TRUE(live_types() == before);
}

TEST(encoded_types, same_bytes_packed) {
  surroundings memory(1 << 20);
  int compared = 0;
  for (unsigned seed = 0; seed < 2000 && !::testing::Test::HasFailure(); ++seed) {
    const described_type original = type_trees(seed, variety::ascending).next(static_cast<int>(seed % 4));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + original.text());
    if (!memory.contain(original.get(), 2)) continue;
    const made_type made = made_again(original.get());
    for (const int count : {1, 2})
      EXPECT_EQ(packed_by_mpi(memory.middle(), count, made.get()),
                packed_by_mpi(memory.middle(), count, original.get()));
    ++compared;
  }
  EXPECT_GT(compared, 1500);
}

TEST(encoded_types, predefined_found) {
  const predefined_types all;
  std::set<std::string> different;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bytes from = encode_type(all[i].handle, all);
    EXPECT_EQ(decode_type(from, all).get(), all[i].handle) << all[i].name;
    different.insert(text_of(from));
  }
  EXPECT_EQ(different.size(), all.size());
}

TEST(encoded_types, precisions_of_fortran_found) {
  MPI_Datatype real = MPI_DATATYPE_NULL, complex = MPI_DATATYPE_NULL, integer = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_real(6, MPI_UNDEFINED, &real);
  MPI_Type_create_f90_complex(15, 307, &complex);
  MPI_Type_create_f90_integer(9, &integer);
  for (const MPI_Datatype each : {real, complex, integer}) {
    const bytes from = encoded(each);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(decoded(from).get(), each);  // is not freed
  }
}

TEST(encoded_types, equal_types_have_equal_bytes) {
  std::set<std::string> different;
  std::set<std::string> texts;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const described_type first = type_trees(seed, variety::ascending).next(3),
                         second = type_trees(seed, variety::ascending).next(3);
    EXPECT_EQ(encoded(first.get()), encoded(second.get())) << first.text();
    different.insert(text_of(encoded(first.get())));
    texts.insert(first.text());
  }
  EXPECT_EQ(different.size(), texts.size());
}

TEST(encoded_types, not_committed) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_INT, &type);
  const bytes before = encoded(type);
  MPI_Type_commit(&type);
  EXPECT_EQ(encoded(type), before);
  MPI_Type_free(&type);
}

MPI_Datatype pair_of(MPI_Datatype first, MPI_Datatype second) {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 64};
  const MPI_Datatype types[] = {first, second};
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(2, lengths, places, types, &made);
  return made;
}

TEST(encoded_types, equal_parts_listed_once) {
  MPI_Datatype part = MPI_DATATYPE_NULL, equal = MPI_DATATYPE_NULL, other = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_INT, &part);
  MPI_Type_vector(3, 1, 2, MPI_INT, &equal);
  MPI_Type_vector(3, 1, 3, MPI_INT, &other);
  MPI_Datatype of_same = pair_of(part, part), of_equal = pair_of(part, equal), of_others = pair_of(part, other);
  EXPECT_EQ(encoded(of_same), encoded(of_equal));
  EXPECT_GT(encoded(of_others).size(), encoded(of_same).size());
  expect_same(made_again(of_equal).get(), of_equal);
  expect_same(made_again(of_others).get(), of_others);
  for (MPI_Datatype* each : {&part, &equal, &other, &of_same, &of_equal, &of_others}) MPI_Type_free(each);
}

#if MPI_VERSION >= 4
TEST(encoded_types, made_with_large_counts) {
  const MPI_Count lengths[] = {1, 2}, places[] = {3, 5}, sizes[] = {5, 6}, selected[] = {2, 3}, starts[] = {1, 2};
  const MPI_Count huge = MPI_Count{1} << 32, huge_lengths[] = {1, huge}, huge_places[] = {-huge, huge};
  const MPI_Count huge_sizes[] = {huge, 6}, huge_starts[] = {huge - 3, 2};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE};
  const int distributions[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
            arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, processes[] = {2, 3};
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const auto expect = [&](int result, bool has_large_counts) {
    ASSERT_EQ(result, MPI_SUCCESS);
    const made_type again = made_again(made);
    expect_same(again.get(), made);
    MPI_Count integers = 0, addresses = 0, large_counts = 0, parts = 0;
    int combiner = 0;
    MPI_Type_get_envelope_c(again.get(), &integers, &addresses, &large_counts, &parts, &combiner);
    EXPECT_EQ(large_counts > 0, has_large_counts) << combiner;
    MPI_Type_free(&made);
  };
  expect(MPI_Type_contiguous_c(3, MPI_CHAR, &made), false);
  expect(MPI_Type_contiguous_c(huge, MPI_CHAR, &made), true);
  expect(MPI_Type_vector_c(3, 2, 4, MPI_CHAR, &made), false);
  expect(MPI_Type_vector_c(3, 2, huge, MPI_CHAR, &made), true);
  expect(MPI_Type_create_hvector_c(3, 2, huge, MPI_CHAR, &made), false);
  expect(MPI_Type_create_hvector_c(2, huge, 2 * huge, MPI_CHAR, &made), true);
  expect(MPI_Type_indexed_c(2, lengths, places, MPI_CHAR, &made), false);
  expect(MPI_Type_indexed_c(2, lengths, huge_places, MPI_CHAR, &made), true);
  expect(MPI_Type_create_hindexed_c(2, lengths, huge_places, MPI_CHAR, &made), false);
  expect(MPI_Type_create_hindexed_c(2, huge_lengths, places, MPI_CHAR, &made), true);
  expect(MPI_Type_create_indexed_block_c(2, 2, places, MPI_CHAR, &made), false);
  expect(MPI_Type_create_indexed_block_c(2, 2, huge_places, MPI_CHAR, &made), true);
  expect(MPI_Type_create_hindexed_block_c(2, 2, huge_places, MPI_CHAR, &made), false);
  expect(MPI_Type_create_hindexed_block_c(2, huge, huge_places, MPI_CHAR, &made), true);
  expect(MPI_Type_create_struct_c(2, lengths, huge_places, types, &made), false);
  expect(MPI_Type_create_struct_c(2, huge_lengths, places, types, &made), true);
  expect(MPI_Type_create_resized_c(MPI_CHAR, -huge, 3 * huge, &made), false);
  expect(MPI_Type_create_subarray_c(2, sizes, selected, starts, MPI_ORDER_C, MPI_CHAR, &made), false);
  expect(MPI_Type_create_subarray_c(2, huge_sizes, selected, huge_starts, MPI_ORDER_C, MPI_CHAR, &made), true);
  expect(MPI_Type_create_darray_c(6, 4, 2, sizes, distributions, arguments, processes, MPI_ORDER_C, MPI_CHAR, &made),
         false);
  expect(
      MPI_Type_create_darray_c(6, 4, 2, huge_sizes, distributions, arguments, processes, MPI_ORDER_C, MPI_CHAR, &made),
      true);
}
#endif

// Programs make them at the ends of distributed arrays.
TEST(encoded_types, arrays_without_items) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const auto expect = [&](int result) {
    if (result != MPI_SUCCESS) return;  // Open MPI
    expect_same(made_again(made).get(), made);
    MPI_Type_free(&made);
  };
  const int none = 0, some = 5, block = MPI_DISTRIBUTE_BLOCK, undistributed = MPI_DISTRIBUTE_NONE, ignored = -1,
            any = MPI_DISTRIBUTE_DFLT_DARG, processes = 2, alone = 1;
  expect(MPI_Type_create_subarray(1, &some, &none, &none, MPI_ORDER_C, MPI_INT, &made));
  expect(MPI_Type_create_subarray(1, &none, &none, &none, MPI_ORDER_C, MPI_INT, &made));
  expect(MPI_Type_create_darray(2, 1, 1, &none, &block, &any, &processes, MPI_ORDER_C, MPI_INT, &made));
  expect(MPI_Type_create_darray(1, 0, 1, &some, &undistributed, &ignored, &alone, MPI_ORDER_C, MPI_INT, &made));
}

// The program may have set attributes on its types, and on those that they are made of.
TEST(encoded_types, attributes_not_copied) {
  int copies = 0, key = MPI_KEYVAL_INVALID;
  const auto copy = [](MPI_Datatype, int, void* counter, void*, void*, int* is_copied) {
    ++*static_cast<int*>(counter);
    *is_copied = 0;
    return MPI_SUCCESS;
  };
  MPI_Type_create_keyval(copy, MPI_TYPE_NULL_DELETE_FN, &key, &copies);
  MPI_Datatype real = MPI_DATATYPE_NULL, part = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_real(6, 30, &real);
  MPI_Type_vector(3, 1, 2, MPI_INT, &part);
  const MPI_Datatype originals[] = {MPI_INT, real, part};
  for (const MPI_Datatype each : originals) {
    MPI_Datatype type = MPI_DATATYPE_NULL, outer = MPI_DATATYPE_NULL;
    MPI_Type_dup(each, &type);
    MPI_Type_dup(type, &outer);
    for (const MPI_Datatype with_attribute : {each, type, outer}) MPI_Type_set_attr(with_attribute, key, nullptr);
    const made_type made = made_again(outer);
    EXPECT_EQ(copies, 0);
    EXPECT_EQ(combiner_of(made.get()), MPI_COMBINER_DUP);
    EXPECT_EQ(bounds_of(made.get()), bounds_of(outer));
    MPI_Type_free(&outer);
    MPI_Type_free(&type);
    // The copy function works.
    MPI_Type_dup(each, &type);
    EXPECT_EQ(copies, 1);
    copies = 0;
    MPI_Type_free(&type);
    MPI_Type_delete_attr(each, key);
  }
  MPI_Type_free(&part);
  MPI_Type_free_keyval(&key);
}

MPI_Datatype nested(int levels) {
  MPI_Datatype type = MPI_INT;
  for (int i = 0; i < levels; ++i) {
    MPI_Datatype outer = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(1, type, &outer);
    if (i > 0) MPI_Type_free(&type);
    type = outer;
  }
  return type;
}

TEST(encoded_types, levels_up_to_limit) {
  MPI_Datatype type = nested(encoded_levels_max), deeper = nested(encoded_levels_max + 1);
  const made_type made = made_again(type);
  EXPECT_EQ(encoded(made.get()), encoded(type));
  expect_error(MPI_ERR_TYPE, "the data type has more than 64 levels; ", [&] { encoded(deeper); });
  MPI_Type_free(&type);
  MPI_Type_free(&deeper);
}

TEST(encoded_types, types_that_cannot_be_encoded) {
  expect_error(MPI_ERR_TYPE, "the data type is MPI_DATATYPE_NULL; ", [] { encoded(MPI_DATATYPE_NULL); });
#ifdef MPICH_VERSION
  const MPI_Datatype removed = MPI_UB;
  expect_error(MPI_ERR_TYPE, "the data type contains MPI_LB, MPI_UB, or an unknown predefined type; ",
               [&] { encoded(removed); });
#endif
}

/// Bytes as of `encode_type`, with any contents.
class description {
 public:
  /// A type, as `type_contents` describes it.
  description& add(int combiner, std::vector<std::int64_t> numbers, std::vector<std::uint32_t> parts) {
    append(static_cast<std::int32_t>(combiner));
    append(static_cast<std::uint32_t>(parts.size()));
    append(static_cast<std::uint64_t>(numbers.size()));
    for (const std::int64_t each : numbers) append(each);
    for (const std::uint32_t each : parts) append(each);
    ++count_;
    return *this;
  }
  /// A type is missing, or there are more of them, or fewer.
  description& miscount(std::int32_t difference) {
    count_ += static_cast<std::uint32_t>(difference);
    return *this;
  }
  bytes all() const {
    bytes made(sizeof count_);
    std::memcpy(made.data(), &count_, sizeof count_);
    made.insert(made.end(), types_.begin(), types_.end());
    return made;
  }

 private:
  template <class T>
  void append(T value) {
    const auto* const from = reinterpret_cast<const std::byte*>(&value);
    types_.insert(types_.end(), from, from + sizeof value);
  }

  std::uint32_t count_ = 0;
  bytes types_;
};

/// The predefined type MPI_DOUBLE, which is type 0 of what follows.
description of_double() {
  return description().add(MPI_COMBINER_NAMED, {static_cast<std::int64_t>(predefined_types().index_of(MPI_DOUBLE))},
                           {});
}

TEST(descriptions, valid_ones_make_types) {
  const auto expect = [](const description& of, std::size_t size) {
    const made_type made = decoded(of.all());
    EXPECT_EQ(size_of(made.get()), size);
    EXPECT_EQ(encoded(made.get()), of.all());
  };
  expect(of_double(), 8);
  expect(of_double().add(MPI_COMBINER_CONTIGUOUS, {3}, {0}), 24);
  expect(of_double().add(MPI_COMBINER_VECTOR, {3, 2, -5}, {0}), 48);
  expect(of_double().add(MPI_COMBINER_INDEXED_BLOCK, {0, 2}, {0}), 0);
  // Displacements in bytes; in extents they are too large.
  constexpr std::int64_t far = std::int64_t{1} << 60;
  expect(of_double().add(MPI_COMBINER_HVECTOR, {2, 1, far}, {0}), 16);
  expect(of_double().add(MPI_COMBINER_HINDEXED, {1, 1, -far}, {0}), 8);
  expect(of_double().add(MPI_COMBINER_HINDEXED_BLOCK, {1, 1, far}, {0}), 8);
  expect(description().add(MPI_COMBINER_STRUCT, {0}, {}), 0);
  expect(of_double().add(MPI_COMBINER_CONTIGUOUS, {3}, {0}).add(MPI_COMBINER_STRUCT, {2, 1, 1, 0, 24}, {1, 0}), 32);
}

void expect_invalid_ones_refused() {
  const auto expect = [](const std::string& problem, const description& of, int error_class = MPI_ERR_INTERN) {
    SCOPED_TRACE(problem);
    expect_error(error_class, problem, [&] { decoded(of.all()); });
  };
  const auto expect_in = [&](int combiner, std::vector<std::int64_t> numbers, const std::string& problem) {
    // In a type of a type, so that some were made before.
    expect(problem, of_double().add(MPI_COMBINER_CONTIGUOUS, {1}, {0}).add(combiner, std::move(numbers), {1}));
  };
  constexpr std::int64_t huge = std::int64_t{1} << 40, largest = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t most_negative = std::numeric_limits<std::int64_t>::min();

  // Types.
  expect("no type", description());
  expect("types; ", of_double().miscount(-1));
  expect("items of 16 bytes in the last 0 bytes", of_double().miscount(1));
  expect("items of 16 bytes", of_double().miscount(-2));
  expect("combiner 77", of_double().add(77, {1}, {0}), MPI_ERR_TYPE);
  expect("combiner -1", of_double().add(-1, {1}, {0}), MPI_ERR_TYPE);
  expect("type 1 of the 1 that precede", of_double().add(MPI_COMBINER_CONTIGUOUS, {1}, {1}));
  expect("type 4000000000 of", of_double().add(MPI_COMBINER_CONTIGUOUS, {1}, {4'000'000'000}));
  expect("predefined type -1 of", description().add(MPI_COMBINER_NAMED, {-1}, {}));
  const auto predefined = static_cast<std::int64_t>(predefined_types().size());
  expect("predefined type " + std::to_string(predefined), description().add(MPI_COMBINER_NAMED, {predefined}, {}));
  expect("a predefined type with parts", description().add(MPI_COMBINER_NAMED, {}, {}));
  expect("a predefined type with parts", description().add(MPI_COMBINER_NAMED, {0, 0}, {}));
  expect("a predefined type with parts", of_double().add(MPI_COMBINER_NAMED, {0}, {0}));
  expect("not one type", of_double().add(MPI_COMBINER_CONTIGUOUS, {1}, {}));
  expect("not one type", of_double().add(MPI_COMBINER_CONTIGUOUS, {1}, {0, 0}));
  expect("not one type", of_double().add(MPI_COMBINER_DUP, {}, {0, 0}));
  expect("not one type", of_double().add(MPI_COMBINER_RESIZED, {0, 8}, {}));
  expect("not one type for each block", of_double().add(MPI_COMBINER_STRUCT, {2, 1, 1, 0, 8}, {0}));
  expect("too many types", of_double().add(MPI_COMBINER_F90_REAL, {6, 30}, {0}));

  // Numbers.
  expect_in(MPI_COMBINER_CONTIGUOUS, {}, "too few arguments");
  expect_in(MPI_COMBINER_VECTOR, {1, 1}, "too few arguments");
  expect_in(MPI_COMBINER_INDEXED, {2, 1, 1, 0}, "too few arguments");
  expect_in(MPI_COMBINER_INDEXED_BLOCK, {huge, 1, 0}, "too few arguments");
  expect_in(MPI_COMBINER_SUBARRAY, {-1}, "too few arguments");
  expect_in(MPI_COMBINER_DUP, {1}, "too many numbers");
  expect_in(MPI_COMBINER_CONTIGUOUS, {1, 1}, "too many numbers");
  expect_in(MPI_COMBINER_DARRAY, {1, 0, 1, 1, MPI_DISTRIBUTE_NONE, 1, 1, MPI_ORDER_C, 0}, "too many numbers");
  expect_in(MPI_COMBINER_CONTIGUOUS, {-1}, "negative count");
  expect_in(MPI_COMBINER_VECTOR, {1, -1, 1}, "negative count");
  expect_in(MPI_COMBINER_HVECTOR, {most_negative, 1, 1}, "negative count");
  expect_in(MPI_COMBINER_INDEXED, {1, -1, 0}, "too many bytes");
  expect_in(MPI_COMBINER_INDEXED_BLOCK, {1, -1, 0}, "negative count");
#if MPI_VERSION < 4
  expect_in(MPI_COMBINER_CONTIGUOUS, {huge}, "a number that the MPI cannot represent");
  expect_in(MPI_COMBINER_VECTOR, {1, 1, huge}, "a number that the MPI cannot represent");
  expect_in(MPI_COMBINER_HINDEXED, {1, huge, 0}, "a number that the MPI cannot represent");
#endif
  expect_in(MPI_COMBINER_CONTIGUOUS, {largest}, "too many bytes");
  expect_in(MPI_COMBINER_VECTOR, {huge, huge, 1}, "too many bytes");
  expect_in(MPI_COMBINER_VECTOR, {huge, 1, most_negative}, "too many bytes");
  expect_in(MPI_COMBINER_VECTOR, {2, 1, largest / 8}, "too many bytes");
  expect_in(MPI_COMBINER_INDEXED, {1, 1, largest / 8}, "too many bytes");
  expect_in(MPI_COMBINER_INDEXED_BLOCK, {1, 1, most_negative / 8}, "too many bytes");
  expect_in(MPI_COMBINER_HVECTOR, {1, 1, largest}, "too many bytes");
  expect_in(MPI_COMBINER_INDEXED, {2, 1, 1, 0, largest / 4}, "too many bytes");
  expect_in(MPI_COMBINER_HINDEXED, {1, 1, most_negative}, "too many bytes");
  expect_in(MPI_COMBINER_HINDEXED_BLOCK, {1, largest, 0}, "too many bytes");
  expect_in(MPI_COMBINER_RESIZED, {largest, largest}, "too large an extent");
  expect("too many bytes", of_double()
                               .add(MPI_COMBINER_HINDEXED, {1, 1, largest / 4}, {0})
                               .add(MPI_COMBINER_HINDEXED, {1, 1, largest / 3}, {1}));
  expect("too many bytes",
         of_double().add(MPI_COMBINER_RESIZED, {0, largest / 4}, {0}).add(MPI_COMBINER_CONTIGUOUS, {4}, {1}));

  // Arrays: dimensions, sizes, selected sizes, first items, order.
  const auto expect_subarray = [&](std::vector<std::int64_t> numbers, const std::string& problem) {
    expect_in(MPI_COMBINER_SUBARRAY, std::move(numbers), problem);
  };
  expect_subarray({0, MPI_ORDER_C}, "no dimension");
  expect_subarray({1, 5, 2, 1, 77}, "not an order");
  expect_subarray({1, 5, 6, 0, MPI_ORDER_C}, "not a part");
  expect_subarray({1, 5, -1, 0, MPI_ORDER_C}, "not a part");
  expect_subarray({1, 5, 2, 4, MPI_ORDER_C}, "not a part");
  expect_subarray({1, 5, 2, -1, MPI_ORDER_C}, "not a part");
  expect_subarray({2, huge, huge, 1, 1, 0, 0, MPI_ORDER_C}, "too many bytes");

  // Distributed arrays: processes, rank, dimensions, sizes, distributions, blocks, processes of dimensions, order.
  constexpr std::int64_t block = MPI_DISTRIBUTE_BLOCK, cyclic = MPI_DISTRIBUTE_CYCLIC, any = MPI_DISTRIBUTE_DFLT_DARG;
  const auto expect_darray = [&](std::vector<std::int64_t> numbers, const std::string& problem) {
    expect_in(MPI_COMBINER_DARRAY, std::move(numbers), problem);
  };
  expect_darray({2, 0, 0, MPI_ORDER_C}, "no dimension");
  expect_darray({2, 0, 1, 8, block, any, 2, 77}, "not an order");
  expect_darray({2, 2, 1, 8, block, any, 2, MPI_ORDER_C}, "not a rank");
  expect_darray({2, -1, 1, 8, block, any, 2, MPI_ORDER_C}, "not a rank");
  expect_darray({3, 0, 1, 8, block, any, 2, MPI_ORDER_C}, "not a rank");
  expect_darray({2, 0, 1, -1, block, any, 2, MPI_ORDER_C}, "an empty dimension");
  expect_darray({2, 0, 1, 8, block, any, 0, MPI_ORDER_C}, "an empty dimension");
  expect_darray({2, 0, 1, 8, block, 0, 2, MPI_ORDER_C}, "an empty block");
  expect_darray({2, 0, 1, 8, cyclic, -7, 2, MPI_ORDER_C}, "an empty block");
  expect_darray({2, 0, 1, 8, block, 3, 2, MPI_ORDER_C}, "too few blocks");
  expect_darray({2, 0, 1, 8, MPI_DISTRIBUTE_NONE, any, 2, MPI_ORDER_C}, "shared and not distributed");
#ifdef OPEN_MPI
  expect_subarray({1, 5, 0, 0, MPI_ORDER_C}, "not a part");
  expect_darray({2, 0, 1, 0, block, any, 2, MPI_ORDER_C}, "an empty dimension");
  expect_darray({1, 0, 1, 8, MPI_DISTRIBUTE_NONE, -7, 1, MPI_ORDER_C}, "a negative block");
#endif
  expect_darray({2, 0, 1, 8, 77, any, 2, MPI_ORDER_C}, "not a distribution");
  expect_darray({2, 0, 1, largest, cyclic, any, 2, MPI_ORDER_C}, "too many bytes");
  constexpr std::int64_t long_block = std::numeric_limits<int>::max();
  expect_darray({1, 0, 3, 8, 8, 8, cyclic, cyclic, cyclic, long_block, long_block, long_block, 1, 1, 1, MPI_ORDER_C},
                "too many bytes");

  // Precisions.
  const auto expect_precision = [&](int combiner, std::vector<std::int64_t> numbers, const std::string& problem) {
    expect(problem, description().add(combiner, std::move(numbers), {}));
  };
  expect_precision(MPI_COMBINER_F90_REAL, {MPI_UNDEFINED, MPI_UNDEFINED}, "a precision");
  expect_precision(MPI_COMBINER_F90_REAL, {34, 30}, "a precision");
  expect_precision(MPI_COMBINER_F90_COMPLEX, {6, 4932}, "a precision");
  expect_precision(MPI_COMBINER_F90_INTEGER, {39}, "a range");

  description deep = of_double();
  for (std::uint32_t i = 0; i <= encoded_levels_max; ++i) deep.add(MPI_COMBINER_CONTIGUOUS, {1}, {i});
  expect("more than 64 levels", deep);
  description wide = of_double();
  for (std::uint32_t i = 0; i < encoded_levels_max; ++i) wide.add(MPI_COMBINER_CONTIGUOUS, {1}, {i});
  expect("more than 64 levels", wide.add(MPI_COMBINER_STRUCT, {2, 1, 1, 0, 8}, {encoded_levels_max, 0}));
}

TEST(descriptions, invalid_ones_refused) {
  const counted_errors errors;
  expect_invalid_ones_refused();
  const live_types before;
  expect_invalid_ones_refused();
  EXPECT_TRUE(live_types() == before);
  EXPECT_EQ(errors.count(), 0);
}

TEST(descriptions, other_lengths_refused) {
  const described_type type = type_trees(11, variety::ascending).next(4);
  bytes all = encoded(type.get());
  for (std::size_t length = 0; length < all.size(); ++length) {
    const bytes part(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(length));
    expect_error(MPI_ERR_INTERN, "invalid description of a data type: ", [&] { decoded(part); });
  }
  all.push_back(std::byte{0});
  expect_error(MPI_ERR_INTERN, "1 bytes after", [&] { decoded(all); });
}

struct outcomes {
  int refused = 0;
  int made = 0;
};

/// Makes types from bytes that are changed, the same in each call.
outcomes make_changed_types() {
  const counted_errors errors;
  outcomes all;
  for (unsigned seed = 0; seed < 300 && !::testing::Test::HasFailure(); ++seed) {
    const described_type original = type_trees(seed, variety::ascending).next(static_cast<int>(seed % 4));
    if (original.text().find("f90") != std::string::npos) continue;
    const bytes unchanged = encoded(original.get());
    std::mt19937 random(seed);
    for (int round = 0; round < 40; ++round) {
      bytes changed = unchanged;
      for (auto changes = 1 + random() % 3; changes > 0; --changes) {
        const auto at = random() % changed.size();
        changed[at] ^= random() % 2 == 0 ? static_cast<std::byte>(random()) : std::byte{1} << random() % 8;
      }
      SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round) + ": " + original.text());
      const int errors_before = errors.count();
      try {
        const made_type type = decoded(changed);
        static_cast<void>(bounds_of(type.get()));
        EXPECT_NO_THROW(encoded(type.get()));
        ++all.made;
      } catch (const mpi_error& error) {
        ++all.refused;
        // The MPI checks precisions.
        if (std::string(error.what()).find("_f90_") != std::string::npos) continue;
      }
      EXPECT_EQ(errors.count(), errors_before);
    }
  }
  return all;
}

// Most are refused. Each of the others makes a type.
TEST(descriptions, changed_at_random) {
  static_cast<void>(make_changed_types());  // the MPI keeps types for precisions
  const live_types before;
  const outcomes all = make_changed_types();
  EXPECT_GT(all.refused, 5000);
  EXPECT_GT(all.made, 500);
  EXPECT_TRUE(live_types() == before);
}

}  // namespace
}  // namespace amity::mpi
