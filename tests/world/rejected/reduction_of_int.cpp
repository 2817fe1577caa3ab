#include "amity/world/world.hpp"

int use(amity::world& w) { return w.sum(1); }
