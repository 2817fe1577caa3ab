#include "async_pair.hpp"

namespace amity {
namespace {

void call(world& w, rank_t dest, shared<int> sum) {
  w.async(
      dest, [](int& here) { here += 100; }, sum);
}

}  // namespace

void call_from_second_unit(world& w, rank_t dest, shared<int> sum) {
  call(w, dest, sum);
  w.async(dest, add_ten(), sum);
}

}  // namespace amity
