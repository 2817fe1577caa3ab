#include "async_pair.hpp"

namespace amity {
namespace {

void call(world& w, rank_t dest, shared<int> sum) {
  w.async(
      dest, [](int& here) { here += 1; }, sum);
}

}  // namespace

void call_from_first_unit(world& w, rank_t dest, shared<int> sum) {
  call(w, dest, sum);
  w.async(dest, add_ten(), sum);
}

void pass_on::operator()(world& here, int& hops, names own, int left) const {
  ++hops;
  if (left > 0) here.async((here.rank() + 1) % here.size(), pass_on{}, own.hops, own, left - 1);
}

}  // namespace amity
