// error: parallel{key}: the key cannot be called with this message: let it take (const T&)

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<int>([](int) {}, amity::parallel{[](int*) { return 1u; }});
}
