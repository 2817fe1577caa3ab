/// Active messages on windows: results and errors, on each path.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/window/dynamic_window.hpp"
#include "amity/window/window_error.hpp"
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
using testing::make_numbers;
using testing::next_of;
using testing::previous_of;
using testing::segment_ints;
using testing::setting_changes;
using handlers = testing::message_handlers;

class active_messages_on_windows : public testing::on_paths {};

INSTANTIATE_TEST_SUITE_P(, active_messages_on_windows, ::testing::ValuesIn(testing::jobs_of_windows({1, 2, 3, 4}, 3)),
                         testing::name_of_job);

TEST_P(active_messages_on_windows, results_in_each_epoch) {
  run([](world& w) {
    handlers all;
    auto memory = make_numbers(w, all);
    const std::vector<rank_t> next{next_of(w)}, previous{previous_of(w)};
    const rank_t to = next.front();
    const std::vector<std::int32_t> in = inputs(3, w.rank());
    const auto send = [&](std::vector<std::int32_t>& out) {
      out.assign(in.size(), 0);
      memory.am(all.absolute, to, 0, segment_ints, 3, std::span(in), std::span(out));
    };
    std::vector<std::int32_t> out;
    memory.fence(window_assert::no_precede);
    send(out);
    memory.fence(window_assert::no_succeed);
    expect_absolute(in, out, to);

    memory.post(previous);
    memory.start(next);
    send(out);
    memory.complete();
    expect_absolute(in, out, to);
    memory.wait();

    for (const lock_kind kind : {lock_kind::shared, lock_kind::exclusive}) {
      memory.lock(kind, to);
      send(out);
      memory.unlock(to);
      expect_absolute(in, out, to);
    }
    memory.lock_all();
    send(out);
    memory.flush(to);
    expect_absolute(in, out, to);
    send(out);
    memory.flush_local(to);
    expect_absolute(in, out, to);
    send(out);
    memory.unlock_all();
    expect_absolute(in, out, to);
    w.barrier();
  });
}

// The division into units is the runtime's.
TEST_P(active_messages_on_windows, any_division_into_units) {
  constexpr std::size_t segments = 500;
  for (const char* const unit_bytes : {"0", "40", "80", "280", "8192", "1000000"}) {
    run(
        [](world& w) {
          handlers all;
          auto memory = make_numbers(w, all);
          const attached_space buffer(w, memory, 3000);  // nothing uses it at the end
          const std::vector<std::int32_t> in = inputs(segments, w.rank());
          std::vector<std::int32_t> out(in.size());
          memory.lock_all();
          for (const rank_t to : everyone(w)) {
            memory.am(all.absolute, to, 0, segment_ints, segments, std::span(in), std::span(out));
            memory.flush(to);
            expect_absolute(in, out, to);
          }
          memory.unlock_all();
        },
        {{"AMITY_AM_UNIT_BYTES", unit_bytes}});
  }
}

TEST_P(active_messages_on_windows, memory_changed_at_fence) {
  run([](world& w) {
    handlers all;
    auto words = w.allocate_window<std::uint64_t>(2, all.options());
    words.fence(window_assert::no_precede);
    for (const rank_t to : everyone(w)) {
      for (int i = 0; i < 50; ++i) words.am(all.count, to, 1, 1, 7, std::span<const char>(), std::span<char>());
    }
    words.fence(window_assert::no_succeed);
    EXPECT_EQ(words.local()[0], 0u);
    EXPECT_EQ(words.local()[1], 350u * static_cast<std::uint64_t>(w.size()));
    w.barrier();
  });
}

TEST_P(active_messages_on_windows, larger_than_buffers_and_packets) {
  run([](world& w) {
    handlers all;
    auto memory = w.allocate_window<char>(1, all.options());
    constexpr std::size_t segment = 30'000, segments = 20;
    const attached_space first(w, memory, 2 * segment), second(w, memory, segment + 1);
    std::vector<std::uint16_t> in(segment / 2 * segments), out(in.size());
    std::iota(in.begin(), in.end(), static_cast<std::uint16_t>(w.rank()));
    memory.lock_all();
    for (const rank_t to : everyone(w)) {
      std::ranges::fill(out, 0);
      memory.am(all.echo, to, 0, 0, segments, std::span(std::as_const(in)), std::span(out));
      memory.flush_all();
      EXPECT_EQ(in, out);
    }
    memory.unlock_all();
  });
}

