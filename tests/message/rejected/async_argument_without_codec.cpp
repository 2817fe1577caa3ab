#include <map>

#include "amity/world/world.hpp"

void use(amity::world& w) {
  w.async(
      0, [](const std::map<int, int>&) {}, std::map<int, int>());
}
