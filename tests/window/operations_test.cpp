/// Operations of windows at their limits: nothing at all, odd places, large descriptions, mixed paths.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amity/window/window.hpp"
#include "tests/core/poorer.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/replaced_memory.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::everyone;
using testing::next_of;
using testing::previous_of;
using enum accumulate_op;

class operated_windows : public testing::on_paths {};
INSTANTIATE_TEST_SUITE_P(window, operated_windows, ::testing::ValuesIn(testing::jobs_of_windows({1, 2, 3, 4}, 3)),
                         testing::name_of_job);

std::shared_ptr<const layout> blocks_of(const std::vector<layout::block>& blocks) {
  return std::make_shared<const layout>(layout::indexed(blocks));
}

// Loops over elements

/// Puts `count` elements that begin at `at`, one by one, as values or from memory in turn.
void put_each(window<std::uint64_t>& on, rank_t target, std::size_t at, std::size_t count,
              const std::vector<std::uint64_t>& from) {
  for (std::size_t i = at; i < at + count; ++i) {
    if (i % 7 == 0)
      on.put(target, i, from[i]);
    else
      on.put(target, i, std::span(from).subspan(i, 1));
  }
}

// They join in packets, and as long as they are queued.
TEST_P(operated_windows, puts_of_single_elements_arrive) {
  run([](world& w) {
    constexpr std::size_t count = 4000, part = count / 4;
    auto first = w.allocate_window<std::uint64_t>(count), second = w.allocate_window<std::uint64_t>(count);
    const std::array<rank_t, 1> next{next_of(w)}, previous{testing::previous_of(w)};
    std::vector<std::uint64_t> numbers(count);
    std::iota(numbers.begin(), numbers.end(), std::uint64_t{1});
    const auto expect_all = [&](window<std::uint64_t>& on) {
      EXPECT_TRUE(std::ranges::equal(on.local(), numbers));
      std::ranges::fill(on.local(), 0);
    };

    first.fence(window_assert::no_precede);
    second.fence(window_assert::no_precede);
    for (std::size_t at = 0; at < count; at += part) {
      for (window<std::uint64_t>* const on : {&first, &second}) put_each(*on, next[0], at, part, numbers);
    }
    for (window<std::uint64_t>* const on : {&first, &second}) EXPECT_THROW(on->put(next[0], count, 1), error);
    second.put(next[0], part, std::span(numbers).subspan(part, 2 * part));
    first.fence(window_assert::no_succeed);
    second.fence(window_assert::no_succeed);
    EXPECT_THROW(first.put(next[0], 0, 1), error);
    expect_all(first);
    expect_all(second);
    w.barrier();

    first.post(previous);
    first.start(next);
    put_each(first, next[0], 0, count, numbers);
    first.complete();
    first.wait();
    expect_all(first);
    w.barrier();

    first.lock(lock_kind::exclusive, next[0]);
    put_each(first, next[0], 0, part, numbers);
    first.flush_local(next[0]);
    first.put(next[0], part, std::span<const std::uint64_t>());  // the packet has left
    first.flush(next[0]);
    put_each(first, next[0], part, part, numbers);
    first.unlock(next[0]);
    EXPECT_THROW(first.put(next[0], 2 * part, 1), error);
    first.lock_all();
    for (std::size_t i = count; i-- > 2 * part;) first.put(next[0], i, numbers[i]);
    first.unlock_all();
    w.barrier();
    expect_all(first);
    w.barrier();
  });
}

// Nothing, and less than nothing

void operate_on_nothing(window<int>& on, rank_t target, std::size_t end) {
  const auto nothing = std::make_shared<const layout>();
  const auto none_of_many = std::make_shared<const layout>(layout::strided(0, 4, 8));
  for (const std::size_t index : {std::size_t{0}, end}) {
    on.put(target, index, std::span<const int>());
    on.get(target, index, std::span<int>());
    on.put(target, index, nothing, {});
    on.get(target, index, none_of_many, {});
    on.accumulate(sum, target, index, std::span<const int>());
    on.accumulate(maximum, target, index, none_of_many, {});
    on.get_accumulate(no_op, target, index, {}, {});
    on.get_accumulate(sum, target, index, {}, {});
  }
}

