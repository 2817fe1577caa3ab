/// Dynamic windows on every fabric: memory is attached and detached while other ranks use the window.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "amity/window/dynamic_window.hpp"
#include "tests/support/texts.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::everyone;
using testing::exchange_words;
using testing::next_of;
using testing::previous_of;
using enum accumulate_op;

class dynamic_windows : public testing::on_paths {};
INSTANTIATE_TEST_SUITE_P(window, dynamic_windows, ::testing::ValuesIn(testing::jobs_of_windows({1, 2, 3, 4}, 3)),
                         testing::name_of_job);

template <class T>
std::uint64_t address_in(std::uint64_t base, std::size_t index) {
  return base + index * sizeof(T);
}
template <class T>
std::vector<std::uint64_t> exchange_addresses(world& w, const std::vector<T>& own) {
  return exchange_words(w, dynamic_window::address_of(own.data()));
}

TEST_P(dynamic_windows, fences_end_operations_of_mixed_types) {
  run([](world& w) {
    auto heap = w.create_dynamic_window({.name = "heap"});
    std::vector<double> numbers(100);
    std::vector<std::int32_t> counts(40);
    heap.attach(std::span(numbers));
    heap.attach(std::span(counts));
    const auto number_at = exchange_addresses(w, numbers);
    const auto count_at = exchange_addresses(w, counts);
    const auto next = static_cast<std::size_t>(next_of(w));
    auto doubles = heap.as<double>();
    auto ints = heap.as<std::int32_t>();
    heap.fence(window_assert::no_precede);
    for (int round = 1; round <= 10; ++round) {
      std::vector<double> sent(50, w.rank() + 0.5 * round), got(50);
      doubles.put(next_of(w), address_in<double>(number_at[next], 50), sent);
      ints.accumulate(sum, 0, address_in<std::int32_t>(count_at[0], 3), round);
      heap.fence();
      EXPECT_EQ(numbers, [&] {
        std::vector<double> expected(100);
        std::fill(expected.begin() + 50, expected.end(), previous_of(w) + 0.5 * round);
        return expected;
      }());
      doubles.get(next_of(w), address_in<double>(number_at[next], 50), got);
      heap.fence();
      EXPECT_EQ(got, sent);
    }
    heap.fence(window_assert::no_succeed);
    if (w.rank() == 0) {
      EXPECT_EQ(counts[3], 55 * w.size());
    }
  });
}

// A byte stays as long as one piece contains it.
TEST_P(dynamic_windows, pieces_overlap) {
  run([](world& w) {
    auto heap = w.create_dynamic_window();
    std::vector<int> own(100);
    const std::span<int> whole(own);
    heap.attach(whole.subspan(0, 60));
    heap.attach(whole.subspan(40, 60));
    const auto at = exchange_addresses(w, own);
    const rank_t next = next_of(w);
    const std::uint64_t base = at[static_cast<std::size_t>(next)];
    auto ints = heap.as<int>();
    std::vector<int> sent(100);
    std::iota(sent.begin(), sent.end(), w.rank());
    heap.lock(lock_kind::shared, next);
    ints.put(next, base, sent);  // in both pieces
    heap.unlock(next);
    w.barrier();
    EXPECT_EQ(own[99], previous_of(w) + 99);
    heap.detach(own.data());
    w.barrier();
    heap.lock(lock_kind::shared, next);
    ints.accumulate(sum, next, address_in<int>(base, 40), std::span<const int>(sent).subspan(0, 60));
    heap.unlock(next);
    w.barrier();
    for (int i = 0; i < 60; ++i) EXPECT_EQ(own[static_cast<std::size_t>(40 + i)], 2 * previous_of(w) + 40 + 2 * i);
    heap.attach(whole);
    heap.detach(&own[40]);
    w.barrier();
    heap.lock_all();
    ints.put(next, base, 7);
    heap.unlock_all();
    w.barrier();
    EXPECT_EQ(own[0], 7);
    heap.detach(own.data());
    w.barrier();
  });
}

