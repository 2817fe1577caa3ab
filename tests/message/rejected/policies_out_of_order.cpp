// error: policies are given once each, in the order in which a message meets them: address, unique, combine,
// deliver_locally, route, parallel, coalesce, priority

#include "amity/world/world.hpp"

void use(amity::world& w) {
  auto message = w.message<int>([](int) {}, amity::coalesce{}, amity::unique{});
}
