#include "amity/world/world.hpp"

auto use(amity::world& w, double residual) {
  return w.epoch([] {}, [&] { return residual; });
}
