#include "amity/world/world.hpp"

void print(int);

void use(amity::world& w) { w.async(0, print, 1); }
