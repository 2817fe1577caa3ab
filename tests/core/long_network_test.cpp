/// Long messages between processes, over networks on which the put and the envelope come in either order.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/core/memory.hpp"
#include "amity/core/segment_records.hpp"
#include "tests/core/late_events.hpp"
#include "tests/core/long_storm.hpp"
#include "tests/core/memory_use.hpp"
#include "tests/support/jobs.hpp"

namespace amity::core {
namespace {

using testing::configured;

struct network {
  const char* name;
  const char* fabric;
  const char* provider;
  rank_t ranks;
  const char* sealed = "1";
};

void PrintTo(const network& of, std::ostream* out) { *out << of.name; }

std::string name_of(const ::testing::TestParamInfo<network>& tested) { return tested.param.name; }

class long_networks : public ::testing::TestWithParam<network> {};
// On the composite, two of the three ranks share a node. If packets are sealed, the core makes remote memory of other
// nodes out of packets.
INSTANTIATE_TEST_SUITE_P(core, long_networks,
                         ::testing::Values(network{"rxm", "ofi", "tcp;ofi_rxm", 2, "0"},
                                           network{"net", "ofi", "net", 2, "0"}, network{"sealed", "ofi", "net", 2},
                                           network{"composite", "composite", "net", 3},
                                           network{"composite_rma", "composite", "net", 3, "0"}),
                         name_of);

TEST_P(long_networks, match_both_parts_in_both_orders) {
  const network& over = GetParam();
  const settings config = configured({{"AMITY_FABRIC", over.fabric},
                                      {"AMITY_OFI_PROVIDER", over.provider},
                                      {"AMITY_OFI_SEALED", over.sealed},
                                      {"AMITY_LONG_PROTOCOL", "reassembly"},
                                      {"AMITY_LONG_SLOTS", "8"}});
  testing::processes("processes").run(over.ranks, config, [&](fabric::fabric& whole) {
    EXPECT_EQ(whole.caps().remote.available, over.sealed == std::string("0"));
    fabric::testing::late_events delayed(whole, static_cast<std::uint64_t>(whole.rank()) + 5);
    endpoint own(delayed, config);
    testing::long_storm storm(own);
    storm.run(15'000);
    const long_receiver& seen = own.own_engine().served().memory().receiver;
    if (!whole.caps().remote.available) return;  // the envelope leaves after the records of the payload
    EXPECT_GT(seen.payload_last(), 50u);         // thousands; how many depends on the time that packets take
    EXPECT_GT(seen.envelope_last(), 50u);
  });
}

// On two nodes, over a network with remote memory and over one without.
TEST(memory_of_worlds, composites_reach_all_peers) {
  for (const char* const sealed : {"0", "1"}) {
    const settings config = testing::configured(
        {{"AMITY_FABRIC", "composite"}, {"AMITY_OFI_PROVIDER", "net"}, {"AMITY_OFI_SEALED", sealed}});
    testing::run_worlds(
        testing::processes("processes"), 4,
        [](world& w) {
          const auto part = w.split({.color = w.rank() % 2, .key = -w.rank()});
          for (world* const each : {&w, part.get()}) testing::use_memory(*each);
        },
        config);
  }
}

class memory_of_composite : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(core, memory_of_composite, ::testing::Values("0", "1"), [](const auto& tested) {
  return std::string(tested.param) == "0" ? "over_the_network" : "in_packets";
});

// Peers of the node map the memory, the others reach it over the network or by packets; both see what the other has
// written.
TEST_P(memory_of_composite, is_mapped_on_the_node) {
  const std::string sealed = GetParam();
  const settings config =
      configured({{"AMITY_FABRIC", "composite"}, {"AMITY_OFI_PROVIDER", "net"}, {"AMITY_OFI_SEALED", sealed}});
  testing::processes("processes").run(4, config, [&](fabric::fabric& whole) {
    endpoint own(whole, config);
    auto& memory = own.memory();
    const local_segment mine = memory.allocate(4096);
    std::vector<remote_segment> all = exchange(own, mine);
    // The key of one rank on the node is not that of the next one.
    for (segment_descriptor each : exchange_descriptors(own, mine.descriptor)) {
      each.lane = (each.lane + 1) % own.size();
      if (!whole.same_node(each.lane)) continue;
      EXPECT_THROW(memory.open(each), error);
    }
    const auto self = static_cast<std::uint64_t>(own.rank());
    for (const remote_segment& each : all) {
      EXPECT_EQ(each.handle.direct != nullptr, whole.same_node(each.lane));
      EXPECT_EQ(segment_records::reach(each.handle), sealed == "1" && !whole.same_node(each.lane));
      memory.put({each, 64 * (self + 1)}, std::as_bytes(std::span(&self, 1)));
      for (int i = 0; i < 1000; ++i) memory.atomic({each, 0}, {.op = fabric::atomic_op::add, .operand = 1});
    }
    own.barrier();
    for (const remote_segment& each : all) {
      std::uint64_t got[33];
      memory.get({each, 0}, std::as_writable_bytes(std::span(got)));
      EXPECT_EQ(got[0], 4000u);
      for (std::uint64_t rank = 0; rank < 4; ++rank) EXPECT_EQ(got[8 * (rank + 1)], rank);
    }
    own.barrier();
    for (remote_segment& each : all) memory.close(each);
  });
}

}  // namespace
}  // namespace amity::core