TEST_P(active_messages_on_windows, vector_counts_returned) {
  for (const char* const pack_below : {"auto", "0", "1.0"}) {
    run(
        [](world& w) {
          handlers all;
          auto memory = w.allocate_window<char>(1, all.options());
          constexpr std::size_t segments = 300, most = 9;
          const attached_space buffer(w, memory, 500);
          const rank_t to = next_of(w);
          std::vector<std::uint32_t> in(segments), out(segments * most, 77), counts(segments, 99);
          for (std::size_t i = 0; i < segments; ++i) in[i] = static_cast<std::uint32_t>((i * 7) % (most + 1));
          memory.lock(lock_kind::shared, to);
          memory.amv(all.repeat, to, 0, 0, segments, std::span<const std::uint32_t>(in), std::span(out),
                     std::span(counts));
          memory.flush(to);
          EXPECT_EQ(counts, in);
          for (std::size_t i = 0; i < segments; ++i) {
            for (std::size_t j = 0; j < in[i]; ++j) ASSERT_EQ(out[i * most + j], in[i]);
          }
          EXPECT_EQ(memory.counters_of(to).count_bytes, 4 * segments);
          memory.unlock(to);
        },
        {{"AMITY_AM_PACK_BELOW", pack_below}});
  }
}

// Errors are those of the call at the origin that completes the message; the window remains usable.

TEST_P(active_messages_on_windows, failed_handler_reported) {
  run([](world& w) {
    handlers all;
    auto memory = make_numbers(w, all);
    const rank_t to = next_of(w);
    const std::vector<std::int32_t> in = inputs(1, w.rank());
    std::vector<std::int32_t> out(in.size());
    std::vector<std::uint32_t> counts(1);
    memory.lock(lock_kind::shared, to);
    memory.am(all.fails, to, 0, 1, 1, std::span(in), std::span(out));
    testing::expect_error([&] { memory.flush(to); }, {"window::flush", "this handler fails"});
    memory.am(all.fails, to, 0, 1, 1, std::span(in), std::span(out));
    testing::expect_error([&] { memory.flush_local(to); }, {"window::flush_local", "this handler fails"});
    memory.am(all.fails, to, 0, 1, 1, std::span(in), std::span(out));
    testing::expect_error([&] { memory.flush_all(); }, {"window::flush_all", "this handler fails"});
    memory.amv(all.too_many, to, 0, 1, 1, std::span(in), std::span(out), std::span(counts));
    testing::expect_error([&] { memory.flush(to); }, {"window::flush", "1000", "largest is 5"});
    memory.am(all.absolute, to, 0, segment_ints, 1, std::span(in), std::span(out));
    memory.flush(to);
    expect_absolute(in, out, to);
    memory.am(all.fails, to, 0, 1, 1, std::span(in), std::span(out));
    testing::expect_error([&] { memory.unlock(to); }, {"window::unlock", "this handler fails"});
    memory.lock(lock_kind::shared, to);
    memory.unlock(to);
    w.barrier();
  });
}

TEST_P(active_messages_on_windows, small_buffer_reported) {
  run(
      [](world& w) {
        handlers all;
        auto memory = make_numbers(w, all);
        std::array<std::byte, 39> buffer;
        const rank_t to = next_of(w);
        const std::vector<std::int32_t> in = inputs(2, w.rank());
        std::vector<std::int32_t> out(in.size());
        memory.lock(lock_kind::shared, to);
        const auto send = [&] { memory.am(all.absolute, to, 0, segment_ints, 2, std::span(in), std::span(out)); };
        send();
        testing::expect_error([&] { memory.flush(to); }, {"20 bytes of input and 20 of output", "0 attached"});
        memory.unlock(to);
        w.barrier();
        memory.attach_buffer(buffer);
        w.barrier();
        memory.lock(lock_kind::shared, to);
        send();
        testing::expect_error([&] { memory.flush(to); }, {"20 bytes of input and 20 of output", "39 attached"});
        memory.unlock(to);
        w.barrier();
        memory.detach_buffer(buffer.data());
        std::array<std::byte, 40> enough;
        memory.attach_buffer(enough);
        w.barrier();
        memory.lock(lock_kind::shared, to);
        send();
        memory.unlock(to);
        expect_absolute(in, out, to);
        w.barrier();
      },
      {{"AMITY_AM_SYSTEM_BYTES", "0"}});
}

