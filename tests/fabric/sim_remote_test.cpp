/// What remote memory costs in the simulator, and which deliveries it explores.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "amity/fabric/sim/sim.hpp"
#include "mailbox.hpp"
#include "payloads.hpp"
#include "remote_user.hpp"
#include "sim_ranks.hpp"

namespace amity::fabric::sim {
namespace {

using testing::mailbox;
using testing::remote_user;
using testing::segments_of_all;

// 1 ns a byte.
constexpr std::uint64_t L = 10'000, o = 100, g = 50, P = 1000;
const sim_options plain{.latency_ns = L, .overhead_ns = o, .gap_ns = g, .byte_ps = P};

/// Runs `rank_0` on rank 0 of two, each with a segment of 10,000 bytes, while rank 1 waits for it.
void with_peer(const sim_options& options,
               const std::function<void(fabric&, mailbox&, remote_user&, const segments_of_all&)>& rank_0) {
  run_all(2, options, [&](fabric& own) {
    mailbox mail(own);
    remote_user user(own, mail);
    segments_of_all all(own, mail, 10'000);
    mail.on_notify([](std::uint32_t) {});
    mail.barrier();
    if (own.rank() == 0) rank_0(own, mail, user, all);
    mail.barrier();
  });
}

TEST(sim_remote, costs_follow_loggp) {
  with_peer(plain, [](fabric& own, mailbox& mail, remote_user& user, const segments_of_all& all) {
    const auto source = testing::make_payload(5000, 1);
    const std::uint64_t start_ns = own.now_ns();
    std::uint64_t free_ns = 0;
    const events tell{.source_free = user.new_context(), .complete = user.new_context()};
    static_cast<void>(user.start(tell, [&](const events& e) { return user.memory().put(all.of(1), 0, source, e); }));
    EXPECT_EQ(own.now_ns(), start_ns + o);
    mail.until([&] { return !user.awaits(tell.source_free); });
    free_ns = own.now_ns();
    EXPECT_EQ(free_ns, start_ns + o + 5000);
    user.finish();
    EXPECT_EQ(own.now_ns(), start_ns + o + 5000 + 2 * L);

    const std::uint64_t get_ns = own.now_ns();
    std::vector<std::byte> back(5000);
    user.start_get(all.of(1), 0, back);
    user.finish();
    EXPECT_EQ(own.now_ns(), get_ns + o + L + 5000 + L);
    EXPECT_EQ(back, source);

    const std::uint64_t atomic_ns = own.now_ns();
    user.atomic(all.of(1), 0, {.op = atomic_op::add, .operand = 1});
    EXPECT_EQ(own.now_ns(), atomic_ns + o + 8 + L + 8 + L);
  });
}

TEST(sim_remote, ranks_of_a_node_are_nearer) {
  sim_options near = plain;
  near.node_ranks = 2;
  near.node_latency_ns = 700;
  with_peer(near, [](fabric& own, mailbox&, remote_user& user, const segments_of_all& all) {
    const std::uint64_t start_ns = own.now_ns();
    user.start_put(all.of(1), 0, {});
    user.finish();
    EXPECT_EQ(own.now_ns(), start_ns + o + 2 * 700);
  });
}

TEST(sim_remote, small_sources_are_free_at_once) {
  with_peer(plain, [](fabric&, mailbox&, remote_user& user, const segments_of_all& all) {
    const auto put = [&](std::size_t bytes) {
      const auto source = testing::make_payload(bytes, 1);
      const stage reached = user.start({.complete = user.new_context()}, [&](const events& tell) {
        return user.memory().put(all.of(1), 0, source, tell);
      });
      user.finish();
      return reached;
    };
    EXPECT_EQ(put(64), stage::source_free);
    EXPECT_EQ(put(65), stage::accepted);
  });
}

TEST(sim_remote, a_source_that_changes_too_early_is_seen) {
  with_peer(plain, [](fabric& own, mailbox&, remote_user& user, const segments_of_all& all) {
    std::vector<std::byte> source(100, std::byte{1});
    user.start_put(all.of(1), 0, source);
    source.assign(100, std::byte{2});
    user.finish();
    std::vector<std::byte> back(100);
    user.start_get(all.of(1), 0, back);
    user.finish();
    EXPECT_EQ(back, source);
    EXPECT_GT(own.now_ns(), 0u);
  });
}

/// How a put, the packet that was sent after it, and the put after that arrive, over many seeds.
std::set<std::string> orders(sim_options options) {
  std::set<std::string> seen;
  for (options.seed = 1; options.seed <= 40; ++options.seed) {
    run_all(2, options, [&](fabric& own) {
      std::string order;
      mailbox mail(own, [&](const packet&) {
        order += 'p';
        return disposition::release;
      });
      mail.on_notify([&](std::uint32_t bits) { order += static_cast<char>(bits); });
      segments_of_all all(own, mail, 1000);
      remote_user user(own, mail);
      if (own.rank() == 0) {
        const auto source = testing::make_payload(100, 1);
        user.start_notify(all.of(1), 0, source, '1');
        mail.send(1, 0, testing::make_payload(500, 2));
        user.start_notify(all.of(1), 0, source, '2');
        user.finish();
      } else {
        mail.until([&] { return order.size() == 3; });
        seen.insert(order);
      }
      mail.barrier();
    });
  }
  return seen;
}

TEST(sim_remote, puts_and_packets_overtake_one_another_where_asked) {
  EXPECT_EQ(orders(plain), std::set<std::string>({"1p2"}));
  sim_options late_puts = plain;
  late_puts.remote_delay_ns_max = 1000;
  EXPECT_EQ(orders(late_puts), std::set<std::string>({"1p2", "p12", "p21"}));
  sim_options all_late = plain;
  all_late.delay_ns_max = 20'000;
  EXPECT_EQ(orders(all_late), std::set<std::string>({"1p2", "12p", "p12", "p21", "21p", "2p1"}));
}

TEST(sim_remote, order_is_promised_only_where_it_holds) {
  const auto promised = [](const sim_options& options) { return describe(options).remote.puts_before_packets; };
  EXPECT_TRUE(promised(plain));
  EXPECT_FALSE(promised({.delay_ns_max = 1}));
  EXPECT_FALSE(promised({.remote_delay_ns_max = 1}));
  EXPECT_FALSE(promised({.reorder_percent = 1}));
}

TEST(sim_remote, one_seed_is_one_schedule) {
  const auto trace = [](std::uint64_t seed) {
    sim_options options = plain;
    options.seed = seed;
    options.remote_delay_ns_max = 5000;
    return run_all(4, options,
                   [](fabric& own) {
                     mailbox mail(own);
                     remote_user user(own, mail);
                     segments_of_all all(own, mail, 1000);
                     mail.on_notify([](std::uint32_t) {});
                     mail.barrier();
                     const auto source = testing::make_payload(500, 1);
                     for (rank_t dest = 0; dest < own.size(); ++dest) user.start_notify(all.of(dest), 0, source, 1);
                     user.finish();
                     mail.barrier();
                   })
        .trace_hash;
  };
  EXPECT_EQ(trace(1), trace(1));
  EXPECT_NE(trace(1), trace(2));
}

/// What ranks learn of memory that they attach, one after another, in the order of these addresses.
struct attachments {
  std::vector<std::uint64_t> ids;
  std::vector<segment_key> keys;
  std::uint64_t trace_hash = 0;
};

attachments attach_in_order(const std::vector<std::byte*>& addresses, std::size_t bytes) {
  attachments seen;
  sim_options options = plain;
  options.seed = 3;
  options.remote_delay_ns_max = 5000;
  seen.trace_hash = run_all(4, options, [&](fabric& own) {
                      mailbox mail(own);
                      remote_user user(own, mail);
                      remote_memory& memory = user.memory();
                      const auto ranks = static_cast<std::size_t>(own.size());
                      for (std::size_t i = 0; i < addresses.size(); ++i) {
                        const auto owner = static_cast<rank_t>(i % ranks);
                        segment made{};
                        if (own.rank() == owner) made = memory.attach({addresses[i], bytes}).value();
                        const segment_key key = testing::key_in(mail.exchange(made.key.bytes).at(owner));
                        const remote_handle opened = memory.open(owner, key);
                        if (own.rank() == owner) {
                          seen.ids.push_back(opened.id);
                          seen.keys.push_back(key);
                        }
                        const auto source = testing::make_payload(bytes / ranks, i);
                        user.start_put(opened, bytes / ranks * static_cast<std::size_t>(own.rank()), source);
                        user.finish();
                        mail.barrier();
                        if (own.rank() == owner) memory.destroy(made);
                      }
                    }).trace_hash;
  return seen;
}

// Addresses of a program differ from run to run; nothing that a schedule depends on does.
TEST(sim_remote, attached_memory_is_numbered_in_order_of_attach) {
  constexpr std::size_t bytes = 4000;
  std::vector<std::byte> memory(8 * bytes);
  std::vector<std::byte*> addresses;
  for (std::size_t i = 0; i < 8; ++i) addresses.push_back(memory.data() + i * bytes);
  const attachments upwards = attach_in_order(addresses, bytes);
  std::ranges::reverse(addresses);
  const attachments downwards = attach_in_order(addresses, bytes);
  std::vector<std::byte*> one(addresses.size(), addresses.front());
  const attachments of_one = attach_in_order(one, bytes);
  EXPECT_EQ(upwards.ids, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  for (const attachments& each : {downwards, of_one}) {
    EXPECT_EQ(each.ids, upwards.ids);
    EXPECT_TRUE(std::ranges::equal(each.keys, upwards.keys, {}, &segment_key::bytes, &segment_key::bytes));
    EXPECT_EQ(each.trace_hash, upwards.trace_hash);
  }
}

/// How a job ends in which rank 0 does that to a segment that rank 1 has destroyed.
std::string end_of(const std::function<void(remote_user&, const remote_handle&)>& use) {
  return error_of([&] {
    run_all(2, plain, [&](fabric& own) {
      mailbox mail(own);
      remote_user user(own, mail);
      remote_memory& memory = user.memory();
      const segment made = memory.create(1000);
      const remote_handle opened = memory.open(1, testing::key_in(mail.exchange(made.key.bytes).at(1)));
      mail.barrier();
      if (own.rank() == 1) memory.destroy(made);
      mail.barrier();
      std::set<std::uint32_t> told;
      mail.on_notify([&](std::uint32_t bits) { told.insert(bits); });
      if (own.rank() == 0) use(user, opened);
      if (own.rank() == 1) mail.until([&] { return told.contains(7); });
      mail.barrier();
    });
  });
}

TEST(sim_remote, an_operation_on_a_segment_that_is_gone_is_an_error_of_its_owner) {
  const std::string text =
      "amity: AMITY_FABRIC=sim (rank 1): rank 0 has used a segment that this rank has released; release a segment "
      "after "
      "a barrier behind its last use";
  std::vector<std::byte> bytes(1000, std::byte{1});
  EXPECT_EQ(end_of([&](remote_user& user, const remote_handle& gone) { user.start_put(gone, 0, bytes); }), text);
  EXPECT_EQ(end_of([&](remote_user& user, const remote_handle& gone) {
              user.start_get(gone, 0, bytes);
              user.finish();  // never, with bytes that nobody has sent
            }),
            text);
  EXPECT_EQ(end_of([&](remote_user& user, const remote_handle& gone) {
              user.atomic(gone, 0, {.op = atomic_op::add, .bytes = 8, .operand = 1});
            }),
            text);
}

// What it was for comes by packets.
TEST(sim_remote, a_notification_to_a_segment_that_is_gone_is_told) {
  const std::vector<std::byte> bytes(1000, std::byte{1});
  EXPECT_EQ(end_of([&](remote_user& user, const remote_handle& gone) { user.start_notify(gone, 0, bytes, 7); }),
            "no error");
}

}  // namespace
}  // namespace amity::fabric::sim
