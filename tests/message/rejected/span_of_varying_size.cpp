#include <span>
#include <string>

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<std::string>([](std::span<const std::string>) {}, amity::coalesce{});
}