TEST_P(operated_windows, empty_operations_change_nothing) {
  run([](world& w) {
    // Ranks with an odd number have no memory, and each second window belongs to the program.
    std::vector<int> own(w.rank() % 2 == 0 ? 3 : 0);
    auto shared = w.allocate_window<int>(own.size());
    auto created = w.create_window(std::span(own));
    for (window<int>* const on : {&shared, &created}) {
      const auto on_all = [&] {
        for (const rank_t target : everyone(w)) operate_on_nothing(*on, target, target % 2 == 0 ? 3 : 0);
      };
      on->fence();
      on_all();
      on->fence(window_assert::no_succeed);
      on->lock_all();
      on->flush_all();
      on->flush_local_all();
      on->flush(next_of(w));
      on->flush_local(next_of(w));
      on_all();
      for (const rank_t target : everyone(w)) {
        on->rput(target, 0, {}).wait();
        EXPECT_TRUE(on->rget(target, 0, {}).test());
        on->raccumulate(sum, target, 0, {}).wait();
        on->rget_accumulate(no_op, target, 0, {}, {}).wait();
        on->flush(target);
      }
      on->flush_all();
      on->unlock_all();
      const std::vector<rank_t> all = everyone(w);
      on->post(all);
      on->start(all);
      on_all();
      on->complete();
      on->wait();
      for (const int each : on->local()) EXPECT_EQ(each, 0);
    }
  });
}

TEST_P(operated_windows, only_one_rank_has_memory) {
  run([](world& w) {
    const rank_t last = w.size() - 1;
    auto shared = w.allocate_window<std::uint64_t>(w.rank() == last ? 2 : 0);
    EXPECT_EQ(shared.local().size(), w.rank() == last ? 2u : 0u);
    shared.lock_all();
    shared.accumulate(sum, last, 1, 5);
    shared.flush_all();
    shared.unlock_all();
    for (const rank_t target : everyone(w)) {  // locks of ranks without memory exclude, too
      shared.lock(lock_kind::exclusive, target);
      shared.accumulate(sum, last == target ? last : target, 0, std::span<const std::uint64_t>());
      shared.unlock(target);
    }
    w.barrier();
    if (w.rank() == last) {
      EXPECT_EQ(shared.local()[1], 5u * static_cast<unsigned>(w.size()));
    }
    w.barrier();
  });
}

// Places

TEST_P(operated_windows, layouts_reach_before_their_index) {
  run([](world& w) {
    auto shared = w.allocate_window<std::int64_t>(12);
    const auto around =
        blocks_of({{.offset = -24, .bytes = 8}, {.offset = 16, .bytes = 16}, {.offset = -8, .bytes = 8}});
    const auto backwards = std::make_shared<const layout>(layout::strided(4, 8, -24));
    const rank_t next = next_of(w);
    const std::vector<std::int64_t> digits{1, 2, 3, 4}, tens{10, 20, 30, 40};
    std::vector<std::int64_t> seen(4);
    shared.fence();
    shared.put(next, 5, around, digits);  // elements 2, 7, 8, 4
    shared.fence();
    EXPECT_EQ((std::vector<std::int64_t>(shared.local().begin(), shared.local().end())),
              (std::vector<std::int64_t>{0, 0, 1, 0, 4, 0, 0, 2, 3, 0, 0, 0}));
    shared.fence();
    shared.accumulate(sum, next, 11, backwards, tens);  // elements 11, 8, 5, 2
    shared.fence();
    shared.get(next, 11, backwards, std::span(seen));
    shared.fence(window_assert::no_succeed);
    EXPECT_EQ(seen, (std::vector<std::int64_t>{10, 23, 30, 41}));
  });
}

