// error: a member of an argument of async has a codec, which a copy of the whole would not use: specialize amity::codec
// for the whole

#include "amity/world/world.hpp"

struct part {
  int number;
};
template <>
struct amity::codec<part> {
  static std::size_t bytes(const part&) { return sizeof(int); }
  static void write(byte_writer& to, const part& value) { to.write_object(value.number); }
  static part read(byte_reader& from) { return {from.read_object<int>()}; }
};

struct entry {
  part at;
  double value;
};

void use(amity::world& w) {
  w.async(
      0, [](const entry&) {}, entry());
}
