// error: a member of an argument of async is a pointer, view or reference, which means nothing on another rank: pass
// what it refers to, an index, or a std::uintptr_t if only its own rank uses it, or specialize amity::codec

#include <string_view>

#include "amity/world/world.hpp"

struct entry {
  int n;
  std::string_view text;
};

void use(amity::world& w) {
  w.async(
      0, [](const entry&) {}, entry{1, "one"});
}