TEST_P(operated_windows, bytes_at_odd_places_arrive) {
  run([](world& w) {
    constexpr std::size_t bytes = 5000;
    std::vector<std::uint8_t> own(bytes + 3);
    auto shared = w.allocate_window<std::uint8_t>(bytes);
    auto created = w.create_window(std::span(own).subspan(3));
    EXPECT_EQ(created.local().data(), own.data() + 3);
    const rank_t next = next_of(w);
    for (window<std::uint8_t>* const on : {&shared, &created}) {
      on->lock(lock_kind::exclusive, next);
      std::vector<std::uint8_t> expected(bytes), sent(bytes), seen(bytes);
      std::iota(sent.begin(), sent.end(), std::uint8_t{1});
      for (const std::size_t at : {1u, 3u, 10u, 13u, 100u, 1001u}) {
        const std::size_t count = at * 3 % 1999;
        on->put(next, at, std::span(sent).subspan(at, count));
        on->flush(next);  // puts have no order
        std::memcpy(&expected[at], &sent[at], count);
      }
      on->get(next, 0, std::span(seen).first(2));
      on->get(next, 2, std::span(seen).subspan(2));
      on->unlock(next);
      EXPECT_EQ(seen, expected);
      EXPECT_EQ(own[2], 0);
    }
    w.barrier();
  });
}

// The description of a layout travels in several packets, and an origin keeps 64 of them for a target.
TEST_P(operated_windows, large_and_many_layouts_arrive) {
  run([](world& w) {
    constexpr std::size_t blocks = 1500;
    std::vector<layout::block> irregular;
    for (std::size_t i = 0; i < blocks; ++i)
      irregular.push_back({.offset = static_cast<std::ptrdiff_t>(8 * (3 * i + i % 2)), .bytes = 8});
    const auto large = blocks_of(irregular);
    auto shared = w.allocate_window<std::int64_t>(3 * blocks + 2);
    const rank_t next = next_of(w);
    const std::vector<std::int64_t> one{0, 1}, zeros(blocks);
    std::vector<std::int64_t> sent(blocks), seen(blocks);
    std::iota(sent.begin(), sent.end(), 1);
    shared.lock(lock_kind::exclusive, next);
    shared.accumulate(sum, next, 1, large, sent);
    shared.accumulate(sum, next, 1, large, sent);
    shared.flush(next);
    for (std::size_t i = 0; i < 200; ++i) {  // the blocks of these begin at different places
      const auto pair =
          blocks_of({{.offset = 0, .bytes = 8}, {.offset = static_cast<std::ptrdiff_t>(8 * (i + 2)), .bytes = 8}});
      shared.accumulate(sum, next, 0, pair, one);
      if (i % 3 == 0) shared.accumulate(sum, next, 1, large, zeros);
    }
    shared.flush(next);
    shared.get(next, 1, large, std::span(seen));
    shared.unlock(next);
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::size_t element = 1 + 3 * i + i % 2;
      ASSERT_EQ(seen[i], 2 * sent[i] + (element >= 2 && element < 202 ? 1 : 0)) << i;
    }
    w.barrier();
  });
}

