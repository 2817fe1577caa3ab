#pragma once

/// Functions for async that two translation units share, and some that only look alike.

#include "amity/world/world.hpp"

namespace amity {

/// Calls itself on the next rank until `left` is used up. A shared object arrives as a reference; its name travels on
/// inside of a struct.
struct pass_on {
  struct names {
    shared<int> hops;
  };
  void operator()(world& here, int& hops, names own, int left) const;
};

/// The lambda of an inline function is of one type in the whole program.
inline auto add_ten() {
  return [](int& sum) { sum += 10; };
}

/// Adds 1 + 10, from one translation unit, and 100 + 10, from another.
void call_from_first_unit(world& w, rank_t dest, shared<int> sum);
void call_from_second_unit(world& w, rank_t dest, shared<int> sum);

}  // namespace amity
