// error: route{topology}: this is not a topology: use grid, hypercube, node_aware or direct, or give your type a
// rank_t next_hop(rank_t here, rank_t dest) const

#include "amity/world/world.hpp"

struct star {
  amity::rank_t next(amity::rank_t, amity::rank_t dest) const { return dest; }
};

void use(amity::world& w) {
  auto message = w.message<int>([](int) {}, amity::route{star{}}, amity::coalesce{});
}
