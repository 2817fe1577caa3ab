/// The ledger against a reference: after random traffic each count is exact, by handler and peer.

#include "amity/core/ledger.hpp"

#include <map>
#include <tuple>
#include <vector>

#include "amity/base/random.hpp"
#include "tests/fabric/payloads.hpp"
#include "tests/support/jobs.hpp"

namespace amity::core {
namespace {

using fabric::testing::make_payload;

constexpr int handlers = 3;

struct planned {
  rank_t dest;
  int handler;
  std::size_t args;
  std::size_t bytes;
};

/// What a rank sends: a function of its number, so that every rank knows what to expect from all.
std::vector<planned> plan_of(rank_t source, rank_t ranks, int messages) {
  splitmix64 random(static_cast<std::uint64_t>(source) + 1);
  std::vector<planned> plan;
  for (int i = 0; i < messages; ++i) {
    plan.push_back({.dest = static_cast<rank_t>(random.below(static_cast<std::uint64_t>(ranks))),
                    .handler = static_cast<int>(random.below(handlers)),
                    .args = random.below(args_max + 1),
                    .bytes = random.below(4) == 0 ? random.below(3000) : random.below(60)});
  }
  return plan;
}

using reference = std::map<std::tuple<int, rank_t>, message_counts>;  // by handler and peer

void send_plan_and_check(endpoint& own, int messages) {
  // The counts are per handler; the first of them is not used, and its counts stay 0.
  own.add_handler("unused", [](request&) {});
  std::uint64_t handled = 0;
  handler_id first = 0;
  for (int i = 0; i < handlers; ++i) {
    const handler_id id = own.add_handler("take " + std::to_string(i), [&](request&) { ++handled; });
    if (i == 0) first = id;
  }
  own.barrier();

  reference expected;
  std::uint64_t expected_handled = 0;
  traffic sent{};
  for (rank_t source = 0; source < own.size(); ++source) {
    for (const planned& each : plan_of(source, own.size(), messages)) {
      if (each.dest == own.rank()) {
        ++expected[{each.handler, source}].handled;
        ++expected_handled;
      }
      if (source != own.rank()) continue;
      ++expected[{each.handler, each.dest}].sent;
      const std::size_t bytes = each.args * sizeof(std::uint64_t) + each.bytes;
      const std::size_t content_max = own.packet_bytes_max() - sizeof(fragment_header);
      const std::size_t packets = bytes <= own.packet_bytes_max() ? 1 : (bytes + content_max - 1) / content_max;
      sent.packets_sent += packets;
      sent.bytes_sent += bytes + (packets > 1 ? packets * sizeof(fragment_header) : 0);
    }
  }
  for (const planned& each : plan_of(own.rank(), own.size(), messages)) {
    own.request_medium(each.dest, static_cast<handler_id>(first + each.handler), make_payload(each.bytes, 1),
                       std::vector<std::uint64_t>(each.args));
  }
  own.wait_until("all messages", [&] { return handled == expected_handled; });
  own.barrier();

  for (int handler = 0; handler < handlers; ++handler) {
    for (rank_t peer = 0; peer < own.size(); ++peer) {
      const message_counts counts = own.counts().of(static_cast<handler_id>(first + handler), peer);
      EXPECT_EQ(counts.sent, (expected[{handler, peer}].sent)) << "handler " << handler << ", to " << peer;
      EXPECT_EQ(counts.handled, (expected[{handler, peer}].handled)) << "handler " << handler << ", from " << peer;
      EXPECT_EQ(own.counts().of(0, peer).sent + own.counts().of(0, peer).handled, 0u);
    }
  }
  const traffic& total = own.counts().total();
  EXPECT_EQ(total.messages_sent, static_cast<std::uint64_t>(messages));
  EXPECT_EQ(total.messages_handled, expected_handled);
  EXPECT_EQ(total.packets_sent, sent.packets_sent);
  EXPECT_EQ(total.bytes_sent, sent.bytes_sent);
  // None of them was sent in an epoch.
  EXPECT_EQ(own.counts().epochs().sent + own.counts().epochs().handled, 0u);
}

class ledgers : public testing::every_fabric {};
INSTANTIATE_TEST_SUITE_P(core, ledgers, testing::every_job(), testing::job_name);

TEST_P(ledgers, count_every_message_once) {
  run([](endpoint& own) { send_plan_and_check(own, 120); });
}

TEST(ledger, counts_in_all_where_ranks_are_too_many_to_keep_apart) {
  testing::simulate(ledger::peers_max + 1, {.credits = 2}, [](endpoint& own) {
    std::uint64_t handled = 0;
    const handler_id take = own.add_handler("take", [&](request&) { ++handled; });
    own.barrier();
    for (rank_t dest = 0; dest < own.size(); dest += 10) own.request_short(dest, take);
    const std::uint64_t all = own.rank() % 10 == 0 ? static_cast<std::uint64_t>(own.size()) : 0;
    own.wait_until("all messages", [&] { return handled == all; });
    EXPECT_FALSE(own.counts().knows_peers());
    EXPECT_EQ(own.counts().of(take).sent, static_cast<std::uint64_t>(own.size() / 10 + 1));
    EXPECT_EQ(own.counts().of(take).handled, all);
    EXPECT_NE(own.stall_report("a test", 1).find("take: sent/handled: 26/"), std::string::npos);
    own.barrier();
  });
}

TEST(ledger, begins_anew_when_a_number_is_given_to_another_handler) {
  testing::simulate(1, {}, [](endpoint& own) {
    bool ran = false;
    const handler_id first = own.add_handler("first", [&](request&) { ran = true; });
    own.request_short(0, first);
    own.wait_until("the message", [&] { return ran; });
    EXPECT_EQ(own.counts().of(first, 0).sent, 1u);
    own.remove_handler(first);
    EXPECT_EQ(own.add_handler("second", [](request&) {}), first);
    EXPECT_EQ(own.counts().of(first, 0).sent, 0u);
    EXPECT_EQ(own.counts().of(first, 0).handled, 0u);
    EXPECT_EQ(own.counts().total().messages_sent, 1u);
    EXPECT_EQ(own.counts().total().messages_handled, 1u);
  });
}

}  // namespace
}  // namespace amity::core
