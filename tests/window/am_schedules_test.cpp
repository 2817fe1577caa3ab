/// Space for active messages on simulated ranks: who waits for whom, and how long.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/fabric/sim/sim.hpp"
#include "amity/window/window.hpp"
#include "amity/window/window_error.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/message_handlers.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::attached_space;
using testing::everyone;
using testing::expect_absolute;
using testing::inputs;
using testing::segment_ints;
using handlers = testing::message_handlers;

void run_simulated(rank_t ranks, const fabric::sim::sim_options& options, const std::function<void(world&)>& program) {
  settings config;
  config.set("AMITY_AM_ADAPTIVE", testing::credit_switch());
  fabric::sim::run(ranks, options, [&](fabric::fabric& own) {
    world w(own, config);
    program(w);
    w.barrier();
    return 0;
  });
}

/// Numbers as of `testing::make_numbers`, in a window with these options and no system buffer.
window<std::int32_t> make_window(world& w, handlers& all, am_options messages) {
  messages.handlers = &all.table;
  if (messages.system_bytes < 0) messages.system_bytes = 0;
  auto memory = w.allocate_window<std::int32_t>(segment_ints, {.name = "am", .messages = messages});
  for (std::size_t i = 0; i < segment_ints; ++i) memory.local()[i] = -static_cast<std::int32_t>(i) - w.rank();
  w.barrier();
  return memory;
}

void poll_until(world& w, std::uint64_t time_ns) {
  while (w.now_ns() < time_ns) w.poll();
}

// An origin never holds a part of the space of a unit while it waits for the rest.
TEST(am_schedules, buffers_of_one_and_a_half_segments) {
  for (std::uint64_t seed = 1; seed <= testing::cases(50); ++seed) {
    const fabric::sim::sim_options schedule{.seed = seed, .delay_ns_max = 5000, .reorder_percent = 20};
    run_simulated(5, schedule, [&](world& w) {
      handlers all;
      auto memory = make_window(w, all, {.adapts = seed % 2 == 0});
      const attached_space first(w, memory, 60, 0), second(w, memory, 60, 0);
      const std::vector<std::int32_t> in = inputs(20, w.rank());
      std::vector<std::int32_t> out(in.size());
      memory.lock_all();
      if (w.rank() != 0) memory.am(all.absolute, 0, 0, segment_ints, 20, std::span(in), std::span(out));
      memory.unlock_all();
      if (w.rank() != 0) expect_absolute(in, out, 0);
    });
  }
}

// Space of 300 bytes in two buffers is enough in sum, and too little for one part of a segment.
TEST(am_schedules, segment_larger_than_buffers) {
  run_simulated(2, {}, [](world& w) {
    handlers all;
    auto memory = make_window(w, all, {});
    const attached_space small(w, memory, 100), large(w, memory, 200);
    const std::vector<std::byte> in(250);
    std::vector<std::byte> out(180);
    memory.lock_all();
    const auto send = [&](am_operation what, std::size_t inputs, std::size_t outputs) {
      memory.am(what, 1 - w.rank(), 0, 0, 1, std::span(in).first(inputs), std::span(out).first(outputs));
    };
    send(all.echo, 90, 180);  // in different buffers
    memory.flush_all();
    send(all.nothing, 250, 10);
    EXPECT_THROW(memory.flush_all(), error);
    send(all.echo, 180, 180);
    EXPECT_THROW(memory.flush_all(), error);
    memory.unlock_all();
  });
}

// A request for much space is served before later ones, also if others have credit.
TEST(am_schedules, large_segment_among_small_ones) {
  constexpr std::size_t small_messages = 300, large_bytes = 1500;
  for (const bool adapts : {false, true}) {
    std::uint64_t small_calls = 0, small_before = 0;
    run_simulated(8, {}, [&](world& w) {
      am_table table;
      const am_operation small = table.add([&](const am_call&) { ++small_calls; });
      const am_operation large = table.add([&](const am_call&) { small_before = small_calls - small_before; });
      const am_options messages{.handlers = &table, .system_bytes = 0, .adapts = adapts};
      auto memory = w.allocate_window<int>(1, {.name = "am", .messages = messages});
      const attached_space buffer(w, memory, large_bytes + 500, 0);
      const std::vector<std::byte> in(large_bytes);
      memory.lock_all();
      if (w.rank() > 1) {
        for (std::size_t i = 0; i < small_messages; ++i)
          memory.am(small, 0, 0, 0, 1, std::span(in).first(40), std::span<char>());
      }
      if (w.rank() == 1) {
        while (small_calls < 100) w.poll();
        small_before = small_calls;
        memory.am(large, 0, 0, 0, 1, std::span(in), std::span<char>());
      }
      memory.unlock_all();
    });
    EXPECT_EQ(small_calls, 6 * small_messages);
    EXPECT_LE(small_before, 150u) << adapts;  // what was under way
  }
}