TEST_P(active_messages_on_windows, wrong_arguments_refused) {
  run([](world& w) {
    handlers all;
    auto memory = make_numbers(w, all);
    const std::vector<std::int32_t> in = inputs(2, 0);
    std::vector<std::int32_t> out(in.size());
    std::vector<std::uint32_t> counts(3);
    const auto send = [&](am_operation what, rank_t to, std::size_t index, std::size_t segments) {
      memory.am(what, to, index, 2, segments, std::span(in), std::span(out));
    };
    testing::expect_error([&] { send(all.absolute, 0, 0, 2); }, {"window::am", "lock"});
    memory.lock_all();
    testing::expect_error([&] { send(all.absolute, w.size(), 0, 2); }, {"window::am", std::to_string(w.size())});
    testing::expect_error([&] { send(all.absolute, 0, segment_ints - 1, 2); }, {"out of range", "20 bytes"});
    testing::expect_error([&] { send(all.absolute, 0, 0, 3); }, {"10 elements of input", "3 segments"});
    testing::expect_error([&] { send(all.repeat, 0, 0, 2); }, {"is a vector operation"});
    const auto send_vector = [&](am_operation what) {
      memory.amv(what, 0, 0, 2, 2, std::span(in), std::span(out), std::span(counts));
    };
    testing::expect_error([&] { send_vector(all.absolute); }, {"not a vector operation"});
    testing::expect_error([&] { send_vector(all.repeat); }, {"3 output counts for 2 segments"});
    send(all.absolute, 0, 0, 0);  // without segments, nothing happens
    memory.unlock_all();
    EXPECT_EQ(memory.counters_of(0), am_counters());
    auto without = w.allocate_window<std::int32_t>(4);
    without.lock_all();
    testing::expect_error([&] { without.am(all.absolute, 0, 0, 1, 2, std::span(in), std::span(out)); },
                          {"has no handlers", "window_options::messages"});
    without.unlock_all();
    testing::expect_error([&] { without.attach_buffer({}); }, {"has no handlers"});
    w.barrier();
  });
}

TEST_P(active_messages_on_windows, invalid_buffers_refused) {
  run([](world& w) {
    handlers all;
    auto memory = make_numbers(w, all);
    std::array<std::byte, 100> bytes;
    const std::span<std::byte> whole(bytes);
    memory.attach_buffer(whole.first(50));
    memory.attach_buffer(whole.last(50));
    testing::expect_error([&] { memory.attach_buffer(whole.subspan(49, 2)); }, {"window::attach_buffer", "overlap"});
    testing::expect_error([&] { memory.attach_buffer({}); }, {"window::attach_buffer", "0 bytes"});
    testing::expect_error([&] { memory.detach_buffer(&bytes[1]); }, {"window::detach_buffer", "no buffer begins"});
    memory.detach_buffer(bytes.data());
    testing::expect_error([&] { memory.detach_buffer(bytes.data()); }, {"no buffer begins"});
    memory.attach_buffer(whole.first(50));  // the window ends with both
  });
}

// What messages, puts and accumulates of an epoch have changed is visible after the flush, and to the next holder.
TEST_P(active_messages_on_windows, mixed_with_other_operations) {
  run([](world& w) {
    handlers all;
    auto words = w.allocate_window<std::uint64_t>(3, all.options());
    w.barrier();
    for (std::uint64_t i = 1; i <= 20; ++i) {
      words.lock(lock_kind::exclusive, 0);
      std::array<std::uint64_t, 3> before{}, after{};
      words.get(0, 0, std::span(before));
      words.flush(0);
      words.am(all.count, 0, 0, 1, 1, std::span<const char>(), std::span<char>());
      words.put(0, 1, before[1] + 1);
      words.accumulate(accumulate_op::sum, 0, 2, std::uint64_t{1});
      words.flush(0);
      words.get(0, 0, std::span(after));
      words.unlock(0);
      for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(after[k], before[k] + 1) << k;
    }
    w.barrier();
    if (w.rank() != 0) return;
    words.lock(lock_kind::shared, 0);
    for (const std::uint64_t each : words.local()) EXPECT_EQ(each, 20u * static_cast<std::uint64_t>(w.size()));
    words.unlock(0);
  });
}

