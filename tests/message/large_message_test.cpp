/// One message of more than 2 GiB. It takes up to four times its size: as a value, encoded, put together, and decoded.

#include <cstddef>
#include <vector>

#include "tests/support/worlds.hpp"

namespace amity {
namespace {

constexpr std::size_t bytes = (std::size_t{1} << 31) + 4711;

TEST(large_message, of_more_than_two_gibibytes) {
  run_worlds(testing::threads("threads"), 2, [](world& w) {
    struct arrival {
      std::size_t size = 0;
      char first = 0, middle = 0, last = 0;
    } seen;
    const auto shared_seen = w.share(seen);
    w.epoch([&] {
      if (w.rank() != 0) return;
      std::vector<char> content(bytes);
      content.front() = 'a';
      content[bytes / 2] = 'b';
      content.back() = 'c';
      w.async(
          1,
          [](arrival& here, const std::vector<char>& all) {
            here = {all.size(), all.front(), all[all.size() / 2], all.back()};
          },
          shared_seen, content);
    });
    if (w.rank() == 0) return;
    EXPECT_EQ(seen.size, bytes);
    EXPECT_EQ(seen.first, 'a');
    EXPECT_EQ(seen.middle, 'b');
    EXPECT_EQ(seen.last, 'c');
  });
}

}  // namespace
}  // namespace amity
