// error: send_buffer passes policies by: give the message type none but coalesce, or send one by one

#include <vector>

#include "amity/world/world.hpp"

void use(amity::world& w, const std::vector<int>& values) {
  auto message = w.message<int>([](int) {}, amity::unique{});
  w.epoch([&] { message.send_buffer(0, values, 0); });
}
