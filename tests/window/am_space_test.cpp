/// Space for active messages at their target, on each path: which units need requests, and what becomes of buffers.

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

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
using testing::segment_ints;
using handlers = testing::message_handlers;

class space_of_messages : public testing::on_paths {};

INSTANTIATE_TEST_SUITE_P(, space_of_messages, ::testing::ValuesIn(testing::jobs_of_windows({1, 2, 3, 4}, 3)),
                         testing::name_of_job);

/// 20 bytes of input and 20 of output in a segment: a system buffer of 8 KiB has space for 204.
am_counters counters_of_search(world& w, lock_kind kind, std::size_t segments, std::size_t buffer_bytes,
                               std::uint64_t guaranteed = 0) {
  handlers all;
  window_options options = all.options();
  std::vector<am_guarantee> guarantees;
  for (const rank_t each : everyone(w)) guarantees.push_back({each, guaranteed});
  if (guaranteed > 0) options.messages.guarantees = guarantees;
  auto memory = w.allocate_window<std::int32_t>(segment_ints, options);
  std::vector<std::byte> buffer(buffer_bytes);
  if (buffer_bytes > 0) memory.attach_buffer(buffer);
  for (std::size_t i = 0; i < segment_ints; ++i) memory.local()[i] = -static_cast<std::int32_t>(i) - w.rank();
  w.barrier();
  const std::vector<std::int32_t> in = inputs(segments, w.rank());
  std::vector<std::int32_t> out(in.size());
  const rank_t to = next_of(w);
  if (w.rank() == 0) {
    kind == lock_kind::all ? memory.lock_all() : memory.lock(kind, to);
    memory.am(all.absolute, to, 0, segment_ints, segments, std::span(in), std::span(out));
    kind == lock_kind::all ? memory.unlock_all() : memory.unlock(to);
    expect_absolute(in, out, to);
  }
  w.barrier();
  const am_counters counters = memory.counters_of(to);
  w.barrier();
  if (buffer_bytes > 0 && guaranteed == 0) memory.detach_buffer(buffer.data());
  return counters;
}

TEST_P(space_of_messages, system_buffer_without_handshake) {
  for (const char* const unit_bytes : {"0", "40"}) {
    run(
        [](world& w) {
          for (const lock_kind kind : {lock_kind::shared, lock_kind::exclusive, lock_kind::all}) {
            const am_counters counters = counters_of_search(w, kind, 204, 0);
            EXPECT_EQ(counters.handshakes + counters.queries, 0u);
            EXPECT_EQ(counters.input_bytes, w.rank() == 0 ? 204u * 20 : 0u);
          }
        },
        {{"AMITY_AM_UNIT_BYTES", unit_bytes}});
  }
}

// More than the system buffer, and no other: units wait for answers.
TEST_P(space_of_messages, system_buffer_reused_under_shared_lock) {
  for (const char* const unit_bytes : {"0", "40"}) {
    run(
        [](world& w) {
          for (const lock_kind kind : {lock_kind::shared, lock_kind::exclusive, lock_kind::all}) {
            const am_counters counters = counters_of_search(w, kind, 700, 0);
            EXPECT_EQ(counters.output_bytes, w.rank() == 0 ? 700u * 20 : 0u);
          }
        },
        {{"AMITY_AM_UNIT_BYTES", unit_bytes}, {"AMITY_AM_SYSTEM_BYTES", "400"}});
  }
}

TEST_P(space_of_messages, exclusive_lock_queries_once) {
  run(
      [](world& w) {
        const auto queries = [&](lock_kind kind) { return counters_of_search(w, kind, 1000, 8000).queries; };
        const std::uint64_t own = w.rank() == 0 ? 1 : 0;
        EXPECT_EQ(queries(lock_kind::exclusive), own);
        EXPECT_EQ(queries(lock_kind::shared), 0u);
        EXPECT_EQ(queries(lock_kind::all), 0u);
        const am_counters counters = counters_of_search(w, lock_kind::exclusive, 1000, 8000);
        EXPECT_EQ(counters.handshakes, 0u);
      },
      {{"AMITY_AM_UNIT_BYTES", "40"}, {"AMITY_AM_SYSTEM_BYTES", "0"}});
}

