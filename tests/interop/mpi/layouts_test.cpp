/// Layouts of data types against what MPI_Pack makes of them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "amity/interop/mpi/drop_in/datatype.hpp"
#include "tests/interop/mpi/packed_by_mpi.hpp"
#include "tests/interop/mpi/type_trees.hpp"

namespace amity::mpi {
namespace {

using testing::add_places;
using testing::described_type;
using testing::packed_by_mpi;
using testing::surroundings;
using testing::type_trees;
using testing::variety;

std::vector<std::byte> packed_by_layout(const std::byte* buffer, std::size_t count, const datatype& type) {
  std::vector<std::byte> packed(count * type.size());
  if (const auto layout = type.data().of(count)) {
    EXPECT_EQ(layout->bytes(), packed.size());
    layout->pack(buffer, 0, packed);
  } else if (!packed.empty()) {
    std::copy_n(buffer + type.true_lower_bound(), packed.size(), packed.data());
  }
  return packed;
}

void expect_extents(MPI_Datatype handle, const datatype& type) {
  MPI_Aint lower_bound = 0, extent = 0;
  int size = 0;
  MPI_Type_size(handle, &size);
  MPI_Type_get_extent(handle, &lower_bound, &extent);
  EXPECT_EQ(type.size(), static_cast<std::size_t>(size));
  EXPECT_EQ(type.lower_bound(), lower_bound);
  EXPECT_EQ(type.extent(), extent);
}

/// The places of the bytes of several items, in their order.
std::vector<std::ptrdiff_t> places_of(const datatype& type, std::size_t count) {
  std::vector<std::ptrdiff_t> all;
  const auto add = [&](std::ptrdiff_t offset, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) all.push_back(offset + static_cast<std::ptrdiff_t>(i));
  };
  if (const auto layout = type.data().of(count)) {
    layout->for_each(0, layout->bytes(), add);
  } else {
    add(type.true_lower_bound(), count * type.size());
  }
  return all;
}

TEST(data_layouts, places_in_order_of_type_map) {
  int empty = 0;
  for (unsigned seed = 0; seed < 6000 && !::testing::Test::HasFailure(); ++seed) {
    type_trees trees(seed, variety::all);
    const described_type made = trees.next(static_cast<int>(seed % 5));
    if (made.get() == MPI_DATATYPE_NULL) continue;  // Open MPI refuses some arrays of types without data
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + made.text());
    const datatype& type = datatype::of(made.get());
    for (const std::size_t count : {1, 3, 0}) {
      std::vector<std::ptrdiff_t> expected;
      add_places(expected, made.places(), 0, static_cast<std::ptrdiff_t>(count), type.extent());
      ASSERT_EQ(places_of(type, count), expected) << count;
    }
    expect_extents(made.get(), type);
    EXPECT_FALSE(type.is_predefined());
    if (made.places().empty()) {
      ++empty;
      continue;
    }
    EXPECT_EQ(type.true_lower_bound(), *std::ranges::min_element(made.places()));
    EXPECT_EQ(type.true_lower_bound() + type.true_extent(), *std::ranges::max_element(made.places()) + 1);
  }
  EXPECT_GT(empty, 100);
}

TEST(data_layouts, bytes_of_mpi_pack) {
  surroundings memory(1 << 20);
  int compared = 0;
  for (unsigned seed = 0; seed < 3000 && !::testing::Test::HasFailure(); ++seed) {
    type_trees trees(seed, variety::ascending);
    const described_type made = trees.next(static_cast<int>(seed % 4));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + made.text());
    if (!memory.contain(made.get(), 2)) continue;
    const datatype& type = datatype::of(made.get());
    for (const int count : {1, 2}) {
      const auto expected = packed_by_mpi(memory.middle(), count, made.get());
      ASSERT_EQ(packed_by_layout(memory.middle(), static_cast<std::size_t>(count), type), expected) << count;
    }
    ++compared;
  }
  EXPECT_GT(compared, 2500);
}

}  // namespace
}  // namespace amity::mpi
