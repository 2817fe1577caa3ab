#include <string>
#include <vector>

#include "amity/world/world.hpp"

void use(amity::world& w, const std::vector<std::string>& values) {
  auto message = w.message<std::string>([](const std::string&) {});
  w.epoch([&] { message.send_buffer(0, values, 0); });
}
