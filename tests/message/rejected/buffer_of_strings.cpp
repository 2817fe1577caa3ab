// error: send_buffer sends trivially copyable values as they lie in memory: send values that have a codec one by one

#include <string>
#include <vector>

#include "amity/world/world.hpp"

void use(amity::world& w, const std::vector<std::string>& values) {
  auto message = w.message<std::string>([](const std::string&) {});
  w.epoch([&] { message.send_buffer(0, values, 0); });
}
