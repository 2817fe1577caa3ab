// error: messages of varying size are handled one at a time: give the handler (const T&) or (const T&, auto& self)

#include <span>
#include <string>

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<std::string>([](std::span<const std::string>) {}, amity::coalesce{});
}
