#include "amity/world/world.hpp"

auto use(amity::world& w, double residual) {
  auto period = w.begin_epoch();
  return period.end([&] { return residual; });
}
