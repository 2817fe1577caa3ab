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
