#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<int>([](int) {}, amity::coalesce{}, amity::route{amity::grid{}});
}