TEST_P(space_of_messages, base_handshake_per_unit) {
  run(
      [](world& w) {
        const am_counters counters = counters_of_search(w, lock_kind::exclusive, 100, 8000);
        EXPECT_EQ(counters.queries, 0u);
        EXPECT_EQ(counters.handshakes, w.rank() == 0 ? 100u : 0u);
      },
      {{"AMITY_AM_UNIT_BYTES", "40"},
       {"AMITY_AM_DETECT_EXCLUSIVE", "0"},
       {"AMITY_AM_SYSTEM_BYTES", "0"},
       {"AMITY_AM_ADAPTIVE", "0"}});
}

TEST_P(space_of_messages, guarantee_without_handshake) {
  run(
      [](world& w) {
        const std::size_t all = 400 * static_cast<std::size_t>(w.size());
        for (const lock_kind kind : {lock_kind::shared, lock_kind::exclusive}) {
          const am_counters counters = counters_of_search(w, kind, 1000, all, 400);
          EXPECT_EQ(counters.handshakes + counters.queries, 0u);
        }
      },
      {{"AMITY_AM_UNIT_BYTES", "40"}, {"AMITY_AM_SYSTEM_BYTES", "0"}});
}

// What is guaranteed may lie in several buffers. A unit must fit into one; if a segment does not, that is an error.
TEST_P(space_of_messages, guarantee_in_several_buffers) {
  run(
      [](world& w) {
        handlers all;
        window_options options = all.options();
        const rank_t to = next_of(w);
        const am_guarantee own{.target = to, .bytes = 800};
        options.messages.guarantees = std::span(&own, 1);
        auto memory = w.allocate_window<std::int32_t>(segment_ints, options);
        std::array<std::byte, 400> first, second;
        memory.attach_buffer(first);
        memory.attach_buffer(second);
        w.barrier();
        const std::vector<std::int32_t> in(120, 7), large(125);
        std::vector<std::int32_t> out(in.size());
        memory.lock(lock_kind::shared, to);
        memory.am(all.echo, to, 0, 0, 4, std::span(in), std::span(out));  // 240 bytes in a segment, and units of two
        memory.flush(to);
        EXPECT_EQ(in, out);
        memory.am(all.nothing, to, 0, 0, 1, std::span(large), std::span(out).first(10));
        testing::expect_error([&] { memory.flush(to); }, {"500 bytes of input and 40 of output", "largest buffer"});
        memory.am(all.echo, to, 0, 0, 4, std::span(in), std::span(out));
        memory.unlock(to);
        w.barrier();
      },
      {{"AMITY_AM_SYSTEM_BYTES", "0"}, {"AMITY_AM_UNIT_BYTES", "480"}});
}

// Exactly what is needed, at an address that suits no type: handlers get memory that is aligned.
TEST_P(space_of_messages, exact_space_at_odd_address) {
  run(
      [](world& w) {
        am_table table;
        const am_operation add = table.add([](const am_call& call) {
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(call.input.data()) % alignof(double), 0u);
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(call.output.data()) % alignof(double), 0u);
          for (std::size_t i = 0; i < call.input_as<double>().size(); ++i)
            call.output_as<double>()[i] = call.input_as<double>()[i] + 1;
        });
        constexpr std::size_t count = 100;
        const rank_t to = next_of(w);
        const am_guarantee own{.target = to, .bytes = 2 * count * sizeof(double)};
        window_options options{.name = "am", .messages = {.handlers = &table}};
        options.messages.guarantees = std::span(&own, 1);
        auto memory = w.allocate_window<int>(1, options);
        alignas(double) std::array<std::byte, 2 * count * sizeof(double) + 1> bytes;
        memory.attach_buffer(std::span(bytes).last(bytes.size() - 1));
        w.barrier();
        std::vector<double> in(count), out(count);
        std::iota(in.begin(), in.end(), 0.0);
        memory.lock(lock_kind::shared, to);
        memory.am(add, to, 0, 0, count, std::span(std::as_const(in)), std::span(out));
        memory.unlock(to);
        for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(out[i], static_cast<double>(i + 1));
        EXPECT_EQ(memory.counters_of(to).handshakes + memory.counters_of(to).refusals, 0u);
        w.barrier();
      },
      {{"AMITY_AM_SYSTEM_BYTES", "0"}});
}

