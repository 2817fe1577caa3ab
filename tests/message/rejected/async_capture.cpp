// error: async takes a lambda without captures: pass what it needs as arguments, and objects that live on the target
// through world::share

#include "amity/world/world.hpp"

void use(amity::world& w) {
  int here = 0;
  w.async(0, [&here] { ++here; });
}
