/// Types of other ranks are made once, and freed.

#include "amity/interop/mpi/drop_in/type_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "amity/interop/mpi/drop_in/encoded_type.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/type_contents.hpp"

namespace amity::mpi {
namespace {

class type_caches : public ::testing::Test {
 protected:
  type_caches() {
    const auto note_end = [](MPI_Datatype, int, void* name, void* ended) {
      static_cast<std::vector<int>*>(ended)->push_back(*static_cast<int*>(name));
      return MPI_SUCCESS;
    };
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, note_end, &key_, &ended_);
  }
  ~type_caches() override { MPI_Type_free_keyval(&key_); }

  /// The bytes of a type that only this process has had, which is freed.
  std::vector<std::byte> bytes_of(int count) const {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(count, 1, 2, MPI_INT, &type);
    std::vector<std::byte> bytes = encode_type(type, predefined_);
    MPI_Type_free(&type);
    return bytes;
  }
  /// The type is listed in `ended_` when it is freed.
  MPI_Datatype find_watched(type_cache& cache, int count) {
    const MPI_Datatype found = cache.find(bytes_of(count));
    MPI_Type_set_attr(found, key_, &*std::ranges::find(counts_, count));
    return found;
  }

  const predefined_types predefined_;
  std::vector<int> counts_{1, 2, 3, 4, 5};
  std::vector<int> ended_;  ///< counts of vectors
  int key_ = MPI_KEYVAL_INVALID;
};

TEST_F(type_caches, same_handle_for_same_bytes) {
  type_cache cache(predefined_);
  const MPI_Datatype first = cache.find(bytes_of(3)), second = cache.find(bytes_of(4));
  EXPECT_NE(first, second);
  EXPECT_EQ(cache.find(bytes_of(3)), first);
  EXPECT_EQ(cache.find(bytes_of(4)), second);
}

TEST_F(type_caches, types_are_committed) {
  type_cache cache(predefined_);
  const MPI_Datatype type = cache.find(bytes_of(2));
  const int values[] = {1, 2, 3};
  int packed[2] = {}, position = 0;
  ASSERT_EQ(MPI_Pack(values, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF), MPI_SUCCESS);
  EXPECT_EQ(packed[1], 3);
}

TEST_F(type_caches, predefined_as_they_are) {
  type_cache cache(predefined_);
  MPI_Datatype real = MPI_DATATYPE_NULL;
  MPI_Type_create_f90_real(6, 30, &real);
  for (const MPI_Datatype each : {MPI_INT, MPI_DOUBLE_INT, real})
    EXPECT_EQ(cache.find(encode_type(each, predefined_)), each);
}

TEST_F(type_caches, all_freed_at_end) {
  {
    type_cache cache(predefined_);
    for (const int count : {2, 3, 4}) find_watched(cache, count);
    EXPECT_TRUE(ended_.empty());
  }
  std::ranges::sort(ended_);
  EXPECT_EQ(ended_, (std::vector{2, 3, 4}));
}

TEST_F(type_caches, oldest_freed_at_limit) {
  type_cache cache(predefined_, 2);
  find_watched(cache, 1);
  find_watched(cache, 2);
  cache.find(bytes_of(1));
  EXPECT_TRUE(ended_.empty());
  find_watched(cache, 3);
  EXPECT_EQ(ended_, (std::vector{2}));
  cache.find(bytes_of(1));
  EXPECT_EQ(ended_, (std::vector{2}));
  cache.find(bytes_of(2));
  EXPECT_EQ(ended_, (std::vector{2, 3}));
}

TEST_F(type_caches, keeps_one_at_least) {
  type_cache cache(predefined_, 0);
  const MPI_Datatype type = find_watched(cache, 2);
  EXPECT_EQ(cache.find(bytes_of(2)), type);
  EXPECT_EQ(size_of(type), 2 * sizeof(int));
  EXPECT_TRUE(ended_.empty());
}

TEST_F(type_caches, unchanged_by_invalid_bytes) {
  type_cache cache(predefined_, 1);
  const MPI_Datatype type = find_watched(cache, 2);
  std::vector<std::byte> bytes = bytes_of(3);
  bytes.pop_back();
  for (int i = 0; i < 2; ++i) EXPECT_THROW(cache.find(bytes), mpi_error);
  EXPECT_THROW(cache.find({}), mpi_error);
  EXPECT_TRUE(ended_.empty());
  EXPECT_EQ(cache.find(bytes_of(2)), type);
}

}  // namespace
}  // namespace amity::mpi
