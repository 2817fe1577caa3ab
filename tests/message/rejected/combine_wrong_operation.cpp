// error: combine{key, operation}: the operation cannot be called with two messages: let it take (const T&, const T&)
// and return a T

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<int>([](int) {}, amity::combine{[](int key) { return key; }, [](int) { return 1; }});
}
