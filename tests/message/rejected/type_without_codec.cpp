#include <map>

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<std::map<int, int>>([](const std::map<int, int>&) {}, amity::coalesce{});
}
