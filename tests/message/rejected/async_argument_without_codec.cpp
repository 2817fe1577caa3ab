// error: an argument of async is not trivially copyable and has no codec: specialise amity::codec for it, or pass
// parts of it

#include <map>

#include "amity/world/world.hpp"

void use(amity::world& w) {
  w.async(
      0, [](const std::map<int, int>&) {}, std::map<int, int>());
}
