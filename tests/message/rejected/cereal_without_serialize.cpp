// error: cereal cannot serialise this type: give it a serialize function

#include "amity/message/cereal.hpp"

#include <string>

#include "amity/world/world.hpp"

struct unknown {
  std::string text;
};
template <>
struct amity::codec<unknown> : amity::cereal_codec<unknown> {};

void use(amity::world& w) {
  auto message = w.message<unknown>([](const unknown&) {});
  w.epoch([&] { message.send(0, {}); });
}