// Elements of several types in one window, at offsets in bytes.
TEST_P(operated_windows, elements_of_other_types_lie_at_offsets) {
  run([](world& w) {
    auto shared = w.allocate_window<std::byte>(100);
    const rank_t next = next_of(w);
    const std::array<std::int16_t, 3> small{1, 2, 3};
    std::array<std::int16_t, 3> seen{};
    std::int32_t before = -1;
    double loaded = 0;
    const auto apart = std::make_shared<const layout>(layout::strided(2, 8, 24));
    const std::array<double, 2> pair{0.5, 1.5};
    shared.lock(lock_kind::exclusive, next);
    shared.as<std::int16_t>().put(next, 1, small);  // puts need no alignment
    shared.as<std::int64_t>().accumulate(sum, next, 8, 5);
    shared.as<std::int32_t>().accumulate(sum, next, 20, 7);
    shared.as<std::int32_t>().compare_and_swap(next, 20, 7, 9, before);
    shared.as<double>().accumulate(sum, next, 24, apart, pair);
    shared.flush(next);
    shared.as<std::int16_t>().get(next, 1, std::span(seen));
    shared.as<double>().fetch_and_op(no_op, next, 48, 0.0, loaded);
    shared.unlock(next);
    EXPECT_EQ(seen, small);
    EXPECT_EQ(before, 7);
    EXPECT_EQ(loaded, 1.5);
    w.barrier();
    std::int64_t large = 0;
    std::memcpy(&large, &shared.local()[8], sizeof large);
    EXPECT_EQ(large, 5);
    std::memcpy(&before, &shared.local()[20], sizeof before);
    EXPECT_EQ(before, 9);
    w.barrier();
    shared.fence(window_assert::no_precede);
    std::int64_t previous = 0;
    const auto numbers = std::make_shared<const layout>(layout::contiguous(8));
    auto as_numbers = shared.as<std::int64_t>();
    as_numbers.accumulate(sum, next, 8, 1);  // from now on, operations on mapped memory take the shortest path
    EXPECT_THROW(as_numbers.accumulate(sum, next, 4, 1), error);
    EXPECT_THROW(as_numbers.fetch_and_op(sum, next, 12, 1, previous), error);
    EXPECT_THROW(as_numbers.compare_and_swap(next, 20, 1, 1, previous), error);
    EXPECT_THROW(as_numbers.accumulate(sum, next, 4, numbers, std::array{previous}), error);
    EXPECT_THROW(as_numbers.accumulate(sum, next, 96, 1), error);
    EXPECT_THROW(as_numbers.put(next, 93, 1), error);
    shared.as<value_location<float, int>>().accumulate(minimum_location, next, 33,
                                                       {-1.0F, 2});  // in the middle of words
    shared.fence(window_assert::no_succeed);
    value_location<float, int> least{};
    std::memcpy(&least, &shared.local()[33], sizeof least);
    EXPECT_EQ(least, (value_location<float, int>{-1.0F, 2}));
  });
}

// Memory of the program may begin anywhere.
TEST_P(operated_windows, unaligned_memory_combines_no_words) {
  run([](world& w) {
    alignas(8) std::array<std::byte, 64> memory{};
    auto shared = w.create_window(std::span(memory).subspan(4));
    const rank_t next = next_of(w);
    std::int64_t previous = -1;
    shared.fence(window_assert::no_precede);
    auto numbers = shared.as<std::int64_t>();
    numbers.accumulate(sum, next, 4, w.rank() + 1);
    EXPECT_THROW(numbers.accumulate(sum, next, 0, 1), error);
    EXPECT_THROW(numbers.compare_and_swap(next, 8, 0, 1, previous), error);
    shared.as<std::int32_t>().accumulate(sum, next, 0, 3);
    shared.fence(window_assert::no_succeed);
    std::memcpy(&previous, &memory[8], sizeof previous);
    EXPECT_EQ(previous, previous_of(w) + 1);
  });
}

std::span<std::uint64_t> words_of(const testing::replaced_memory& memory) {
  return {reinterpret_cast<std::uint64_t*>(memory.data()), memory.size() / sizeof(std::uint64_t)};
}

