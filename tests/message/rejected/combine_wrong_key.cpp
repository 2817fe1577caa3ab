// error: combine{key, operation}: the key cannot be called with this message: let it take (const T&)

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<int>([](int) {}, amity::combine{[](int*) { return 1; }, [](int a, int b) { return a + b; }});
}
