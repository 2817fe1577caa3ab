/// Routed messages that cannot arrive: errors that say what is wrong, instead of epochs that never end.

#include <string>

#include "amity/amity.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

/// Its codec reads less than it writes.
struct careless {
  std::string text;
};

template <>
struct amity::codec<careless> {
  static std::size_t bytes(const careless&) { return 2 * sizeof(int); }
  static void write(byte_writer& to, const careless&) {
    to.write_object(1);
    to.write_object(2);
  }
  static careless read(byte_reader& from) { return {.text = std::to_string(from.read_object<int>())}; }
};

namespace amity {
namespace {

using testing::failure_in_worlds;

struct nowhere {
  rank_t next_hop(rank_t, rank_t) const { return 77; }
};
struct here_for_ever {
  rank_t next_hop(rank_t here, rank_t) const { return here; }
};
/// Ranks 1 and 2 pass messages for rank 0 to each other.
struct to_and_fro {
  rank_t next_hop(rank_t here, rank_t) const { return here == 1 ? 2 : 1; }
};

template <class Topology>
std::string failure_with(const Topology& wrong) {
  return failure_in_worlds(4, [&](world& w) {
    auto token = w.message<int>([](int) {}, route{wrong}, coalesce{});
    w.epoch([&] {
      if (w.rank() == 3) token.send(0, 1);
    });
  });
}

TEST(wrong_topologies, are_errors_that_name_the_hop) {
  testing::expect_parts(failure_with(nowhere{}), {"route", "rank 3", "next_hop(3, 0) of the topology is 77",
                                                  "not a rank of this job", "from 0 to 3"});
  testing::expect_parts(failure_with(here_for_ever{}),
                        {"route", "rank 3", "a message to rank 0 has taken 3 hops", "come nearer to the destination"});
  testing::expect_parts(failure_with(to_and_fro{}), {"route", "a message to rank 0 has taken 3 hops"});
}

TEST(routing, a_codec_that_reads_less_than_it_writes_is_an_error_on_the_destination) {
  const std::string failure = failure_in_worlds(4, [](world& w) {
    auto token = w.message<careless>([](const careless&) {}, route{grid{}}, coalesce{});
    w.epoch([&] {
      if (w.rank() == 0) token.send(3, {.text = "one"});
    });
  });
  testing::expect_parts(failure, {"rank 3", "careless", "4 bytes"});
}

}  // namespace
}  // namespace amity
