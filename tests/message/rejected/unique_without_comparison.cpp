// error: unique compares messages: give this type operator== and std::hash, or members without padding and floating
// point

#include "amity/world/world.hpp"

struct padded {
  char letter;
  int number;
};

void use(amity::world& w) {
  auto message = w.message<padded>([](const padded&) {}, amity::unique{});
}