// Rank 0 grows a list while the others add to pieces that they know: attach and detach are local.
TEST_P(dynamic_windows, attach_while_others_use_pieces) {
  run([](world& w) {
    auto heap = w.create_dynamic_window();
    auto shared = w.allocate_window<std::uint64_t>(w.rank() == 0 ? 1 : 0);  // the address of the newest piece
    constexpr int pieces = 30;
    std::vector<std::unique_ptr<std::vector<std::int64_t>>> list;
    auto words = heap.as<std::int64_t>();
    heap.lock_all();
    shared.lock_all();
    if (w.rank() == 0) {
      std::vector<double> passing(10);
      for (int i = 0; i < pieces; ++i) {
        list.push_back(std::make_unique<std::vector<std::int64_t>>(2));
        heap.attach(std::span(*list.back()));
        heap.attach(std::span(passing));
        shared.accumulate(replace, 0, 0, dynamic_window::address_of(list.back()->data()));
        heap.detach(passing.data());
        shared.flush(0);
      }
    }
    std::int64_t added = 0;
    for (int i = 0; i < pieces; ++i) {
      std::uint64_t newest = 0;
      shared.fetch_and_op(no_op, 0, 0, 0, newest);
      shared.flush(0);
      if (newest == 0) continue;
      words.accumulate(sum, 0, newest + 8, 1);
      ++added;
    }
    heap.unlock_all();
    shared.unlock_all();
    const std::int64_t expected = w.sum(added);
    if (w.rank() == 0) {
      std::int64_t seen = 0;
      for (const auto& each : list) seen += (*each)[1];
      EXPECT_EQ(seen, expected);
      EXPECT_GE(seen, pieces);  // at least its own
    }
    w.barrier();
  });
}

// More pieces than a fixed table has, and an operation that fills several packets and adjacent pieces.
TEST_P(dynamic_windows, many_adjacent_pieces_are_one) {
  run([](world& w) {
    auto heap = w.create_dynamic_window();
    constexpr std::size_t count = 5000;
    std::vector<std::uint32_t> own(count), sent(count), got(count);
    for (std::size_t i = 0; i < count; ++i) heap.attach(std::span(own).subspan(i, 1));
    const auto at = exchange_addresses(w, own);
    const rank_t next = next_of(w);
    const std::uint64_t base = at[static_cast<std::size_t>(next)];
    auto words = heap.as<std::uint32_t>();
    std::iota(sent.begin(), sent.end(), static_cast<std::uint32_t>(w.rank()));
    heap.fence(window_assert::no_precede);
    words.put(next, base, sent);
    heap.fence();
    words.get_accumulate(sum, next, base, sent, got);
    heap.fence(window_assert::no_succeed);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i)
      wrong += got[i] != sent[i] || own[i] != 2 * (static_cast<std::uint32_t>(previous_of(w)) + i);
    EXPECT_EQ(wrong, 0u);
    for (std::uint32_t& each : own) heap.detach(&each);
  });
}

// Blocks may be in different pieces, and their offsets may be addresses.
TEST_P(dynamic_windows, layouts_reach_several_pieces) {
  run([](world& w) {
    auto heap = w.create_dynamic_window();
    std::vector<std::int64_t> one(400), other(400);
    heap.attach(std::span(one));
    heap.attach(std::span(other));
    const rank_t next = next_of(w);
    const std::uint64_t one_at = exchange_addresses(w, one)[static_cast<std::size_t>(next)];
    const std::uint64_t other_at = exchange_addresses(w, other)[static_cast<std::size_t>(next)];
    std::vector<layout::block> blocks;
    for (std::size_t i = 0; i < 100; ++i) {
      blocks.push_back({.offset = static_cast<std::ptrdiff_t>(one_at + 32 * i), .bytes = 8});
      blocks.push_back({.offset = static_cast<std::ptrdiff_t>(other_at + 32 * i), .bytes = 16});
    }
    const auto there = std::make_shared<const layout>(layout::indexed(blocks));
    std::vector<std::int64_t> sent(300), got(300);
    std::iota(sent.begin(), sent.end(), 1000 * w.rank());
    auto words = heap.as<std::int64_t>();
    heap.fence(window_assert::no_precede);
    words.put(next, 0, there, sent);
    heap.fence();
    words.accumulate(sum, next, 0, there, sent);
    heap.fence();
    words.get(next, 0, there, got);
    heap.fence(window_assert::no_succeed);
    for (std::size_t i = 0; i < 300; ++i) EXPECT_EQ(got[i], 2 * sent[i]);
    const std::int64_t first = 1000 * previous_of(w);
    for (std::size_t i = 0; i < 100; ++i) {
      const auto place = static_cast<std::int64_t>(3 * i);
      EXPECT_EQ(one[4 * i], 2 * (first + place));
      EXPECT_EQ(one[4 * i + 1], 0);
      EXPECT_EQ(other[4 * i], 2 * (first + place + 1));
      EXPECT_EQ(other[4 * i + 1], 2 * (first + place + 2));
    }
  });
}

