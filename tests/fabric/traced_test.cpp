/// The counters of `traced`, and its report.

#include "amity/fabric/traced.hpp"

#include <gtest/gtest.h>

#include <string>

#include "amity/base/error.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "amity/fabric/waiter.hpp"
#include "mailbox.hpp"
#include "payloads.hpp"
#include "remote_user.hpp"
#include "tests/support/errors.hpp"

namespace amity::fabric {
namespace {

using amity::testing::expect_parts;
using testing::make_payload;

/// Keeps the first packet and releases the others.
struct keep_first final : sink {
  explicit keep_first(fabric& f) : own(f) {}
  disposition on_packet(const packet& p) noexcept override {
    if (arrived++ > 0) return disposition::release;
    token = p.token;
    return disposition::keep;
  }
  void receive(int packets) {
    while (arrived < packets) {
      if (own.poll(*this, 8) == 0) wait(own, testing::forever);
    }
  }
  fabric& own;
  int arrived = 0;
  std::uint64_t token = 0;
};

// Rank 0 sends 100 bytes and 20 bytes to rank 1, who keeps the first: the third finds no credit.
void exchange(fabric& own) {
  keep_first sink(own);
  if (own.rank() == 0) {
    EXPECT_EQ(own.try_send(1, 0xa, make_payload(100, 0), claim::ordinary), status::ok);
    slot s;
    EXPECT_EQ(own.acquire(1, s, claim::ordinary), status::ok);
    own.commit(1, 0xb, s, 20);
    EXPECT_EQ(own.try_send(1, 0xc, {}, claim::ordinary), status::again);
    EXPECT_EQ(own.acquire(1, s, claim::ordinary), status::again);
    sink.receive(1);
    own.release(sink.token);
  } else {
    sink.receive(2);
    own.release(sink.token);
    EXPECT_EQ(own.try_send(0, 0xd, make_payload(7, 0), claim::ordinary), status::ok);
  }
}

constexpr std::uint64_t L = 10'000, o = 100;
const sim::sim_options two_credits{.latency_ns = L, .overhead_ns = o, .gap_ns = 0, .byte_ps = 0, .credits = 2};

TEST(traced, counts_per_peer_and_rank) {
  sim::run(2, two_credits, [](fabric& plain) {
    traced own(plain);
    exchange(own);
    if (own.rank() == 0) {
      EXPECT_EQ(own.with(1).packets_sent, 2u);
      EXPECT_EQ(own.with(1).bytes_sent, 120u);
      EXPECT_EQ(own.with(1).refused, 2u);
      EXPECT_EQ(own.with(1).packets_received, 1u);
      EXPECT_EQ(own.with(1).bytes_received, 7u);
      EXPECT_EQ(own.with(1).packets_kept, 1u);
      EXPECT_EQ(own.with(0).packets_sent, 0u);
    } else {
      EXPECT_EQ(own.with(0).packets_sent, 1u);
      EXPECT_EQ(own.with(0).packets_received, 2u);
      EXPECT_EQ(own.with(0).bytes_received, 120u);
      EXPECT_EQ(own.with(0).packets_kept, 1u);
      EXPECT_GT(own.own().polls, own.own().polls_empty);
      EXPECT_GE(own.own().polls_empty, 1u);
      EXPECT_GE(own.own().sleeps, 1u);
      EXPECT_GE(own.own().slept_ns, L - o);
    }
    return 0;
  });
}

TEST(traced, reports_in_words) {
  sim::run(2, two_credits, [](fabric& plain) {
    traced own(plain);
    exchange(own);
    const std::string text = own.report();
    if (own.rank() == 0) {
      EXPECT_EQ(text.rfind("rank 0 of 2 on sim: ", 0), 0u) << text;
      expect_parts(text,
                   {"\n       1            2            120          2            1              7          1\n",
                    "\n     all            2            120          2            1              7          1\n"});
    }
    return 0;
  });
}

TEST(traced, counts_operations_on_remote_memory) {
  sim::run(1, two_credits, [](fabric& plain) {
    traced own(plain);
    testing::mailbox mail(own);
    mail.on_notify([](std::uint32_t) {});
    testing::remote_user user(own, mail);
    const testing::segments_of_all all(own, mail, 64);
    EXPECT_FALSE(own.caps().remote.mapped);
    EXPECT_EQ(all.of(0).direct, nullptr);
    const auto refused_before = own.with(0).refused;
    auto source = make_payload(10, 1);
    user.start_put(all.of(0), 0, source);
    user.start_notify(all.of(0), 0, source, 0xab);
    EXPECT_EQ(own.remote()->put(all.of(0), 0, source), stage::refused);
    EXPECT_EQ(own.with(0).refused, refused_before + 1);
    user.finish();
    user.start_get(all.of(0), 0, source);
    user.atomic(all.of(0), 0, {});
    EXPECT_EQ(own.with(0).puts, 2u);
    EXPECT_EQ(own.with(0).bytes_put, 20u);
    EXPECT_EQ(own.with(0).gets, 1u);
    EXPECT_EQ(own.with(0).bytes_got, 10u);
    EXPECT_EQ(own.with(0).atomics, 1u);
    EXPECT_EQ(own.own().operations_done, 3u);
    EXPECT_EQ(own.own().notifications, 1u);
    expect_parts(own.report(), {"remote memory: 3 events of operations, 1 notifications\n",
                                "\n       0            2             20          1            1             10\n"});
    return 0;
  });
}

}  // namespace
}  // namespace amity::fabric
