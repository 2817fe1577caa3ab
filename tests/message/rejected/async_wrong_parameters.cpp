#include "amity/world/world.hpp"

void use(amity::world& w) {
  w.async(
      0, [](int& value) { ++value; }, 1);
}