// What a path has learned of pages, as their registration at a network, ends with the window or the operation.
TEST_P(operated_windows, replaced_memory_is_put_and_got) {
  run([](world& w) {
    constexpr std::size_t bytes = 1 << 16, count = bytes / 8;
    const rank_t next = next_of(w), before = previous_of(w);
    std::uint64_t round = 0;
    for (const testing::replacement& by : testing::replacements) {
      testing::replaced_memory target(by.what, bytes), source(by.what, bytes), result(by.what, bytes);
      for (int time = 0; time < 2; ++time) {
        for (testing::replaced_memory* const each : {&target, &source, &result}) each->replace();
        std::vector<std::uint64_t> expected(count, 10 * ++round + static_cast<std::uint64_t>(before));
        auto created = w.create_window(words_of(target));
        created.fence(window_assert::no_precede);
        for (const std::size_t puts : {std::size_t{2}, count}) {
          source.replace();
          std::ranges::fill(words_of(source), 10 * round + static_cast<std::uint64_t>(w.rank()));
          created.put(next, 0, std::span<const std::uint64_t>(words_of(source)).first(puts));
          created.fence();
        }
        created.accumulate(sum, next, 5, 1000);
        created.fence();
        expected[5] += 1000;
        EXPECT_TRUE(std::ranges::equal(words_of(target), expected)) << by.name;
        std::ranges::fill(expected, 10 * round + static_cast<std::uint64_t>(w.rank()));
        expected[5] += 1000;
        for (const std::size_t gets : {std::size_t{10}, count}) {
          created.get(next, 0, words_of(result).first(gets));
          created.fence();
          EXPECT_TRUE(std::ranges::equal(words_of(result).first(gets), std::span(expected).first(gets))) << by.name;
          result.replace();
        }
        created.fence(window_assert::no_succeed);
      }
    }
  });
}

// Order and atomicity across paths

TEST_P(operated_windows, operations_on_local_rank_keep_order) {
  run([](world& w) {
    auto shared = w.allocate_window<std::int64_t>(64);
    const auto every_second = std::make_shared<const layout>(layout::strided(32, 8, 16));
    const rank_t self = w.rank();
    const std::vector<std::int64_t> sevens(64, 7), twos(64, 2), ones(32, 1);
    const auto operate = [&] {
      std::vector<std::int64_t> seen(32, -1);
      std::int64_t before = -1;
      shared.put(self, 0, sevens);
      shared.accumulate(sum, self, 0, every_second, ones);
      shared.accumulate(product, self, 0, twos);
      shared.compare_and_swap(self, 62, 16, 3, before);
      shared.get(self, 0, every_second, std::span(seen));
      return std::pair(before, seen);
    };
    const auto check = [&](const std::pair<std::int64_t, std::vector<std::int64_t>>& result) {
      std::vector<std::int64_t> expected(32, 16);
      expected[31] = 3;
      EXPECT_EQ(result.first, 16);
      EXPECT_EQ(result.second, expected);
      EXPECT_EQ(shared.local()[63], 14);
    };
    shared.lock(lock_kind::exclusive, self);
    const auto locked = operate();
    check(locked);
    shared.unlock(self);
    shared.post(std::span(&self, 1));
    shared.start(std::span(&self, 1));
    const auto started = operate();
    shared.complete();
    shared.wait();
    check(started);
    shared.fence(window_assert::no_precede);
    const auto fenced = operate();
    shared.fence(window_assert::no_succeed);
    check(fenced);
  });
}

// A large accumulate through a layout, and a small one of its last element on a quicker path.
TEST_P(operated_windows, small_replace_does_not_overtake_large_accumulate) {
  run([](world& w) {
    constexpr std::size_t count = 1 << 15;  // 256 KiB of data
    std::vector<std::int64_t> own(2 * count);
    auto shared = w.allocate_window<std::int64_t>(2 * count);
    auto created = w.create_window(std::span(own));
    const auto every_second = std::make_shared<const layout>(layout::strided(count, 8, 16));
    const std::vector<std::int64_t> ones(count, 1);
    const rank_t next = next_of(w);
    for (window<std::int64_t>* const on : {&shared, &created}) {
      on->lock_all();
      for (std::int64_t round = 1; round <= 3; ++round) {
        std::int64_t before = -1;
        on->accumulate(sum, next, 0, every_second, ones);
        on->accumulate(replace, next, 2 * count - 2, 100 * round);
        on->accumulate(sum, next, 0, every_second, ones);
        on->compare_and_swap(next, 2 * count - 2, 100 * round + 1, 0, before);
        on->flush_local(next);
        EXPECT_EQ(before, 100 * round + 1);
      }
      on->unlock_all();
      w.barrier();
      EXPECT_EQ(on->local()[0], 6);
      EXPECT_EQ(on->local()[2 * count - 2], 0);
      EXPECT_EQ(on->local()[2 * count - 4], 6);
      w.barrier();
    }
  });
}