// The program of Figure 3 of the paper.
TEST_P(space_of_messages, remaining_buffer_used_after_detach) {
  for (const bool adapts : {false, true}) {
    run(
        [&](world& w) {
          handlers all;
          auto memory = make_numbers(w, all);
          std::vector<std::byte> first(100), second(200);
          const rank_t to = w.size() - 1;
          if (w.rank() == to) {
            memory.attach_buffer(first);
            memory.attach_buffer(second);
          }
          w.barrier();
          const std::vector<std::int32_t> in = inputs(3, w.rank());
          std::vector<std::int32_t> out(in.size());
          if (w.rank() == 0) memory.lock(lock_kind::exclusive, to);
          const auto send = [&] { memory.am(all.absolute, to, 0, segment_ints, 3, std::span(in), std::span(out)); };
          if (w.rank() == 0) {
            for (int i = 0; i < 3; ++i) send();
            memory.flush(to);
          }
          w.barrier();
          if (w.rank() == to) {
            memory.detach_buffer(first.data());
            std::vector<std::byte>().swap(first);
          }
          w.barrier();
          if (w.rank() == 0) {
            for (int i = 0; i < 2; ++i) send();
            memory.unlock(to);
            expect_absolute(in, out, to);
            const am_counters counters = memory.counters_of(to);
            EXPECT_EQ(counters.handshakes, 0u);
            EXPECT_EQ(counters.queries, 2u);
            EXPECT_EQ(counters.refusals > 0, adapts);  // in place of the second query
          }
          w.barrier();
        },
        {{"AMITY_AM_SYSTEM_BYTES", "0"}, {"AMITY_AM_ADAPTIVE", adapts ? "1" : "0"}});
  }
}

// A list stays valid after a flush if nothing was detached.
TEST_P(space_of_messages, list_kept_after_flush) {
  struct variant {
    bool adapts;
    bool may_detach;
    std::uint64_t queries;
  };
  for (const variant& each : {variant{true, true, 1}, variant{false, true, 2}, variant{false, false, 1}}) {
    run(
        [&](world& w) {
          handlers all;
          window_options options = all.options();
          options.messages.adapts = each.adapts;
          options.messages.may_detach = each.may_detach;
          auto memory = w.allocate_window<std::int32_t>(segment_ints, options);
          const attached_space buffer(w, memory, 200);
          const std::vector<std::int32_t> in = inputs(3, w.rank());
          std::vector<std::int32_t> out(in.size());
          const rank_t to = next_of(w);
          memory.lock(lock_kind::exclusive, to);
          for (int i = 0; i < 2; ++i) {
            memory.am(all.echo, to, 0, 0, 3, std::span(in), std::span(out));
            memory.flush(to);
            EXPECT_EQ(in, out);
          }
          memory.unlock(to);
          EXPECT_EQ(memory.counters_of(to).queries, each.queries);
          EXPECT_EQ(memory.counters_of(to).handshakes, 0u);
          w.barrier();
        },
        {{"AMITY_AM_SYSTEM_BYTES", "0"}, {"AMITY_AM_ADAPTIVE", testing::credit_switch()}});
  }
}

// Credit

