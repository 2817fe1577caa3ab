// error: the handler cannot be called with this message: give it (const T&), (const T&, auto& self),
// (std::span<const T>) or (std::span<const T>, auto& self)

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<int>([](int, int, int) {}, amity::coalesce{});
}
