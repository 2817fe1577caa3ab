// error: a message is a value: name its type without const, volatile or reference

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<const int>([](int) {});
}