TEST_P(space_of_messages, counters_in_stall_report) {
  run(
      [](world& w) {
        handlers all;
        auto memory = make_numbers(w, all);
        const attached_space buffer(w, memory, 40);
        const std::vector<std::int32_t> in = inputs(2000, w.rank());
        std::vector<std::int32_t> out(in.size());
        const rank_t to = next_of(w);
        memory.lock_all();
        memory.am(all.absolute, to, 0, segment_ints, 2000, std::span(in), std::span(out));
        testing::expect_parts(w.endpoint().stall_report("a test", 0),
                              {"active messages to rank " + std::to_string(to) + ": 1 not complete", " handshakes, "});
        memory.unlock_all();
        EXPECT_EQ(w.endpoint().stall_report("a test", 0).find("active messages to rank"), std::string::npos);
        w.barrier();
        const std::string own = "window 'am': buffers for active messages of 40 bytes, 40 free; 0 requests";
        if (!GetParam().helped) testing::expect_parts(w.endpoint().stall_report("a test", 0), {own});
      },
      {{"AMITY_AM_SYSTEM_BYTES", "0"}, {"AMITY_AM_UNIT_BYTES", "40"}});
}

// A rank that continues to send needs no requests.
TEST_P(space_of_messages, requests_end_with_credit) {
  run(
      [](world& w) {
        handlers all;
        auto memory = make_numbers(w, all);
        const attached_space buffer(w, memory, 8000 * static_cast<std::size_t>(w.size()));  // credit allows its end
        const std::vector<std::int32_t> in = inputs(150, w.rank());
        std::vector<std::int32_t> out(in.size());
        const rank_t to = next_of(w);
        am_counters first;
        for (int epoch = 0; epoch < 10; ++epoch) {
          memory.lock(lock_kind::shared, to);
          memory.am(all.absolute, to, 0, segment_ints, 150, std::span(in), std::span(out));
          memory.unlock(to);
          expect_absolute(in, out, to);
          if (epoch == 0) first = memory.counters_of(to);
        }
        const am_counters last = memory.counters_of(to);
        EXPECT_EQ(first.handshakes, 1u);  // 150 units
        EXPECT_EQ(last.handshakes, 1u);
        EXPECT_EQ(last.refusals, 0u);
        EXPECT_EQ(last.credit_bytes, 6000u);
      },
      {{"AMITY_AM_UNIT_BYTES", "40"}, {"AMITY_AM_SYSTEM_BYTES", "0"}, {"AMITY_AM_ADAPTIVE", testing::credit_switch()}});
}

// Few messages wait when a rank asks, and as many follow as went before.
TEST_P(space_of_messages, credit_for_more_than_waits) {
  run(
      [](world& w) {
        handlers all;
        auto memory = make_numbers(w, all);
        const attached_space buffer(w, memory, 1000 * static_cast<std::size_t>(w.size()));
        const std::vector<std::int32_t> in = inputs(3, w.rank());
        std::vector<std::int32_t> out(in.size());
        const rank_t to = next_of(w);
        memory.lock(lock_kind::shared, to);
        memory.am(all.absolute, to, 0, segment_ints, 3, std::span(in), std::span(out));
        memory.unlock(to);
        EXPECT_EQ(memory.counters_of(to).handshakes, 1u);
        EXPECT_EQ(memory.counters_of(to).credit_bytes, 160u);  // twice the system buffer; 40 waited
      },
      {{"AMITY_AM_UNIT_BYTES", "40"},
       {"AMITY_AM_SYSTEM_BYTES", "80"},
       {"AMITY_AM_ADAPTIVE", testing::credit_switch()}});
}

