#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<int>([](int) {}, amity::combine{[](int key) { return key; }, [](int) { return 1; }});
}