// An origin that has credit computes for a long time.
class stopped_origin : public ::testing::Test {
 protected:
  static constexpr std::uint64_t stop_ns = 1'000'000, later_ns = stop_ns + 100'000, stopped_ns = 2'000'000'000;

  /// Rank 1 gets as much credit as it can, and is stopped before the others call `then`; it calls it afterwards.
  void run(bool adapts, const std::function<void(world&, handlers&, window<std::int32_t>&)>& then) {
    const fabric::sim::sim_options schedule{
        .stopped_ranks = {{.rank = 1, .from_ns = stop_ns, .until_ns = stop_ns + stopped_ns}}};
    run_simulated(3, schedule, [&](world& w) {
      handlers all;
      auto memory = make_window(w, all, {.unit_bytes = 40, .adapts = adapts});
      if (w.rank() == 0) memory.attach_buffer(buffer_);
      w.barrier();
      if (w.rank() == 1) send(w, all, memory, 100);
      EXPECT_EQ(memory.counters_of(0).credit_bytes > 700, adapts && w.rank() == 1);
      ASSERT_LT(w.now_ns(), stop_ns);
      poll_until(w, later_ns);
      then(w, all, memory);
    });
  }
  static void send(world& w, handlers& all, window<std::int32_t>& memory, std::size_t segments) {
    const std::vector<std::int32_t> in = inputs(segments, w.rank());
    std::vector<std::int32_t> out(in.size());
    memory.lock(lock_kind::shared, 0);
    memory.am(all.absolute, 0, 0, segment_ints, segments, std::span(in), std::span(out));
    memory.unlock(0);
    expect_absolute(in, out, 0);
  }

  std::vector<std::byte> buffer_ = std::vector<std::byte>(800);  ///< of rank 0
};

TEST_F(stopped_origin, detach_returns_at_once) {
  std::vector<std::byte> other(200);
  run(true, [&](world& w, handlers& all, window<std::int32_t>& memory) {
    if (w.rank() == 0) {
      const std::uint64_t begin_ns = w.now_ns();
      memory.detach_buffer(buffer_.data());
      EXPECT_LT(w.now_ns() - begin_ns, 1'000'000u);
      memory.attach_buffer(other);
    }
    if (w.rank() == 1) send(w, all, memory, 30);
  });
}

TEST_F(stopped_origin, others_as_fast_as_without_credit) {
  std::array<std::uint64_t, 2> time_ns{};
  for (const bool adapts : {false, true}) {
    run(adapts, [&](world& w, handlers& all, window<std::int32_t>& memory) {
      if (w.rank() != 2) return;
      const std::uint64_t begin_ns = w.now_ns();
      send(w, all, memory, 100);
      time_ns[adapts ? 1 : 0] = w.now_ns() - begin_ns;
    });
  }
  EXPECT_LE(time_ns[1], time_ns[0]);
  EXPECT_LT(time_ns[1], 1'000'000u);
}