TEST_P(active_messages_on_windows, atomic_with_accumulates) {
  run([](world& w) {
    handlers all;
    auto words = w.allocate_window<std::uint64_t>(1, all.options());
    words.lock_all();
    std::uint64_t before = 0;
    constexpr int rounds = 200;
    for (int i = 0; i < rounds; ++i) {
      words.fetch_and_op(accumulate_op::sum, 0, 0, 1, before);
      if (i >= rounds / 4) words.am(all.count, 0, 0, 1, 1, std::span<const char>(), std::span<char>());
    }
    words.unlock_all();
    w.barrier();
    EXPECT_EQ(words.local()[0], w.rank() == 0 ? (rounds + 150u) * static_cast<std::uint64_t>(w.size()) : 0u);
    w.barrier();
  });
}

TEST_P(active_messages_on_windows, window_calls_in_handlers_refused) {
  run([&](world& w) {
    window<std::uint64_t>* words = nullptr;
    am_table table;
    am_operation sends;
    const std::vector<am_operation> wrong{
        table.add([&](const am_call&) { words->lock(lock_kind::shared, 0); }),
        table.add([&](const am_call&) { words->fence(); }),
        sends = table.add(
            [&](const am_call&) { words->am(sends, 0, 0, 1, 1, std::span<const char>(), std::span<char>()); }),
        table.add([&](const am_call&) { words->attach_buffer({}); }),
        table.add([&](const am_call&) { words->detach_buffer(nullptr); }),
        table.add([&](const am_call&) { w.barrier(); }),
    };
    auto made = w.allocate_window<std::uint64_t>(1, {.name = "am", .messages = {.handlers = &table}});
    words = &made;
    w.barrier();
    made.lock_all();
    // Simulated threads of a rank are one thread of the system: a call on the wrong one is not detected.
    const bool detects_thread = !GetParam().helped || GetParam().kind.name != "sim";
    for (const am_operation& each : wrong) {
      if (each.number >= sends.number && !detects_thread) continue;
      made.am(each, next_of(w), 0, 1, 1, std::span<const char>(), std::span<char>());
      testing::expect_error([&] { made.flush_all(); }, {"window::flush_all", "handler"});
    }
    made.unlock_all();
    w.barrier();
  });
}

TEST_P(active_messages_on_windows, writes_seen_by_checked_window) {
  run([](world& w) {
    handlers all;
    auto words = w.allocate_window<std::uint64_t>(1, all.options());
    words.fence(window_assert::no_precede);
    words.am(all.count, next_of(w), 0, 1, 3, std::span<const char>(), std::span<char>());
    words.fence();
    words.fence(window_assert::no_store | window_assert::no_succeed);  // it was changed by a message, not by a store
    EXPECT_EQ(words.local()[0], 3u);
    w.barrier();
  });
}

TEST_P(active_messages_on_windows, dynamic_window_supported) {
  run([](world& w) {
    handlers all;
    auto words = w.create_dynamic_window(all.options());
    std::uint64_t own = 0;
    words.attach(std::span(&own, 1));
    const std::vector<std::uint64_t> places =
        testing::exchange_words(w, static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&own)));
    const rank_t to = next_of(w);
    auto as_words = words.as<std::uint64_t>();
    words.lock(lock_kind::shared, to);
    as_words.am(all.count, to, places[static_cast<std::size_t>(to)], 1, 3, std::span<const char>(), std::span<char>());
    words.flush(to);
    as_words.am(all.count, to, places[static_cast<std::size_t>(to)] + 8, 1, 3, std::span<const char>(),
                std::span<char>());
    testing::expect_error([&] { words.flush(to); }, {"window::flush", "attached"});
    words.unlock(to);
    w.barrier();
    EXPECT_EQ(own, 3u);
    // A granted unit whose persistent memory is not attached gives its space back.
    std::array<std::byte, 100> buffer;
    words.attach_buffer(buffer);
    const std::vector<std::uint64_t> large(1500);
    w.barrier();
    words.lock(lock_kind::shared, to);
    as_words.am(all.count, to, places[static_cast<std::size_t>(to)] + 8, 1, 1500, std::span(large), std::span<char>());
    testing::expect_error([&] { words.flush(to); }, {"window::flush", "attached"});
    words.unlock(to);
    w.barrier();
    words.detach_buffer(buffer.data());
    words.detach(&own);
    w.barrier();
  });
}

}  // namespace
}  // namespace amity