TEST_P(dynamic_windows, pairs_and_long_doubles_combine) {
  run([](world& w) {
    using pair = value_location<double, int>;
    auto heap = w.create_dynamic_window();
    std::vector<pair> maxima(2);
    std::vector<long double> sums(2);
    heap.attach(std::span(maxima));
    heap.attach(std::span(sums));
    const std::uint64_t pair_at = exchange_addresses(w, maxima)[0];
    const std::uint64_t sum_at = exchange_addresses(w, sums)[0];
    heap.lock_all();
    for (int i = 0; i < 10; ++i) {
      heap.as<pair>().accumulate(maximum_location, 0, pair_at + sizeof(pair), pair{1.0 * i * (w.rank() + 1), w.rank()});
      heap.as<long double>().accumulate(sum, 0, sum_at, 0.5L);
    }
    heap.unlock_all();
    w.barrier();
    if (w.rank() == 0) {
      EXPECT_EQ(maxima[1], (pair{9.0 * w.size(), w.size() - 1}));
      EXPECT_EQ(sums[0], 5.0L * w.size());
    }
    w.barrier();
  });
}

// Errors

/// Runs `body` on rank 0, with a window and the address of 4 integers that rank 1 has attached.
void on_heap(const std::function<void(dynamic_window&, std::uint64_t)>& body) {
  run_worlds(testing::simulated("sim", {}), 2, [&](world& w) {
    auto heap = w.create_dynamic_window({.name = "heap"});
    std::vector<int> own{1, 2, 3, 4};
    heap.attach(std::span(own));
    const auto at = exchange_addresses(w, own);
    if (w.rank() == 0) body(heap, at[1]);
    w.barrier();
    EXPECT_EQ(own, (std::vector{1, 2, 3, 4}));
  });
}

TEST(dynamic_window_errors, name_memory_that_is_not_attached) {
  using testing::expect_error;
  on_heap([](dynamic_window& heap, std::uint64_t at) {
    auto ints = heap.as<int>();
    const auto expect = [&](const std::function<void()>& operation, std::initializer_list<std::string_view> parts) {
      heap.lock(lock_kind::shared, 1);
      operation();
      expect_error([&] { heap.unlock(1); }, parts);
    };
    expect(
        [&] { ints.put(1, at + 16, 1); },
        {"window::unlock (rank 0)", "window 'heap': window::put, target 1: 4 bytes at address 0x", "are not attached",
         "the nearest attached memory is 0x", "16 bytes", "attach memory before other ranks use it"});
    int got = 5;
    expect([&] { ints.get(1, at - 4, got); }, {"window::get, target 1", "are not attached"});
    EXPECT_EQ(got, 0);
    expect([&] { ints.accumulate(sum, 1, at + 20, 1); }, {"window::accumulate, target 1", "are not attached"});
    expect([&] { ints.fetch_and_op(sum, 1, at + 20, 1, got); }, {"window::accumulate, target 1"});
    expect([&] { ints.compare_and_swap(1, at + 20, 0, 1, got); },
           {"window::compare_and_swap, target 1", "are not attached"});
    const auto blocks = std::make_shared<const layout>(layout::strided(2, 4, 16));
    const std::vector<int> two{1, 2};
    expect([&] { ints.put(1, at, blocks, two); }, {"window::put, target 1: 4 bytes at address 0x", "not attached"});
  });
}

// The first one counts, and each call has its own.
TEST(dynamic_window_errors, come_from_calls_that_complete_operations) {
  using testing::expect_error;
  on_heap([](dynamic_window& heap, std::uint64_t at) {
    auto ints = heap.as<int>();
    heap.lock_all();
    ints.put(1, at + 16, 1);
    heap.flush_local(1);
    int got = 0;
    ints.get(1, at + 32, got);
    expect_error([&] { heap.flush(1); }, {"window::flush (rank 0)", "window::put, target 1"});
    heap.flush(1);
    ints.get(1, at + 32, got);
    expect_error([&] { heap.flush_all(); }, {"window::flush_all", "window::get, target 1"});
    ints.get(1, at + 4, got);
    heap.flush_all();
    EXPECT_EQ(got, 2);
    ints.put(1, at + 16, 1);
    expect_error([&] { heap.unlock_all(); }, {"window::unlock_all", "window::put, target 1"});
    heap.lock_all();
    heap.unlock_all();
  });
}