// Neither a detach nor the messages of others wait for a rank that has credit and does nothing.
TEST_P(space_of_messages, idle_credit_delays_nobody) {
  run(
      [](world& w) {
        handlers all;
        auto memory = make_numbers(w, all);
        std::vector<std::byte> buffer(4000);
        if (w.rank() == 0) memory.attach_buffer(buffer);
        const std::vector<std::int32_t> in = inputs(99, w.rank());
        std::vector<std::int32_t> out(in.size());
        const auto send = [&](std::size_t segments) {
          memory.lock(lock_kind::shared, 0);
          memory.am(all.absolute, 0, 0, segment_ints, segments, std::span(in).first(segments * segment_ints),
                    std::span(out).first(segments * segment_ints));
          memory.unlock(0);
          expect_absolute(std::span(in).first(segments * segment_ints), out, 0);
        };
        // In turn, while the others only wait: each one finds that those before it have all credit.
        for (const rank_t each : everyone(w)) {
          w.barrier();
          if (w.rank() == each) send(99);
        }
        w.barrier();
        if (w.rank() == 0) memory.detach_buffer(buffer.data());
        std::vector<std::byte> other(50);
        if (w.rank() == 0) memory.attach_buffer(other);
        w.barrier();
        send(10);  // with credit that no longer exists
        w.barrier();
        if (w.rank() == 0) memory.detach_buffer(other.data());
      },
      {{"AMITY_AM_UNIT_BYTES", "40"}, {"AMITY_AM_SYSTEM_BYTES", "0"}});
}

// What is guaranteed to a rank that does not send is not given to another one.
TEST_P(space_of_messages, guarantee_kept_from_credit) {
  run(
      [](world& w) {
        handlers all;
        window_options options = all.options();
        const am_guarantee own{.target = 0, .bytes = 4000};
        if (w.rank() == 0) options.messages.guarantees = std::span(&own, 1);
        auto memory = w.allocate_window<std::int32_t>(segment_ints, options);
        std::vector<std::byte> buffer(6000);
        if (w.rank() == 0) memory.attach_buffer(buffer);
        w.barrier();
        const std::vector<std::int32_t> in = inputs(100, w.rank());
        std::vector<std::int32_t> out(in.size());
        const auto send = [&] {
          memory.lock(lock_kind::shared, 0);
          for (int i = 0; i < 5; ++i) memory.am(all.echo, 0, 0, 0, 100, std::span(in), std::span(out));
          memory.unlock(0);
          EXPECT_EQ(in, out);
        };
        if (w.rank() != 0) send();
        EXPECT_LE(memory.counters_of(0).credit_bytes, 2000u);
        w.barrier();
        if (w.rank() == 0) {
          send();
          EXPECT_EQ(memory.counters_of(0).handshakes, 0u);
        }
        w.barrier();
      },
      {{"AMITY_AM_UNIT_BYTES", "40"}, {"AMITY_AM_SYSTEM_BYTES", "0"}});
}

// Many ranks, little space, and much to send.
TEST_P(space_of_messages, little_space_shared_by_all) {
  for (const char* const adapts : {"1", "0"}) {
    run(
        [](world& w) {
          handlers all;
          auto memory = make_numbers(w, all);
          const attached_space first(w, memory, 700, 0), second(w, memory, 300, 0);
          std::vector<std::vector<std::int32_t>> in, out;
          for (std::size_t i = 0; i < 60; ++i) {
            in.push_back(inputs(1 + i % 13, w.rank()));
            out.emplace_back(in.back().size());
          }
          memory.lock_all();
          for (std::size_t i = 0; i < in.size(); ++i)
            memory.am(all.absolute, 0, 0, segment_ints, 1 + i % 13, std::span(std::as_const(in[i])), std::span(out[i]));
          memory.unlock_all();
          for (std::size_t i = 0; i < in.size(); ++i) expect_absolute(in[i], out[i], 0);
        },
        {{"AMITY_AM_SYSTEM_BYTES", "100"}, {"AMITY_AM_ADAPTIVE", adapts}});
  }
}

