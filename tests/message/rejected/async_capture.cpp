#include "amity/world/world.hpp"

void use(amity::world& w) {
  int here = 0;
  w.async(0, [&here] { ++here; });
}
