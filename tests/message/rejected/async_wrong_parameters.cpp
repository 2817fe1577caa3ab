// error: the function cannot be called with these arguments: give it parameters that match them; a shared<T> arrives
// as T&, and amity::world& may come first

#include "amity/world/world.hpp"

void use(amity::world& w) {
  w.async(
      0, [](int& value) { ++value; }, 1);
}
