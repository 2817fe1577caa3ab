/// Active messages in the bytes of packets: the counters of windows are what has travelled, and nothing travels that is
/// no content of a message.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/window/am_description.hpp"
#include "amity/window/layout.hpp"
#include "amity/window/options.hpp"
#include "amity/window/window.hpp"
#include "amity/window/window_core.hpp"
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

/// The counters whose values packets contain.
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

// So that a short segment and its record fit one line.
TEST_P(packets_of_windows, segments_of_one_kind_have_one_head) {
  run<message_traffic>({}, [](world& w, message_traffic& traffic) {
    handlers all;
    auto memory = w.allocate_window<std::int32_t>(1, all.options());
    const std::array<std::int32_t, 5> in{1, 2, 3, 4, 5};
    std::array<std::int32_t, 5> out{};
    const rank_t to = testing::next_of(w);
    const auto heads_after = [&](std::size_t segments, std::size_t ints, int count) {
      memory.lock(lock_kind::shared, to);
      for (int i = 0; i < count; ++i)
        memory.am(all.echo, to, 0, 0, segments, std::span(in).first(ints), std::span(out).first(ints));
      memory.unlock(to);
      return traffic.heads_of(to);
    };
    EXPECT_EQ(heads_after(1, 5, 100), 1u);
    EXPECT_EQ(heads_after(2, 4, 3), 4u);
    EXPECT_EQ(heads_after(1, 2, 3), 4u);  // the same description
    EXPECT_EQ(heads_after(1, 5, 3), 5u);
    EXPECT_EQ(out, in);
    w.barrier();
  });
}

// Secrets

/// No message but those of rank 1 has several bytes of this value in a row.
constexpr std::byte secret{0xc5};
constexpr std::byte canary{0x77};
constexpr std::byte written{1};

/// The most secret bytes in a row that this rank has sent to each rank, and received from each.
class secret_runs {
 public:
  void see(const wire_packet& packet) {
    std::size_t& most = (packet.is_sent ? sent_ : received_)[static_cast<std::size_t>(packet.peer)];
    std::size_t run = 0;
    for (const std::byte each : packet.payload) most = std::max(most, run = each == secret ? run + 1 : 0);
  }
  std::size_t sent(rank_t to) const { return sent_[static_cast<std::size_t>(to)]; }
  std::size_t received(rank_t from) const { return received_[static_cast<std::size_t>(from)]; }

 private:
  std::array<std::size_t, 3> sent_{}, received_{};
};

/// What a message has: in each segment, `count` elements of input and as many of output.
struct message_shape {
  bool is_vector;
  bool has_gaps;
  std::size_t element_bytes;
  std::size_t count;
  std::size_t segments;

  std::size_t step_there() const { return element_bytes + (has_gaps ? 3 : 0); }
  std::size_t step_here() const { return element_bytes + (has_gaps ? 5 : 0); }
  std::size_t bytes_here() const { return segments * count * step_here(); }
  /// Elements that the handler generates in a message of rank 2.
  std::size_t generated(std::size_t segment) const { return is_vector ? segment % (count + 1) : count / 2; }
};

std::vector<message_shape> message_shapes() {
  std::vector<message_shape> shapes;
  for (const bool is_vector : {false, true}) {
    for (const bool has_gaps : {false, true}) {
      for (const std::size_t element_bytes : {1, 3, 8, 50, 700}) {
        for (const std::size_t segments : {1, 9, 30})
          shapes.push_back({is_vector, has_gaps, element_bytes, segments == 9 ? 1u : 4u, segments});
      }
    }
  }
  return shapes;
}

