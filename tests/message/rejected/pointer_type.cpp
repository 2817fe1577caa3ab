// error: a pointer, view or reference means nothing on another rank: send what it refers to, or an index

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<int*>([](int*) {});
}