/// Combines elements of one type on all paths: by processor atomics where ranks map them, and by records elsewhere.
/// Sums of unsigned integers wrap.
template <class T>
void combine_on_all_paths(world& w) {
  constexpr std::size_t count = 5;  // small ones share words
  auto shared = w.allocate_window<T>(count);
  std::vector<T> own(count);
  auto created = w.create_window(std::span(own));
  const std::vector<T> ones(count, T{1});
  const auto odd = std::make_shared<const layout>(layout::strided(2, sizeof(T), 2 * sizeof(T)));
  constexpr int times = 50;
  for (window<T>* const on : {&shared, &created}) {
    on->lock_all();
    for (int i = 0; i < times; ++i) {
      on->accumulate(sum, 0, 0, ones);
      on->accumulate(sum, 0, 1, odd, std::span(ones).first(2));
      T ignored{};
      on->fetch_and_op(sum, 0, static_cast<std::size_t>(w.rank()) % count, T{1}, ignored);
      for (T seen{}, expected{};; expected = seen) {
        on->compare_and_swap(0, 3, expected, static_cast<T>(expected + T{1}), seen);
        on->flush(0);
        if (seen == expected) break;
      }
    }
    on->unlock_all();
  }
  w.barrier();
  if (w.rank() == 0) {
    for (std::size_t i = 0; i < count; ++i) {
      int per_round = w.size() * (1 + (i % 2 == 1 ? 1 : 0) + (i == 3 ? 1 : 0));
      for (const rank_t each : everyone(w)) per_round += static_cast<std::size_t>(each) % count == i ? 1 : 0;
      for (window<T>* const on : {&shared, &created})
        EXPECT_EQ(on->local()[i], static_cast<T>(times * per_round)) << sizeof(T) << " bytes, element " << i;
    }
  }
  w.barrier();
}

TEST_P(operated_windows, atomics_of_each_size_are_exact_together) {
  run([](world& w) {
    combine_on_all_paths<std::uint8_t>(w);
    combine_on_all_paths<std::uint16_t>(w);
    combine_on_all_paths<std::uint32_t>(w);
    combine_on_all_paths<std::uint64_t>(w);
    combine_on_all_paths<double>(w);
  });
}

TEST_P(operated_windows, pairs_change_as_a_whole) {
  run([](world& w) {
    using pair = value_location<double, int>;
    constexpr int times = 120;
    auto maxima = w.allocate_window<pair>(1);
    maxima.lock_all();
    for (int i = 0; i < times; ++i) {
      const pair ours{i * 10.0 + w.rank(), w.rank()};
      maxima.accumulate(maximum_location, 0, 0, ours);
      if (i % 16 != 0) continue;
      pair now{};
      maxima.get_accumulate(no_op, 0, 0, {}, std::span(&now, 1));
      maxima.flush(0);
      EXPECT_GE(now.value, ours.value);
      EXPECT_EQ(static_cast<int>(now.value) % 10, now.location) << "half of another pair";
    }
    maxima.unlock_all();
    w.barrier();
    if (w.rank() == 0) {
      EXPECT_EQ(maxima.local()[0], (pair{(times - 1) * 10.0 + (w.size() - 1), w.size() - 1}));
    }
    w.barrier();
  });
}