/// Rank 1 leaves secrets in all memory of rank 0 that messages use. Then rank 2 sends messages whose handler writes a
/// part of the output.
class use_of_secrets {
 public:
  use_of_secrets(world& w, lock_kind kind, const settings& config, std::uint64_t guaranteed)
      : w_(w),
        kind_(kind),
        buffer_(60'000, secret),
        memory_(w.team(), std::nullopt, 64, 1, with_settings(options(guaranteed), config)) {
    std::ranges::fill(memory_.memory(), secret);
    if (w.rank() == 0) memory_.attach_buffer(buffer_);
  }

  void run() {
    for (const message_shape& each : message_shapes()) {
      shape_ = each;
      w_.barrier();
      if (w_.rank() == 1) send(leave_[each.is_vector ? 1 : 0]);
      w_.barrier();
      if (w_.rank() == 2) send(write_part_[each.is_vector ? 1 : 0]);
      w_.barrier();
    }
  }
  /// Calls of handlers on this rank for messages of rank 2, whose output was in the buffer.
  std::size_t calls_in_buffer() const { return calls_in_buffer_; }

 private:
  window_options options(std::uint64_t guaranteed) {
    leave_ = {table_.add([](const am_call& call) { std::ranges::fill(call.output, secret); }),
              table_.add_vector([this](const am_call& call) {
                std::ranges::fill(call.output, secret);
                std::ranges::fill(call.output_counts, shape_.count);
              })};
    write_part_ = {table_.add([this](const am_call& call) { write_part(call); }),
                   table_.add_vector([this](const am_call& call) { write_part(call); })};
    window_options chosen{.name = "am", .messages = {.handlers = &table_}};
    space_.bytes = guaranteed;
    if (guaranteed > 0) chosen.messages.guarantees = std::span(&space_, 1);
    return chosen;
  }
  void write_part(const am_call& call) {
    EXPECT_EQ(std::ranges::count(call.output, std::byte{}), std::ssize(call.output));
    const bool is_in_buffer = call.output.data() >= buffer_.data() && call.output.data() < &buffer_.back();
    if (is_in_buffer) ++calls_in_buffer_;
    const std::size_t step = shape_.step_there();
    for (std::size_t i = 0; i < call.segments; ++i) {
      const mutable_bytes segment = call.output.subspan(i * shape_.count * step, shape_.count * step);
      const std::uint32_t first = call.input_as<std::uint8_t>()[i * shape_.count * step];  // number of the segment
      const std::size_t generated = shape_.generated(first);
      if (shape_.is_vector) call.output_counts[i] = static_cast<std::uint32_t>(generated);
      for (std::size_t j = 0; j < shape_.count; ++j) {
        if (j < generated) std::ranges::fill(segment.subspan(j * step, shape_.element_bytes), written);
        std::ranges::fill(segment.subspan(j * step, step).subspan(shape_.element_bytes), secret);  // the gap
      }
    }
  }
  void send(am_operation what) {
    const bool is_secret = w_.rank() == 1;
    const auto side = [&]() -> detail::am_side {
      const std::size_t count = shape_.count, bytes = shape_.element_bytes, step = shape_.step_there();
      detail::am_side made{.packed_bytes = count * bytes, .footprint = count * step};
      if (shape_.has_gaps)
        made.blocks = std::make_shared<const layout>(layout::strided(count, bytes, static_cast<std::ptrdiff_t>(step)));
      return made;
    };
    const std::size_t elements = shape_.segments * shape_.count, step = shape_.step_here();
    std::shared_ptr<const layout> here;
    if (shape_.has_gaps) {
      here = std::make_shared<const layout>(
          layout::strided(elements, shape_.element_bytes, static_cast<std::ptrdiff_t>(step)));
    }
    std::vector<std::byte> in(shape_.bytes_here(), secret), out(shape_.bytes_here() + 100, canary);
    for (std::size_t i = 0; !is_secret && i < elements; ++i)
      std::ranges::fill(std::span(in).subspan(i * step, shape_.element_bytes), std::byte(i / shape_.count));
    std::vector<std::uint32_t> counts(shape_.segments);
    memory_.lock(kind_, 0, window_assert::none);
    memory_.send_message("test", 0,
                         {.operation = what.number,
                          .count_max = what.is_vector ? static_cast<std::uint32_t>(shape_.count) : 0,
                          .input = side(),
                          .output = side(),
                          .persistent_bytes = 64},
                         {.segments = shape_.segments,
                          .input = in.data(),
                          .input_blocks = here,
                          .output = out.data(),
                          .output_blocks = here,
                          .output_counts = counts.data()});
    memory_.unlock(0);
    expect_output(out, is_secret);
  }
  void expect_output(std::span<const std::byte> out, bool is_secret) const {
    std::vector<std::byte> expected(out.size(), canary);
    for (std::size_t i = 0; i < shape_.segments; ++i) {
      const std::size_t generated = is_secret ? shape_.count : shape_.generated(i);
      for (std::size_t j = 0; j < shape_.count; ++j) {
        if (j >= generated && shape_.is_vector) continue;
        const std::size_t at = (i * shape_.count + j) * shape_.step_here();
        const std::byte value = is_secret ? secret : j < generated ? written : std::byte{};
        std::ranges::fill(std::span(expected).subspan(at, shape_.element_bytes), value);
      }
    }
    EXPECT_TRUE(std::ranges::equal(out, expected));
  }

  world& w_;
  lock_kind kind_;
  message_shape shape_{};
  am_table table_;
  std::array<am_operation, 2> leave_{}, write_part_{};  ///< plain, and of vectors
  am_guarantee space_{.target = 0, .bytes = 0};
  std::vector<std::byte> buffer_;
  detail::window_core memory_;
  std::size_t calls_in_buffer_ = 0;
};

struct space_of_secrets {
  setting_changes changes;
  lock_kind kind = lock_kind::shared;
  std::uint64_t guaranteed = 0;
};

std::vector<space_of_secrets> spaces_of_secrets() {
  const std::pair<std::string, std::string> no_system{"AMITY_AM_SYSTEM_BYTES", "0"};
  return {{.changes = {{"AMITY_AM_SYSTEM_BYTES", "200k"}}},
          {.changes = {no_system}},
          {.changes = {no_system, {"AMITY_AM_ADAPTIVE", "0"}}},
          {.changes = {no_system}, .kind = lock_kind::exclusive},
          {.changes = {no_system}, .guaranteed = 20'000}};
}

// The memory of a unit held other messages before, and is sent as a whole.
TEST_P(packets_of_windows, messages_leak_nothing) {
  for (const space_of_secrets& space : spaces_of_secrets()) {
    for (const char* const pack_below : {"0", "auto"}) {
      setting_changes changes = space.changes;
      changes.emplace_back("AMITY_AM_PACK_BELOW", pack_below);
      const bool is_good = run<secret_runs>(changes, [&](world& w, secret_runs& runs) {
        use_of_secrets program(w, space.kind, testing::configured(changes), space.guaranteed);
        program.run();
        constexpr std::size_t several = 3;
        if (w.rank() == 0) {
          EXPECT_GE(runs.sent(1), 100u);  // its own
          EXPECT_EQ(program.calls_in_buffer() > 0, space.changes[0].second == "0");
        }
        if (w.rank() != 2) {
          EXPECT_LT(runs.sent(2), several);
        }
        for (rank_t peer = 0; w.rank() == 2 && peer < w.size(); ++peer) {
          EXPECT_LT(runs.sent(peer), several) << peer;
          EXPECT_LT(runs.received(peer), several) << peer;
        }
      });
      if (!is_good) return;
    }
  }
}

}  // namespace
}  // namespace amity
