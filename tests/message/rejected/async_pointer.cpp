// error: an argument of async is a pointer, view or reference, which means nothing on another rank: pass what it
// refers to, or an index, or a shared<T>

#include "amity/world/world.hpp"

void use(amity::world& w) {
  int numbers[3] = {1, 2, 3};
  w.async(
      0, [](int*) {}, numbers);
}
