#include "amity/world/world.hpp"

struct star {
  amity::rank_t next(amity::rank_t, amity::rank_t dest) const { return dest; }
};

void use(amity::world& w) {
  auto message = w.message<int>([](int) {}, amity::route{star{}}, amity::coalesce{});
}
