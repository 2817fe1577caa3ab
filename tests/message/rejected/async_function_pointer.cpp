// error: async takes a lambda without captures: pass what it needs as arguments, and objects that live on the target
// through world::share

#include "amity/world/world.hpp"

void print(int);

void use(amity::world& w) { w.async(0, print, 1); }
