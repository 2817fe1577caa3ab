// error: deliver_locally keeps copies of messages: make this type copyable

#include "amity/world/world.hpp"

struct ticket {
  int number;
  explicit ticket(int n) : number(n) {}
  ticket(const ticket&) = delete;
  ticket(ticket&&) = default;
};

void wrong(amity::world& w) {
  w.message<ticket>([](const ticket&) {}, amity::deliver_locally{});
}