// Units that are sent again are carried out before later ones.
TEST_P(space_of_messages, order_kept_when_resent) {
  run(
      [](world& w) {
        std::vector<std::uint32_t> seen;
        am_table table;
        const am_operation note = table.add([&](const am_call& call) {
          for (const std::uint32_t each : call.input_as<std::uint32_t>()) seen.push_back(each);
        });
        // Units of this kind are refused first: also these tell the target what later ones need not repeat.
        const am_operation note_later = table.add([&](const am_call& call) {
          for (const std::uint32_t each : call.input_as<std::uint32_t>()) seen.push_back(each + 1000);
        });
        auto memory = w.allocate_window<std::uint32_t>(1, {.name = "am", .messages = {.handlers = &table}});
        std::vector<std::byte> first(400), second(200);
        const rank_t to = w.size() - 1;
        if (w.rank() == to) {
          memory.attach_buffer(first);
          memory.attach_buffer(second);
        }
        w.barrier();
        std::vector<std::uint32_t> in(300);
        std::iota(in.begin(), in.end(), 0u);
        const auto send = [&](am_operation what, std::size_t from, std::size_t count) {
          memory.am(what, to, 0, 1, count, std::span(std::as_const(in)).subspan(from, count), std::span<char>());
        };
        if (w.rank() == 0) {
          memory.lock(lock_kind::shared, to);
          send(note, 0, 100);
          memory.flush(to);
        }
        w.barrier();
        if (w.rank() == to) memory.detach_buffer(first.data());
        w.barrier();
        if (w.rank() == 0) {
          for (std::size_t i = 100; i < 300; ++i) send(note_later, i, 1);
          memory.unlock(to);
          EXPECT_GT(memory.counters_of(to).refusals, 0u);
        }
        w.barrier();
        if (w.rank() == to) {
          for (std::size_t i = 100; i < 300; ++i) in[i] += 1000;
          EXPECT_EQ(seen, in);
        }
      },
      {{"AMITY_AM_UNIT_BYTES", "20"}, {"AMITY_AM_SYSTEM_BYTES", "4"}});
}

// An origin that does not flush cannot know that a buffer was detached. The target refuses units that name it.
TEST_P(space_of_messages, units_for_detached_buffer_resent) {
  for (const bool may_detach : {true, false}) {
    run(
        [&](world& w) {
          handlers all;
          window_options options = all.options();
          options.messages.may_detach = may_detach;
          auto memory = w.allocate_window<std::int32_t>(segment_ints, options);
          std::vector<std::byte> first(100), second(200);
          const rank_t to = w.size() - 1;
          for (std::size_t i = 0; i < segment_ints; ++i) memory.local()[i] = -static_cast<std::int32_t>(i) - w.rank();
          if (w.rank() == to) {
            memory.attach_buffer(first);
            memory.attach_buffer(second);
          }
          w.barrier();
          const std::vector<std::int32_t> in = inputs(6, w.rank());
          std::vector<std::int32_t> out(in.size()), later(in.size());
          const auto send = [&](std::vector<std::int32_t>& into) {
            memory.am(all.absolute, to, 0, segment_ints, 6, std::span(in), std::span(into));
          };
          if (w.rank() == 0) {
            memory.lock(lock_kind::exclusive, to);
            send(out);
          }
          while (w.rank() == 0 && memory.counters_of(to).output_bytes < in.size() * sizeof in[0]) w.poll();
          w.barrier();
          if (w.rank() == to) memory.detach_buffer(first.data());
          w.barrier();
          if (w.rank() == 0) {
            send(later);
            if (may_detach) {
              memory.unlock(to);
              expect_absolute(in, out, to);
              expect_absolute(in, later, to);
            } else {
              try {
                memory.unlock(to);
                ADD_FAILURE() << "a broken promise was not reported";
              } catch (const window_error& wrong) {
                EXPECT_EQ(wrong.fault(), window_fault::detached);
              }
            }
          }
          w.barrier();
        },
        {{"AMITY_AM_SYSTEM_BYTES", "0"}, {"AMITY_AM_UNIT_BYTES", "40"}});
  }
}

}  // namespace
}  // namespace amity
