// error: address{owner}: the owner cannot be called with this message: let it take (const T&) and return its rank

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<int>([](int) {}, amity::address{[](int*) { return 1; }});
}
