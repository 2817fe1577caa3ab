#include "amity/base/zeros.hpp"

#include <cstdint>
#include <cstdio>
#include <utility>

#include <gtest/gtest.h>

namespace amity {
namespace {

struct pair_of_words {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
};

long resident_pages() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long all = 0, resident = 0;
  EXPECT_EQ(std::fscanf(file, "%ld %ld", &all, &resident), 2);
  std::fclose(file);
  return resident;
}

TEST(zeros, begin_as_zeros_and_keep_what_is_written) {
  for (const std::size_t count : {1u, 2u, 1000u, 2048u, 100'000u}) {
    zeros<pair_of_words> array(count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(array[i].first | array[i].second, 0u);
      array[i] = {i, i + 1};
    }
    const zeros<pair_of_words> moved = std::move(array);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(moved[i].second, i + 1);
  }
}

TEST(zeros, may_be_none) { zeros<int> array(0); }

TEST(zeros, take_memory_only_where_they_are_written) {
  constexpr std::size_t words = std::size_t{1} << 27;  // 1 GiB
  const long before = resident_pages();
  zeros<std::uint64_t> array(words);
  array[0] = array[words / 2] = array[words - 1] = 1;
  EXPECT_LT(resident_pages() - before, 10'000);
}

}  // namespace
}  // namespace amity
