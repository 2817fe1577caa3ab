// error: this type is not trivially copyable and has no codec: make it trivially copyable, or specialise
// amity::codec for it (amity/message/codec.hpp)

#include <map>

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<std::map<int, int>>([](const std::map<int, int>&) {}, amity::coalesce{});
}