// Elements of two types in one window, as interfaces without types of elements have them. Sums of long doubles are
// records also for memory that this rank maps; a load or a processor atomic must not overtake them.
TEST_P(operated_windows, atomics_do_not_overtake_records_of_other_types) {
  run([](world& w) {
    using detail::operation_kind;
    constexpr std::size_t count = 500, element = sizeof(long double);
    detail::window_core shared(w.team(), std::nullopt, count * element, element, {});
    const rank_t next = next_of(w);
    const std::vector<long double> numbers(count, 1.0L);
    std::uint64_t mantissa = 0;
    std::memcpy(&mantissa, numbers.data(), sizeof mantissa);
    const auto combine = [&](accumulate_op op, std::uint64_t at, bytes_view from, mutable_bytes into,
                             element_type type) {
      shared.begin("test", {.kind = operation_kind::accumulate,
                            .target = next,
                            .at = at,
                            .from = from,
                            .into = into,
                            .op = op,
                            .type = type});
    };
    constexpr std::uint64_t last = (count - 1) * element;
    constexpr std::uint64_t one = 1;
    shared.lock(lock_kind::shared, next, window_assert::none);
    for (int round = 0; round < 5; ++round) {
      std::uint64_t before = 0, swapped = 0;
      combine(replace, 0, std::as_bytes(std::span(numbers)), {}, element_type::long_double);
      EXPECT_EQ(shared.try_accumulate(next, last, 8, [](std::byte*) {}),
                !shared.mapped(next).empty() && next == w.rank() && w.team().size() == 1);
      combine(sum, last, std::as_bytes(std::span(&one, 1)), std::as_writable_bytes(std::span(&before, 1)),
              element_type::uint64);
      shared.begin("test", {.kind = operation_kind::compare_swap,
                            .target = next,
                            .at = last,
                            .into = std::as_writable_bytes(std::span(&swapped, 1)),
                            .swap = {.expected = mantissa + 1, .desired = 5}});
      shared.flush_local(next);
      EXPECT_EQ(before, mantissa);
      EXPECT_EQ(swapped, mantissa + 1);
      if (round % 2 == 0) shared.flush(next);
    }
    shared.unlock(next);
    w.barrier();
    std::uint64_t now = 0;
    std::memcpy(&now, shared.memory().data() + last, sizeof now);
    EXPECT_EQ(now, 5u);
    w.barrier();
  });
}

// Requests and completion

TEST_P(operated_windows, flush_ends_operations_and_requests_still_wait) {
  run([](world& w) {
    constexpr std::size_t count = 300;
    auto shared = w.allocate_window<std::int64_t>(2 * count);
    const rank_t next = next_of(w);
    std::vector<std::int64_t> sent(count), got(count), previous(count);
    std::iota(sent.begin(), sent.end(), 1);
    std::vector<window_request> requests;
    shared.lock_all();
    const auto element = [](std::vector<std::int64_t>& of, std::size_t i) { return std::span(of).subspan(i, 1); };
    for (std::size_t i = 0; i < count; ++i) requests.push_back(shared.rput(next, i, element(sent, i)));
    shared.flush(next);
    for (std::size_t i = 0; i < count; ++i) {
      requests.push_back(shared.rget(next, i, element(got, i)));
      requests.push_back(shared.raccumulate(sum, next, count + i, element(sent, i)));
      requests.push_back(shared.rget_accumulate(sum, next, count + i, element(sent, i), element(previous, i)));
    }
    shared.flush_all();
    EXPECT_EQ(got, sent);
    EXPECT_EQ(previous, sent);
    for (; !requests.empty(); requests.pop_back()) {
      EXPECT_TRUE(requests.back().test());
      requests.back().wait();
    }
    shared.unlock_all();
    w.barrier();
    EXPECT_EQ(shared.local()[2 * count - 1], 2 * static_cast<std::int64_t>(count));
    w.barrier();
  });
}

/// Starts an operation on all elements of the target, which are 0 before.
struct filling_operation {
  std::string_view name;
  void (*start)(window<std::int64_t>& on, rank_t target, std::span<const std::int64_t> values);
};

/// So many elements, of which the last one comes first.
std::shared_ptr<const layout> backwards(std::size_t count) {
  return std::make_shared<const layout>(layout::strided(count, 8, -8));
}

