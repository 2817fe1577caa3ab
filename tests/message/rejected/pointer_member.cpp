#include "amity/world/world.hpp"

struct named {
  int id;
  const char* name;
};

void use(amity::world& w) {
  auto message = w.message<named>([](const named&) {});
}
