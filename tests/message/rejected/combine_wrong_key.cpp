#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<int>([](int) {}, amity::combine{[](int*) { return 1; }, [](int a, int b) { return a + b; }});
}
