/// Ranks of several threads: collectives and Long messages of each thread with its like on the other ranks.

#include <string>
#include <thread>

#include "tests/core/long_storm.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

using testing::configured;
using testing::expect_error;

/// Twice as many ranks of the fabric, which are the threads of half of them.
class long_lanes : public testing::every_fabric {
 protected:
  void run_lanes(const testing::endpoint_body& body, const settings& config = {}) const {
    kind().run(2 * ranks(), config, [&](fabric::fabric& transport) {
      endpoint own(transport, config, 2);
      body(own);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(core, long_lanes,
                         ::testing::Combine(::testing::ValuesIn(testing::every_job_kind()), ::testing::Values(1, 2)),
                         testing::job_name);

TEST_P(long_lanes, reduce_by_themselves) {
  run_lanes([](endpoint& own) {
    const auto size = static_cast<std::uint64_t>(own.size());
    const auto thread = static_cast<std::uint64_t>(own.thread());
    // One thread has done with all of its own before the other one begins, or not.
    for (std::uint64_t round = 0; round < 5 + 5 * thread; ++round) {
      EXPECT_EQ(own.reduce(reduction::sum_u64, round + 100 * thread), size * (round + 100 * thread));
    }
  });
}

TEST_P(long_lanes, send_longs_by_every_protocol) {
  for (const std::string protocol : {"auto", "chained", "rendezvous", "reassembly"}) {
    run_lanes([](endpoint& own) { testing::long_storm(own).run(100 / testing::sanitizer_divisor + 20); },
              configured({{"AMITY_LONG_PROTOCOL", protocol}}));
  }
}

TEST(long_lanes_misuse, names_the_thread) {
  fabric::sim::run(4, {}, [](fabric::fabric& transport) {
    endpoint own(transport, {}, 2);
    auto& memory = own.memory();
    const handler_id take = own.add_handler("take", [](request&) {});
    const auto all = exchange(own, memory.allocate(8));
    remote_segment of_the_other = all[1];
    of_the_other.thread = static_cast<std::uint16_t>(1 - own.thread());
    const std::string here = "thread " + std::to_string(own.thread());
    const std::string there = "what thread " + std::to_string(1 - own.thread()) + " has opened, a segment of rank 1";
    const std::vector<std::byte> payload(8);
    const remote_address opened_there{of_the_other, 0}, at{all[0], 0};
    expect_error([&] { own.request_long(opened_there, take, payload); },
                 {"endpoint::request_long", here + " uses", there, "open segments on each thread"});
    expect_error([&] { memory.put(opened_there, payload); }, {"memory::put", there});
    std::thread([&] {
      expect_error([&] { own.request_long(at, take, payload); },
                   {"endpoint::request_long", "called by another thread than " + here, "on each thread"});
      expect_error([&] { memory.allocate(8); }, {"memory::allocate", "called by another thread"});
    }).join();
    own.barrier();
    return 0;
  });
}

}  // namespace
}  // namespace amity::core
