#pragma once

/// Members of groups in several orders, for the tests of groups and of their collectives.

#include <algorithm>
#include <functional>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/random.hpp"
#include "amity/base/types.hpp"

namespace amity::testing {

struct member_list {
  std::string name;
  std::function<std::vector<rank_t>(rank_t members)> of;  ///< returns their ranks in the job
};

inline void PrintTo(const member_list& list, std::ostream* out) { *out << list.name; }

inline std::vector<rank_t> regular_ranks(rank_t members, rank_t first, rank_t stride) {
  std::vector<rank_t> ranks;
  for (rank_t member = 0; member < members; ++member) ranks.push_back(first + member * stride);
  return ranks;
}

/// Squares in a random order that is the same in each call.
inline std::vector<rank_t> irregular_ranks(rank_t members) {
  std::vector<rank_t> ranks;
  for (rank_t member = 0; member < members; ++member) ranks.push_back(member * member + 1);
  splitmix64 random(7);
  for (std::size_t left = ranks.size(); left > 1; --left) std::swap(ranks[left - 1], ranks[random.below(left)]);
  return ranks;
}

inline std::vector<member_list> member_lists() {
  return {{"all", [](rank_t members) { return regular_ranks(members, 0, 1); }},
          {"stride", [](rank_t members) { return regular_ranks(members, 5, 3); }},
          {"reversed", [](rank_t members) { return regular_ranks(members, 2 * members, -2); }},
          {"irregular", irregular_ranks}};
}

inline std::string list_name(const ::testing::TestParamInfo<member_list>& info) { return info.param.name; }

}  // namespace amity::testing
