// error: a member of this type is a pointer, view or reference, which means nothing on another rank: send what it
// refers to, an index, or a std::uintptr_t if only its own rank uses it, or specialize amity::codec

#include "amity/world/world.hpp"

struct named {
  int id;
  const char* name;
};

void use(amity::world& w) {
  auto message = w.message<named>([](const named&) {});
}
