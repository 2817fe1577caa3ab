/// Random programs of active messages on simulated ranks: results against a model, and space that is whole afterwards.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/window/window.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using words = std::vector<std::uint32_t>;

/// Handlers that count segments, and return input that was changed.
struct mixed_handlers {
  am_table table;
  am_operation invert;   ///< out = ~in, and counts segments
  am_operation spread;   ///< vector: the first word of a segment says how many words of output it has
  am_operation consume;  ///< without output

  mixed_handlers() {
    const auto count = [](const am_call& call) { call.persistent_as<std::uint64_t>()[0] += call.segments; };
    invert = table.add([count](const am_call& call) {
      count(call);
      const auto in = call.input_as<std::uint32_t>();
      std::ranges::transform(in, call.output_as<std::uint32_t>().begin(), [](std::uint32_t each) { return ~each; });
    });
    spread = table.add_vector([count](const am_call& call) {
      count(call);
      const auto in = call.input_as<std::uint32_t>();
      const auto out = call.output_as<std::uint32_t>();
      const std::size_t per_input = in.size() / call.segments, per_output = out.size() / call.segments;
      for (std::size_t i = 0; i < call.segments; ++i) {
        const auto generated = static_cast<std::uint32_t>(in[i * per_input] % (per_output + 1));
        call.output_counts[i] = generated;
        for (std::uint32_t j = 0; j < generated; ++j) out[i * per_output + j] = in[i * per_input] + j;
      }
    });
    consume = table.add(count);
  }
};

/// A message of a random program, and where its results go.
struct random_message {
  rank_t target;
  am_operation what;
  std::size_t segments, inputs, outputs;  ///< words of a segment
  words in, out, counts;

  void check(const std::string& place, bool is_vector) const {
    for (std::size_t i = 0; i < segments; ++i) {
      if (is_vector) {
        const auto generated = static_cast<std::uint32_t>(in[i * inputs] % (outputs + 1));
        ASSERT_EQ(counts[i], generated) << place;
        for (std::uint32_t j = 0; j < generated; ++j) ASSERT_EQ(out[i * outputs + j], in[i * inputs] + j) << place;
        continue;
      }
      for (std::size_t j = 0; j < outputs; ++j) ASSERT_EQ(out[i * outputs + j], ~in[i * inputs + j]) << place;
    }
  }
};

class message_program {
 public:
  message_program(world& w, std::uint64_t seed)
      : w_(w),
        common_(seed),
        own_(1000 * seed + static_cast<std::uint64_t>(w.rank())),
        place_("seed " + std::to_string(seed)),
        sent_to_(static_cast<std::size_t>(w.size())) {}

