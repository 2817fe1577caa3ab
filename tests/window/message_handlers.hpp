#pragma once

/// Handlers of active messages on windows, and numbers that some of them use.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/window/window.hpp"
#include "tests/support/worlds.hpp"

namespace amity::testing {

/// All ranks have them.
struct message_handlers {
  am_table table;
  am_operation absolute;  ///< out[i] = abs(in[i]) + abs(window[i]), for each segment
  am_operation count;     ///< adds the number of segments to a word
  am_operation echo;
  am_operation nothing;
  am_operation repeat;    ///< vector: the first integer of a segment says how often it is repeated
  am_operation too_many;  ///< vector: a count above the largest
  am_operation fails;

  message_handlers() {
    absolute = table.add([](const am_call& call) {
      const auto in = call.input_as<std::int32_t>();
      const auto window = call.persistent_as<std::int32_t>();
      const auto out = call.output_as<std::int32_t>();
      ASSERT_EQ(in.size(), out.size());
      for (std::size_t i = 0; i < in.size(); ++i) out[i] = std::abs(in[i]) + std::abs(window[i % window.size()]);
    });
    count = table.add([](const am_call& call) { call.persistent_as<std::uint64_t>()[0] += call.segments; });
    echo = table.add([](const am_call& call) { std::ranges::copy(call.input, call.output.begin()); });
    nothing = table.add([](const am_call&) {});
    repeat = table.add_vector([](const am_call& call) {
      const auto in = call.input_as<std::uint32_t>();
      const auto out = call.output_as<std::uint32_t>();
      const std::size_t most = out.size() / call.segments;
      for (std::size_t i = 0; i < call.segments; ++i) {
        EXPECT_EQ(call.output_counts[i], 0u);
        call.output_counts[i] = in[i];
        std::ranges::fill(out.subspan(i * most, in[i]), in[i]);
      }
    });
    too_many = table.add_vector([](const am_call& call) { call.output_counts[call.segments - 1] = 1000; });
    fails = table.add([](const am_call&) { throw std::runtime_error("this handler fails"); });
  }

  window_options options() { return {.name = "am", .messages = {.handlers = &table}}; }
};

/// Memory for active messages of other ranks, on all ranks or on `owner` alone. Its creation and its end are
/// collective.
class attached_space {
 public:
  attached_space(world& w, window_base& on, std::size_t bytes, rank_t owner = no_rank)
      : w_(w), on_(on), memory_(owner == no_rank || owner == w.rank() ? bytes : 0) {
    if (!memory_.empty()) on_.attach_buffer(memory_);
    w_.barrier();
  }
  ~attached_space() {
    EXPECT_NO_THROW({
      w_.barrier();
      if (!memory_.empty()) on_.detach_buffer(memory_.data());
    });
  }
  attached_space(const attached_space&) = delete;
  attached_space& operator=(const attached_space&) = delete;

  std::byte* data() { return memory_.data(); }

 private:
  world& w_;
  window_base& on_;
  std::vector<std::byte> memory_;
};

/// AMITY_AM_ADAPTIVE for tests of credit: as in the environment, so that they can be seen to fail with 0.
inline std::string credit_switch() {
  const char* const given = std::getenv("AMITY_AM_ADAPTIVE");
  return given == nullptr ? "1" : given;
}

constexpr std::size_t segment_ints = 5;

inline std::vector<std::int32_t> inputs(std::size_t segments, rank_t from) {
  std::vector<std::int32_t> in(segments * segment_ints);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::int32_t>(i) * (i % 2 == 0 ? 1 : -1) - 10 * from;
  return in;
}

inline std::int32_t expected_of(std::int32_t in, rank_t target, std::size_t at) {
  return std::abs(in) + std::abs(-static_cast<std::int32_t>(at % segment_ints) - target);
}

/// Each rank has `segment_ints` numbers: -i - rank.
inline window<std::int32_t> make_numbers(world& w, message_handlers& all) {
  auto memory = w.allocate_window<std::int32_t>(segment_ints, all.options());
  for (std::size_t i = 0; i < segment_ints; ++i) memory.local()[i] = -static_cast<std::int32_t>(i) - w.rank();
  w.barrier();
  return memory;
}

inline void expect_absolute(std::span<const std::int32_t> in, std::span<const std::int32_t> out, rank_t target) {
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], expected_of(in[i], target, i)) << i;
}

}  // namespace amity::testing
