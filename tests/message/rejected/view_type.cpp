#include <string_view>

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<std::string_view>([](std::string_view) {}, amity::coalesce{});
}