// Figure 3 of the paper, with a target that detaches at any time after the flush and frees the memory.
TEST(am_schedules, buffer_detached_after_flush) {
  for (std::uint64_t seed = 1; seed <= testing::cases(50); ++seed) {
    const fabric::sim::sim_options schedule{.seed = seed, .delay_ns_max = 20'000, .reorder_percent = 20};
    run_simulated(2, schedule, [&](world& w) {
      handlers all;
      auto memory = make_window(w, all, {.unit_bytes = 40, .adapts = seed % 2 == 0});
      auto first = std::make_unique<std::array<std::byte, 400>>(),
           second = std::make_unique<std::array<std::byte, 400>>();
      if (w.rank() == 1) {
        memory.attach_buffer(*first);
        memory.attach_buffer(*second);
      }
      std::uint64_t is_flushed = 0;
      auto told = w.create_window(std::span(&is_flushed, 1));
      w.barrier();
      if (w.rank() == 1) {
        told.lock(lock_kind::shared, 1);
        while (std::atomic_ref(is_flushed).load() == 0) w.poll();
        told.unlock(1);
        poll_until(w, w.now_ns() + seed * 1777 % 40'000);
        for (bool is_used = true; is_used;) {  // by messages after the flush
          try {
            memory.detach_buffer(first->data());
            is_used = false;
          } catch (const window_error&) {
            w.poll();
          }
        }
        first = nullptr;
      } else {
        const std::vector<std::int32_t> in = inputs(30, w.rank());
        std::vector<std::int32_t> out(in.size());
        memory.lock(seed % 4 < 2 ? lock_kind::exclusive : lock_kind::shared, 1);
        const auto send = [&] { memory.am(all.absolute, 1, 0, segment_ints, 30, std::span(in), std::span(out)); };
        send();
        memory.flush(1);
        told.lock(lock_kind::shared, 1);
        told.put(1, 0, 1);
        told.unlock(1);
        for (int i = 0; i < 5; ++i) send();
        memory.unlock(1);
        expect_absolute(in, out, 1);
      }
      w.barrier();
      if (w.rank() == 1) memory.detach_buffer(second->data());
    });
    if (HasFailure()) return;
  }
}

// While the input of a unit arrives, its buffer cannot be detached.
TEST(am_schedules, buffer_of_arriving_unit_not_detached) {
  run_simulated(2, {}, [](world& w) {
    handlers all;
    auto memory = make_window(w, all, {});
    attached_space buffer(w, memory, std::size_t{1} << 20, 1);
    const std::vector<std::byte> in(std::size_t{1} << 19);
    std::vector<std::byte> out(in.size(), std::byte{1});
    if (w.rank() == 0) {
      memory.lock(lock_kind::shared, 1);
      memory.am(all.echo, 1, 0, 0, 1, std::span(in), std::span(out));
      memory.unlock(1);
      EXPECT_EQ(in, out);
    } else {
      poll_until(w, w.now_ns() + 20'000);
      testing::expect_error([&] { memory.detach_buffer(buffer.data()); }, {"active messages use the buffer"});
    }
  });
}

// Who gets the lock has all space: the messages of the one before have been carried out.
TEST(am_schedules, all_space_after_lock_passes) {
  constexpr std::size_t epochs = 500;
  for (const bool adapts : {false, true}) {
    run_simulated(3, {.delay_ns_max = 2000}, [&](world& w) {
      handlers all;
      auto memory = make_window(w, all, {.unit_bytes = 4000, .adapts = adapts});
      const attached_space buffer(w, memory, 4000, 0);
      const std::vector<std::int32_t> in = inputs(100, w.rank());
      std::vector<std::int32_t> out(in.size());
      for (std::size_t i = 0; w.rank() > 0 && i < epochs; ++i) {
        memory.lock(lock_kind::exclusive, 0);
        memory.am(all.absolute, 0, 0, segment_ints, 100, std::span(in), std::span(out));
        memory.unlock(0);
        expect_absolute(in, out, 0);
      }
      const am_counters counters = memory.counters_of(0);
      EXPECT_EQ(counters.units, w.rank() == 0 ? 0 : epochs);  // none was divided
      EXPECT_EQ(counters.queries, w.rank() == 0 ? 0 : epochs);
      EXPECT_EQ(counters.handshakes + counters.refusals, 0u);
    });
  }
}

// All ranks send to all, which have space for one segment.
TEST(am_schedules, whoever_waits_serves) {
  for (const rank_t ranks : {rank_t{4}, rank_t{64}}) {
    run_simulated(ranks, {.credits = 1}, [](world& w) {
      handlers all;
      auto memory = make_window(w, all, {});
      const attached_space buffer(w, memory, 40);
      const std::vector<std::int32_t> in = inputs(2, w.rank());
      std::vector<std::vector<std::int32_t>> out(static_cast<std::size_t>(w.size()),
                                                 std::vector<std::int32_t>(in.size()));
      memory.fence(window_assert::no_precede);
      for (const rank_t to : everyone(w))
        memory.am(all.absolute, to, 0, segment_ints, 2, std::span(in), std::span(out[static_cast<std::size_t>(to)]));
      memory.fence(window_assert::no_succeed);
      for (const rank_t to : everyone(w)) expect_absolute(in, out[static_cast<std::size_t>(to)], to);
    });
  }
}

// 100,000 messages of 7 origins in one epoch, and 64 KiB of space.
TEST(am_schedules, flood_of_one_target) {
  constexpr std::size_t messages_of_rank = 100'000 / 7 / testing::sanitizer_divisor;
  run_simulated(8, {}, [](world& w) {
    handlers all;
    auto memory = make_window(w, all, {});
    const attached_space buffer(w, memory, std::size_t{64} << 10, 0);
    const std::vector<std::int32_t> in = inputs(3, w.rank());
    std::vector<std::int32_t> out(in.size() * messages_of_rank);
    memory.lock_all();
    for (std::size_t i = 0; w.rank() > 0 && i < messages_of_rank; ++i)
      memory.am(all.absolute, 0, 0, segment_ints, 3, std::span(in), std::span(out).subspan(i * in.size(), in.size()));
    memory.unlock_all();
    for (std::size_t i = 0; w.rank() > 0 && i < messages_of_rank; ++i)
      expect_absolute(in, std::span(out).subspan(i * in.size(), in.size()), 0);
    EXPECT_LE(memory.counters_of(0).handshakes, messages_of_rank / 20);
  });
}

// A window does not end before the answers to its requests have arrived, also if packets overtake each other.
TEST(am_schedules, requests_answered_before_window_ends) {
  for (std::uint64_t seed = 1; seed <= testing::cases(50); ++seed) {
    const fabric::sim::sim_options schedule{.seed = seed, .delay_ns_max = 100'000, .reorder_percent = 20};
    run_simulated(2, schedule, [&](world& w) {
      handlers all;
      const am_options messages{.system_bytes = 40, .unit_bytes = 40};
      std::vector<std::byte> buffer(400);
      const std::vector<std::byte> in(80);
      for (int i = 0; i < 100; ++i) {
        auto memory = make_window(w, all, messages);
        memory.attach_buffer(buffer);
        w.barrier();
        if (w.rank() != 0) continue;
        memory.lock(i % 2 == 0 ? lock_kind::exclusive : lock_kind::shared, 1);
        memory.am(all.nothing, 1, 0, 0, 2, std::span(in), std::span<char>());
        memory.unlock(1);
      }
    });
    if (HasFailure()) return;
  }
}

// A large message costs the origins of small ones their credit only while it is recent.
TEST(am_schedules, credit_after_large_message) {
  run_simulated(3, {}, [](world& w) {
    handlers all;
    auto memory = make_window(w, all, {});
    constexpr std::size_t large = 100'000;
    const attached_space buffer(w, memory, large, 0);
    const std::vector<std::byte> in(large);
    const auto send = [&](std::size_t bytes, int count) {
      memory.lock(lock_kind::shared, 0);
      for (int i = 0; i < count; ++i) memory.am(all.nothing, 0, 0, 0, 1, std::span(in).first(bytes), std::span<char>());
      memory.unlock(0);
    };
    if (w.rank() == 1) send(large, 1);
    w.barrier();
    if (w.rank() == 2) {
      send(100, 2000);
      EXPECT_LE(memory.counters_of(0).handshakes, 20u);
      send(large, 1);
      const std::uint64_t before = memory.counters_of(0).handshakes;
      send(100, 2000);
      EXPECT_LE(memory.counters_of(0).handshakes, before + 20);
    }
  });
}

// In a checked window, only calls of the program find out that a target has posted.
TEST(am_schedules, queue_full_before_post) {
  for (const bool checked : {false, true}) {
    run_simulated(2, {}, [&](world& w) {
      handlers all;
      window_options options = all.options();
      options.checked = checked;
      options.messages.messages_max = 4;
      auto words = w.allocate_window<std::uint64_t>(1, options);
      w.barrier();
      if (w.rank() == 0) {
        words.start(std::vector<rank_t>{1});
        for (int i = 0; i < 20; ++i) words.am(all.count, 1, 0, 1, 1, std::span<const char>(), std::span<char>());
        words.complete();
      } else {
        poll_until(w, w.now_ns() + 1'000'000);
        words.post(std::vector<rank_t>{0});
        words.wait();
        EXPECT_EQ(words.local()[0], 20u);
      }
      w.barrier();
    });
  }
}

// Segments that fit the system buffer and others that do not, in turns, are carried out in their order.
TEST(am_schedules, segments_around_size_of_system_buffer) {
  for (const bool adapts : {false, true}) {
    run_simulated(3, {.delay_ns_max = 3000}, [&](world& w) {
      std::vector<std::size_t> seen;
      am_table table;
      const am_operation note = table.add([&](const am_call& call) {
        for (std::size_t i = 0; i < call.segments; ++i) seen.push_back(call.input.size() / call.segments);
      });
      auto memory = w.allocate_window<int>(1, {.name = "am", .messages = {.handlers = &table, .adapts = adapts}});
      const attached_space buffer(w, memory, 20'000, 0);
      const std::vector<std::byte> in(8 * 1024 + 100);
      std::vector<std::size_t> sent;
      memory.lock_all();
      for (std::size_t i = 0; w.rank() == 1 && i < 100; ++i) {
        sent.push_back(8 * 1024 - 100 + i * 57 % 200);
        memory.am(note, 0, 0, 0, 1, std::span(in).first(sent.back()), std::span<char>());
      }
      for (std::size_t i = 0; w.rank() == 2 && i < 100; ++i)
        memory.am(note, 0, 0, 0, 1, std::span(in).first(1 + i), std::span<char>());
      memory.unlock_all();
      w.barrier();
      std::vector<std::size_t> large, small;
      std::ranges::partition_copy(seen, std::back_inserter(large), std::back_inserter(small),
                                  [](std::size_t bytes) { return bytes > 100; });
      const std::uint64_t sum = w.sum(w.rank() == 1 ? std::accumulate(sent.begin(), sent.end(), std::uint64_t{0}) : 0);
      if (w.rank() == 0) {
        EXPECT_EQ(std::accumulate(large.begin(), large.end(), std::uint64_t{0}), sum);
        EXPECT_EQ(small.size(), 100u);
        EXPECT_TRUE(std::ranges::is_sorted(small));
        for (std::size_t i = 0; i < large.size(); ++i) EXPECT_EQ(large[i], 8 * 1024 - 100 + i * 57 % 200) << i;
      }
    });
  }
}

// The transfer of a unit and the handler of the unit before it overlap.
TEST(am_schedules, transfers_overlap_handlers) {
  static constexpr std::size_t units = 50, bytes = 4000;  // a packet
  static constexpr std::uint64_t ps_of_byte = 2000;
  const fabric::sim::sim_options network{
      .overhead_ns = 10, .byte_ps = ps_of_byte, .handler = {.ns = 0, .byte_ps = ps_of_byte}};
  run_simulated(2, network, [](world& w) {
    handlers all;
    am_options messages;
    messages.unit_bytes = bytes;
    const am_guarantee space{.target = 1, .bytes = units * bytes};
    if (w.rank() == 0) messages.guarantees = std::span(&space, 1);
    auto memory = make_window(w, all, messages);
    std::vector<std::byte> buffer(units * bytes);
    memory.attach_buffer(buffer);
    w.barrier();
    if (w.rank() == 0) {
      const std::vector<std::byte> in(units * bytes);
      const std::uint64_t begin_ns = w.now_ns();
      memory.lock(lock_kind::shared, 1);
      memory.am(all.nothing, 1, 0, 0, units, std::span(in), std::span<char>());
      memory.unlock(1);
      const std::uint64_t all_ns = w.now_ns() - begin_ns, one_ns = bytes * ps_of_byte / 1000;
      EXPECT_EQ(memory.counters_of(1).units, units);
      EXPECT_LE(all_ns, (units + 2) * one_ns * 11 / 10);
    }
    w.barrier();
  });
}

}  // namespace
}  // namespace amity
