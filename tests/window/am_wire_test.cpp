/// Active messages in the bytes of packets: the counters of windows are what has travelled.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/window/window.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/message_handlers.hpp"
#include "tests/window/wire.hpp"

namespace amity {
namespace {

using testing::job_kind;
using testing::message_traffic;
using testing::setting_changes;
using testing::wire;
using testing::wire_packet;
using handlers = testing::message_handlers;

/// Three ranks: messages of two go to rank 0.
class packets_of_windows : public ::testing::TestWithParam<job_kind> {
 protected:
  /// Each rank has a `Seen`, whose `see` gets its packets. False: the test has failed on a rank.
  template <class Seen>
  bool run(const setting_changes& changes, const std::function<void(world&, Seen&)>& body) const {
    const settings config = testing::configured(changes);
    std::atomic<bool> fails = false;
    GetParam().run(ranks, config, [&](fabric::fabric& whole) {
      Seen seen;
      wire own(whole, [&](const wire_packet& packet) { seen.see(packet); });
      world w(own, config);
      body(w, seen);
      if (w.sum(std::uint64_t{HasFailure()}) > 0) fails = true;  // ranks may be processes
      w.barrier();
    });
    return !fails && !HasFailure();
  }
  static constexpr rank_t ranks = 3;
};

INSTANTIATE_TEST_SUITE_P(, packets_of_windows, ::testing::ValuesIn(testing::every_job_kind()),
                         [](const auto& tested) { return tested.param.name + "_3"; });

// Counters

/// Messages that need space in two buffers of rank 0, one of which is detached while origins rely on it.
class use_of_space {
 public:
  use_of_space(world& w, handlers& all, std::uint64_t seed)
      : w_(w), all_(all), memory_(w.allocate_window<std::int32_t>(1, all.options())), is_vector_(seed % 3 == 0) {
    random_.seed(seed * 10 + static_cast<std::uint64_t>(w.rank()));
  }

  void run() {
    if (w_.rank() == 0) memory_.attach_buffer(second_);
    attach_first();
    exchange(lock_kind::shared, true);
    attach_first();
    for (const rank_t origin : {1, 2}) {
      exchange(lock_kind::exclusive, w_.rank() == origin);
      attach_first();
    }
    if (w_.rank() != 0) return;
    memory_.detach_buffer(first_.data());
    memory_.detach_buffer(second_.data());
  }
  am_counters counters_of(rank_t target) { return memory_.counters_of(target); }

 private:
  static constexpr std::size_t most = 4;  ///< numbers of output in a segment

  void attach_first() {
    w_.barrier();
    if (w_.rank() == 0) memory_.attach_buffer(first_);
    w_.barrier();
  }
  /// Messages before and after a detach. The origin has not called `flush` if it holds the lock alone.
  void exchange(lock_kind kind, bool sends) {
    sends = sends && w_.rank() != 0;
    if (sends) {
      memory_.lock(kind, 0);
      send();
      if (kind == lock_kind::shared) memory_.flush(0);
      while (!has_output()) w_.poll();
    }
    w_.barrier();
    if (w_.rank() == 0) memory_.detach_buffer(first_.data());
    w_.barrier();
    if (!sends) return;
    send();
    memory_.unlock(0);
  }
  void send() {
    const std::size_t segments = std::uniform_int_distribution<std::size_t>(40, 80)(random_);
    std::vector<std::uint32_t>& in = inputs_.emplace_back(segments * (is_vector_ ? 1 : most));
    std::vector<std::uint32_t>& out = outputs_.emplace_back(segments * most);
    for (std::uint32_t& each : in) each = std::uniform_int_distribution<std::uint32_t>(0, most)(random_);
    segments_ += segments;
    if (!is_vector_) return memory_.am(all_.echo, 0, 0, 1, segments, std::span(std::as_const(in)), std::span(out));
    memory_.amv(all_.repeat, 0, 0, 1, segments, std::span(std::as_const(in)), std::span(out),
                std::span(counts_.emplace_back(segments)));
  }
  bool has_output() {
    const am_counters now = memory_.counters_of(0);
    return is_vector_ ? now.count_bytes == segments_ * sizeof(std::uint32_t)
                      : now.output_bytes == segments_ * most * sizeof(std::uint32_t);
  }

  world& w_;
  handlers& all_;
  window<std::int32_t> memory_;
  bool is_vector_;
  std::mt19937_64 random_;
  std::array<std::byte, 500> first_{};
  std::array<std::byte, 300> second_{};
  std::deque<std::vector<std::uint32_t>> inputs_, outputs_, counts_;  // until they are complete
  std::size_t segments_ = 0;
};

/// Those that packets have.
std::array<std::uint64_t, 8> on_wire(const am_counters& of) {
  return {of.units,       of.handshakes,   of.queries,     of.refusals,
          of.input_bytes, of.output_bytes, of.count_bytes, of.credit_bytes};
}

// Figures of handshakes, queries, refusals and bytes come from these counters.
TEST_P(packets_of_windows, counters_of_messages_equal_packets) {
  const bool is_slow = GetParam().name == "processes" || GetParam().name == "mpi";
  for (std::uint64_t seed = 1; seed <= testing::cases(is_slow ? 20 : 100); ++seed) {
    SCOPED_TRACE(seed);
    const setting_changes changes{{"AMITY_AM_ADAPTIVE", seed % 2 == 0 ? "1" : "0"},
                                  {"AMITY_AM_SYSTEM_BYTES", seed % 4 < 2 ? "0" : "200"},
                                  {"AMITY_AM_UNIT_BYTES", std::to_string(40 + seed * 7 % 120)}};
    const bool is_good = run<message_traffic>(changes, [&](world& w, message_traffic& traffic) {
      handlers all;
      use_of_space program(w, all, seed);
      program.run();
      for (const rank_t target : {0, 1, 2})
        EXPECT_EQ(on_wire(program.counters_of(target)), on_wire(traffic.counters_of(target))) << target;
      const message_traffic::request_count requests = traffic.requests_of(0);
      EXPECT_EQ(requests.asked, requests.answered);
      const am_counters sent = traffic.counters_of(0);
      EXPECT_GT(w.sum(sent.handshakes), 0u);
      EXPECT_GT(w.sum(sent.queries), 0u);
      EXPECT_GT(w.sum(sent.refusals), 0u);
    });
    if (!is_good) return;
  }
}

}  // namespace
}  // namespace amity
