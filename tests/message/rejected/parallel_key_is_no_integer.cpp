// error: parallel{key}: the key of a message must be an integer: return one, or a hash

#include <string>

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<int>([](int) {}, amity::parallel{[](int) { return std::string("key"); }});
}