constexpr filling_operation filling_operations[]{
    {"put", [](auto& on, rank_t target, auto values) { on.put(target, 0, values); }},
    {"accumulate", [](auto& on, rank_t target, auto values) { on.accumulate(sum, target, 0, values); }},
    {"put with a layout",
     [](auto& on, rank_t target, auto values) { on.put(target, values.size() - 1, backwards(values.size()), values); }},
    {"put with layouts on both sides", [](auto& on, rank_t target, auto values) {
       const auto there = backwards(values.size());
       on.put(target, values.size() - 1, there, {&values.back(), there});
     }}};

// The local call comes first; flush or unlock follow when the buffer has other values.
TEST_P(operated_windows, buffers_are_free_after_flush_local) {
  run([](world& w) {
    constexpr std::size_t count_max = 300'000 / 8;
    std::vector<std::int64_t> own(count_max);
    auto shared = w.allocate_window<std::int64_t>(count_max);
    auto created = w.create_window(std::span(own));
    const rank_t next = next_of(w);
    std::int64_t value = 0;
    const auto run_with = [&](window<std::int64_t>& on, std::size_t count, const filling_operation& operation,
                              bool of_all) {
      ++value;
      std::vector<std::int64_t> sent(count, value);
      on.lock(lock_kind::exclusive, next);
      operation.start(on, next, sent);
      of_all ? on.flush_local_all() : on.flush_local(next);
      std::ranges::fill(sent, -1);
      on.unlock(next);
      w.barrier();
      EXPECT_EQ(std::ranges::count(on.local().first(count), value), static_cast<std::ptrdiff_t>(count))
          << operation.name << " of " << count << " elements";
      std::ranges::fill(on.local(), 0);
      w.barrier();
    };
    for (window<std::int64_t>* const on : {&shared, &created}) {
      for (const std::size_t count : {std::size_t{1}, std::size_t{3000 / 8}, count_max}) {
        for (const filling_operation& operation : filling_operations) {
          for (const bool of_all : {false, true}) run_with(*on, count, operation, of_all);
        }
      }
    }
  });
}

/// Virtual time at which rank 0 sees the put of rank 1, which calls nothing of amity until `idle_until_ns`.
std::uint64_t time_of_arrival(const std::function<void(window<int>&)>& send) {
  constexpr std::uint64_t idle_until_ns = 1'000'000'000;
  std::uint64_t seen_at_ns = 0;
  fabric::sim::run(2, {}, [&](fabric::fabric& whole) {
    fabric::testing::poorer own(whole, false);
    world w(own, {});
    auto shared = w.allocate_window<int>(1);
    if (w.rank() == 1) {
      shared.lock(lock_kind::exclusive, 0);
      send(shared);
      testing::idle_until(whole, idle_until_ns);
      shared.unlock(0);
    } else {
      while (std::atomic_ref(shared.local()[0]).load() == 0) static_cast<void>(w.poll());
      seen_at_ns = whole.now_ns();
    }
    w.barrier();
    return 0;
  });
  return seen_at_ns;
}

// One small put does not fill a packet. What completes it locally also sends it.
TEST(window_schedules, local_completion_sends_packets_that_are_not_full) {
  constexpr std::uint64_t soon_ns = 100'000;
  const int one = 1;
  EXPECT_LT(time_of_arrival([](window<int>& w) {
              w.put(0, 0, 1);
              w.flush_local(0);
              w.flush_local(0);
            }),
            soon_ns);
  EXPECT_LT(time_of_arrival([](window<int>& w) {
              w.put(0, 0, 1);
              w.flush_local_all();
            }),
            soon_ns);
  EXPECT_LT(time_of_arrival([&one](window<int>& w) { w.rput(0, 0, std::span(&one, 1)).wait(); }), soon_ns);
  EXPECT_LT(time_of_arrival([&one](window<int>& w) {
              window_request sent = w.rput(0, 0, std::span(&one, 1));
              while (!sent.test()) {
              }
            }),
            soon_ns);
}

}  // namespace
}  // namespace amity
