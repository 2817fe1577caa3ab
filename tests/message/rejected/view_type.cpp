// error: a pointer, view or reference means nothing on another rank: send what it refers to, or an index

#include <string_view>

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<std::string_view>([](std::string_view) {}, amity::coalesce{});
}
