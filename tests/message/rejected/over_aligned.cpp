// error: messages are aligned to at most 64 bytes

#include "amity/world/world.hpp"

struct alignas(128) wide {
  char content[128];
};

void use(amity::world& w) {
  auto message = w.message<wide>([](const wide&) {});
}