TEST_P(dynamic_windows, work_after_errors) {
  run([](world& w) {
    using testing::expect_error;
    auto heap = w.create_dynamic_window({.name = "heap"});
    std::vector<int> own(4);
    heap.attach(std::span(own));
    const auto at = exchange_addresses(w, own);
    const rank_t next = next_of(w);
    if (next == w.rank()) return;  // it is checked at once
    const std::uint64_t there = at[static_cast<std::size_t>(next)];
    const std::vector<rank_t> from{previous_of(w)}, to{next};
    auto ints = heap.as<int>();
    const std::vector<int> many(2000, 1);
    heap.detach(own.data());
    for (int round = 1; round <= 3; ++round) {
      w.barrier();
      heap.fence(window_assert::no_precede);
      ints.put(next, there, many);
      expect_error([&] { heap.fence(window_assert::no_succeed); },
                   {"window::fence", "window 'heap': window::put, target ", "no memory is attached"});
      heap.post(from);
      heap.start(to);
      ints.accumulate(sum, next, there, many);
      expect_error([&] { heap.complete(); }, {"window::complete", "window::accumulate, target "});
      heap.wait();
      heap.lock(lock_kind::exclusive, next);
      ints.put(next, there, 1);
      expect_error([&] { heap.unlock(next); }, {"window::unlock", "window::put, target "});
      EXPECT_EQ(own, std::vector<int>(4));
    }
    w.barrier();
    heap.attach(std::span(own));
    w.barrier();
    heap.fence(window_assert::no_precede);
    ints.put(next, there, 7);
    heap.fence(window_assert::no_succeed);
    EXPECT_EQ(own[0], 7);
    heap.detach(own.data());
  });
}

TEST(dynamic_window_errors, leave_window_usable) {
  run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    auto heap = w.create_dynamic_window({.name = "heap"});
    std::vector<int> own(4);
    const auto expect = [](const std::function<void()>& call, std::initializer_list<std::string_view> parts) {
      testing::expect_error(call, parts);
    };
    expect([&] { heap.attach(std::span(own).subspan(0, 0)); },
           {"window::attach (rank ", "window 'heap'", "0 bytes at address 0x", "at least one byte"});
    expect([&] { heap.attach(std::span(own.data(), SIZE_MAX / 2)); }, {"window::attach", "cannot be attached"});
    expect([&] { heap.attach(std::span(own.data(), SIZE_MAX / 4)); }, {"window::attach", "cannot be attached"});
    expect([&] { heap.detach(own.data()); }, {"window::detach (rank ", "no attached memory begins at address 0x",
                                              "no memory is attached", "once for each"});
    heap.attach(std::span(own));
    expect([&] { heap.detach(own.data() + 1); }, {"no attached memory begins at", "the nearest attached memory is 0x"});
    heap.lock(lock_kind::shared, w.rank());
    const std::uint64_t at = dynamic_window::address_of(own.data());
    expect([&] { heap.as<int>().put(w.rank(), at + 16, 1); }, {"window::put (rank ", "are not attached", "16 bytes"});
    expect([&] { heap.as<int>().accumulate(sum, w.rank(), at + 2, 1); },
           {"window::accumulate (rank ", "is not a multiple of the 4 bytes", "pass the address of an element"});
    int before = 0;
    expect([&] { heap.as<int>().compare_and_swap(w.rank(), at + 1, 0, 1, before); },
           {"window::compare_and_swap (rank ", "is not a multiple of the 4 bytes"});
    heap.as<int>().put(w.rank(), at + 12, 5);
    heap.unlock(w.rank());
    EXPECT_EQ(own[3], 5);
    heap.detach(own.data());
  });
}

TEST(dynamic_window_errors, handlers_attach_nothing) {
  testing::expect_parts(
      testing::failure_in_worlds(2,
                                 [](world& w) {
                                   auto heap = w.create_dynamic_window({.name = "heap"});
                                   std::vector<int> own(4);
                                   auto ask = w.message<int>([&](const int&) { heap.attach(std::span(own)); });
                                   w.epoch([&] { ask.send(next_of(w), 1); });
                                 }),
      {"window::attach", "handler"});
}

}  // namespace
}  // namespace amity