  void run() {
    constexpr std::size_t segment_words_max = 60;
    window_options options{.name = "messages", .messages = {.handlers = &handlers_.table}};
    options.messages.may_detach = common_() % 2 == 0;
    options.messages.system_bytes = static_cast<std::int64_t>(common_() % 3 == 0 ? 0 : common_() % 3000);
    options.messages.unit_bytes = static_cast<std::int64_t>(common_() % 2 == 0 ? 0 : common_() % 2000);
    options.messages.detects_exclusive = common_() % 3 != 0;
    options.messages.adapts = common_() % 3 != 0;
    options.messages.pack_below = static_cast<double>(common_() % 3) / 2;
    options.messages.messages_max = 1 + static_cast<std::int64_t>(common_() % 20);
    std::vector<am_guarantee> guarantees;
    const std::uint64_t guaranteed = common_() % 3 == 0 ? common_() % 1000 : 0;
    for (rank_t each = 0; guaranteed > 0 && each < w_.size(); ++each) guarantees.push_back({each, guaranteed});
    options.messages.guarantees = guarantees;
    auto memory = w_.allocate_window<std::uint64_t>(1, options);
    // There is always space for one segment, besides what is guaranteed.
    std::vector<std::vector<std::byte>> buffers;
    buffers.emplace_back(8 * segment_words_max + static_cast<std::size_t>(w_.size()) * guaranteed + own_() % 500);
    for (std::uint64_t i = own_() % 3; i > 0; --i) buffers.emplace_back(1 + own_() % 700);
    for (std::vector<std::byte>& each : buffers) memory.attach_buffer(each);
    w_.barrier();

    std::vector<random_message> sent;
    for (int epoch = 0; epoch < 4; ++epoch) {
      sent.clear();
      for (std::uint64_t i = own_() % 12; i > 0; --i) sent.push_back(make_message(segment_words_max));
      const std::uint64_t kind = common_() % 3;
      if (kind == 0) {
        memory.fence(window_assert::no_precede);
        for (random_message& each : sent) start(memory, each);
        memory.fence(window_assert::no_succeed);
      } else if (kind == 1) {
        memory.lock_all();
        for (random_message& each : sent) {
          start(memory, each);
          if (own_() % 4 == 0) own_() % 2 == 0 ? memory.flush(each.target) : memory.flush_local_all();
        }
        memory.unlock_all();
      } else {
        for (random_message& each : sent) {
          memory.lock(own_() % 2 == 0 ? lock_kind::exclusive : lock_kind::shared, each.target);
          start(memory, each);
          memory.unlock(each.target);
        }
      }
      for (const random_message& each : sent) each.check(place_, each.what.is_vector);
      if (::testing::Test::HasFailure()) break;
    }
    w_.barrier();
    std::uint64_t expected = 0;
    for (rank_t each = 0; each < w_.size(); ++each) {
      const std::uint64_t segments = w_.sum(sent_to_[static_cast<std::size_t>(each)]);
      if (each == w_.rank()) expected = segments;
    }
    EXPECT_EQ(memory.local()[0], expected) << place_;
    if (guaranteed > 0) return;  // what is guaranteed stays attached
    for (std::vector<std::byte>& each : buffers) memory.detach_buffer(each.data());  // throws if a unit has space there
    w_.barrier();
  }

 private:
  random_message make_message(std::size_t words_max) {
    random_message made{.target = static_cast<rank_t>(own_() % static_cast<std::uint64_t>(w_.size())),
                        .what = {},
                        .segments = 1 + own_() % 30,
                        .inputs = 1 + own_() % words_max,
                        .outputs = 0,
                        .in = {},
                        .out = {},
                        .counts = {}};
    const std::uint64_t kind = own_() % 3;
    made.what = kind == 0 ? handlers_.invert : kind == 1 ? handlers_.spread : handlers_.consume;
    made.outputs = kind == 0 ? made.inputs : kind == 1 ? 1 + own_() % words_max : 0;
    made.in.resize(made.segments * made.inputs);
    for (std::uint32_t& each : made.in) each = static_cast<std::uint32_t>(own_());
    made.out.resize(made.segments * made.outputs);
    made.counts.resize(made.what.is_vector ? made.segments : 0);
    sent_to_[static_cast<std::size_t>(made.target)] += made.segments;
    return made;
  }
  static void start(window<std::uint64_t>& on, random_message& what) {
    const std::span<const std::uint32_t> in(what.in);
    if (what.what.is_vector) {
      on.amv(what.what, what.target, 0, 1, what.segments, in, std::span(what.out), std::span(what.counts));
    } else {
      on.am(what.what, what.target, 0, 1, what.segments, in, std::span(what.out));
    }
  }

  world& w_;
  std::mt19937_64 common_, own_;
  std::string place_;
  mixed_handlers handlers_;
  std::vector<std::uint64_t> sent_to_;  ///< segments, by target
};

TEST(active_message_programs, match_model_on_random_schedules) {
  testing::run_on_random_schedules([](world& w, std::uint64_t seed) { message_program(w, seed).run(); });
}

}  // namespace
}  // namespace amity
