// error: this is not a policy of messages: pass address, unique, combine, deliver_locally, route, parallel, coalesce
// or priority after the handler

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<int>([](int) {}, 4096);
}
