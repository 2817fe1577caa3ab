#include "amity/world/world.hpp"

void use(amity::world& w) {
  int numbers[3] = {1, 2, 3};
  w.async(
      0, [](int*) {}, numbers);
}
