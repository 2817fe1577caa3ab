// error: a member of this type is a pointer, view or reference, which means nothing on another rank

#include <vector>

#include "amity/world/world.hpp"

struct inner {
  int n;
  const double& target;
};

struct outer {
  inner parts[2];
};

void use(amity::world& w) {
  auto message = w.message<std::vector<outer>>([](const std::vector<outer>&) {});
}
