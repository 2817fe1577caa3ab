/// Rules of epochs and operations that programs rely on: several locks at once, promises, order, and errors.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "amity/window/window.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::everyone;
using testing::next_of;
using testing::previous_of;
using enum accumulate_op;

class ruled_windows : public testing::on_paths {};
INSTANTIATE_TEST_SUITE_P(window, ruled_windows, ::testing::ValuesIn(testing::jobs_of_windows({1, 2, 3, 4}, 3)),
                         testing::name_of_job);

// Locks

/// Adds 1 to both words of a target by plain reads and writes.
void add_to_both(window<std::uint64_t>& on, rank_t target) {
  std::array<std::uint64_t, 2> seen{};
  on.get(target, 0, std::span(seen));
  on.flush_local(target);
  EXPECT_EQ(seen[0], seen[1]);
  on.put(target, 0, seen[0] + 1);
  on.put(target, 1, seen[1] + 1);
}

// All ranks request the locks in the order of their numbers, and release them in different orders.
TEST_P(ruled_windows, several_locks_are_held_at_once) {
  run([](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(3);
    const auto size = static_cast<std::uint64_t>(w.size());
    constexpr std::uint64_t rounds = 8;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      for (const rank_t target : everyone(w)) shared.lock(lock_kind::exclusive, target);
      for (const rank_t target : everyone(w)) add_to_both(shared, target);
      std::vector<rank_t> order = everyone(w);
      std::ranges::rotate(order, order.begin() + static_cast<std::ptrdiff_t>(round % size));
      if (w.rank() % 2 == 0) std::ranges::reverse(order);
      for (std::size_t i = 0; i < order.size(); ++i) {
        shared.unlock(order[i]);
        // The other locks are still held.
        for (std::size_t left = i + 1; left < order.size(); ++left) shared.accumulate(sum, order[left], 2, 1);
        EXPECT_THROW(shared.put(order[i], 0, 0), error);
      }
    }
    w.barrier();
    EXPECT_EQ(shared.local()[0], rounds * size);
    EXPECT_EQ(shared.local()[1], rounds * size);
    EXPECT_EQ(w.sum(shared.local()[2]), rounds * size * (size * (size - 1) / 2));
  });
}

TEST_P(ruled_windows, shared_and_exclusive_locks_are_held_together) {
  run([](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(2);
    constexpr std::uint64_t rounds = 6;
    const auto writes_to = [&](std::uint64_t round, rank_t origin) {
      return static_cast<rank_t>((round + static_cast<std::uint64_t>(origin)) % static_cast<std::uint64_t>(w.size()));
    };
    for (std::uint64_t round = 0; round < rounds; ++round) {
      const rank_t written = writes_to(round, w.rank());
      for (const rank_t target : everyone(w))
        shared.lock(target == written ? lock_kind::exclusive : lock_kind::shared, target);
      for (const rank_t target : everyone(w)) {
        std::array<std::uint64_t, 2> seen{};
        shared.get(target, 0, std::span(seen));
        shared.flush_local(target);
        EXPECT_EQ(seen[0], seen[1]);
      }
      add_to_both(shared, written);
      for (const rank_t target : everyone(w)) shared.unlock(target);
    }
    w.barrier();
    EXPECT_EQ(shared.local()[0], rounds);
    EXPECT_EQ(shared.local()[1], rounds);
  });
}

// Ranks take turns, so that a promise of no_check is kept.
TEST_P(ruled_windows, promised_locks_mix_with_acquired_locks_and_need_unlock) {
  run([](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(2);
    for (int round = 0; round < 2; ++round) {
      for (const rank_t turn : everyone(w)) {
        if (turn == w.rank()) {
          for (const rank_t target : everyone(w)) {
            const bool is_promised = (target + round) % 2 == 0;
            shared.lock(target % 3 == 0 ? lock_kind::shared : lock_kind::exclusive, target,
                        is_promised ? window_assert::no_check : window_assert::none);
          }
          for (const rank_t target : everyone(w)) {
            add_to_both(shared, target);
            EXPECT_THROW(shared.lock(lock_kind::shared, target, window_assert::no_check), error);
          }
          EXPECT_THROW(shared.fence(), error);
          for (const rank_t target : everyone(w)) shared.unlock(target);
          EXPECT_THROW(shared.unlock(0), error);
        }
        w.barrier();
      }
    }
    EXPECT_EQ(shared.local()[0], 2 * static_cast<std::uint64_t>(w.size()));
  });
}

TEST_P(ruled_windows, each_assertion_of_locks_works) {
  run([](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(2);
    std::uint64_t expected = 0;
    for (const window_assert promised : {window_assert::none, window_assert::no_check}) {
      for (const lock_kind kind : {lock_kind::shared, lock_kind::exclusive, lock_kind::none}) {  // none: lock_all
        for (const rank_t turn : everyone(w)) {
          if (turn == w.rank()) {
            kind == lock_kind::none ? shared.lock_all(promised) : shared.lock(kind, next_of(w), promised);
            add_to_both(shared, next_of(w));
            kind == lock_kind::none ? shared.unlock_all() : shared.unlock(next_of(w));
          }
          w.barrier();
        }
        EXPECT_EQ(shared.local()[0], ++expected);
        w.barrier();
      }
    }
  });
}

// Posts

// no_put excludes changes by operations, so that origins only read then.
TEST_P(ruled_windows, each_assertion_of_posts_works) {
  run([](world& w) {
    auto shared = w.allocate_window<std::uint64_t>(2);
    const rank_t next = next_of(w), before = previous_of(w);
    const auto rank = static_cast<std::uint64_t>(w.rank());
    for (std::uint64_t which = 0; which < 16; ++which) {
      const bool is_promised = which % 2 != 0, is_not_stored = which / 2 % 2 != 0, is_not_put = which / 4 % 2 != 0;
      if (!is_not_stored) shared.local()[0] = 100 * which + rank;
      const std::uint64_t held = shared.local()[0];
      const window_assert on_start = is_promised ? window_assert::no_check : window_assert::none;
      shared.post(std::span(&before, 1), on_start | (is_not_stored ? window_assert::no_store : window_assert::none) |
                                             (is_not_put ? window_assert::no_put : window_assert::none));
      if (is_promised) w.barrier();  // posts are called before starts
      shared.start(std::span(&next, 1), on_start);
      std::uint64_t seen = 0;
      shared.get(next, 0, seen);
      if (!is_not_put) shared.put(next, 1, which);
      shared.complete();
      shared.wait();
      if (!is_not_put) {
        EXPECT_EQ(shared.local()[1], which);
      }
      EXPECT_EQ(shared.local()[0], held);
      const std::vector<std::uint64_t> all = testing::exchange_words(w, held);
      EXPECT_EQ(seen, all[static_cast<std::size_t>(next)]);
    }
  });
}

// Order

TEST_P(ruled_windows, get_before_flush_local_does_not_see_put_after_it) {
  run([](world& w) {
    constexpr std::size_t count = 400;
    auto shared = w.allocate_window<std::uint64_t>(count);
    const rank_t next = next_of(w);
    std::vector<std::uint64_t> seen(count), sent(count);
    for (std::uint64_t round = 1; round <= 10; ++round) {
      const std::size_t used = round % 2 == 0 ? count : 1;
      sent.assign(count, round);
      shared.lock(lock_kind::exclusive, next);
      shared.get(next, 0, std::span(seen).first(used));
      round % 3 == 0 ? shared.flush_local_all() : shared.flush_local(next);
      const std::vector<std::uint64_t> before = seen;
      EXPECT_EQ(seen[0], round - 1);
      shared.put(next, 0, std::span<const std::uint64_t>(sent));
      shared.unlock(next);
      EXPECT_EQ(seen, before);
    }
    w.barrier();
  });
}

// Each origin has its own pair at each target, so that the order of its operations gives the result.
TEST_P(ruled_windows, locations_and_replacements_of_pairs_keep_order) {
  using pair = value_location<double, int>;
  run([](world& w) {
    auto shared = w.allocate_window<pair>(static_cast<std::size_t>(w.size()) + 1);
    const auto own = static_cast<std::size_t>(w.rank());
    const auto common = static_cast<std::size_t>(w.size());
    shared.lock_all();
    for (int round = 1; round <= 5; ++round) {
      for (const rank_t target : everyone(w)) {
        pair first{}, second{}, third{};
        shared.accumulate(replace, target, own, pair{1.0 * round, 7});
        shared.accumulate(maximum_location, target, own, pair{round + 2.0, 5});
        shared.fetch_and_op(maximum_location, target, own, pair{round + 2.0, 3}, first);  // equal: the smaller location
        shared.fetch_and_op(replace, target, own, pair{-1.0, round}, second);
        shared.accumulate(maximum_location, target, own, pair{-2.0, 1});
        shared.get_accumulate(no_op, target, own, {}, std::span(&third, 1));
        shared.accumulate(minimum_location, target, own, pair{-1.0, 9});
        shared.accumulate(maximum_location, target, common, pair{10.0 * round, w.rank()});
        shared.flush_local(target);
        EXPECT_EQ(first, (pair{round + 2.0, 5}));
        EXPECT_EQ(second, (pair{round + 2.0, 3}));
        EXPECT_EQ(third, (pair{-1.0, round}));
      }
    }
    shared.unlock_all();
    w.barrier();
    for (std::size_t origin = 0; origin < common; ++origin) EXPECT_EQ(shared.local()[origin], (pair{-1.0, 5}));
    EXPECT_EQ(shared.local()[common], (pair{50.0, 0}));
  });
}

// Errors

/// A call that is refused, and parts of its error.
struct mistake {
  std::string_view call;
  std::function<void()> run;
  std::string_view text, remedy{};
};

void expect_mistakes(const world& w, const std::vector<mistake>& all) {
  for (const mistake& each : all) {
    const std::string place = "amity: window::" + std::string(each.call) + " (rank " + std::to_string(w.rank()) + "): ";
    testing::expect_error(each.run, {place, "window 'grid': ", each.text, each.remedy});
  }
}

// Each call has no effect, on every path. The error names the call and the rank.
TEST_P(ruled_windows, errors_name_the_mistake_and_change_nothing) {
  run([](world& w) {
    auto shared = w.allocate_window<int>(4, {.name = "grid"});
    const rank_t next = next_of(w), none = w.size();
    const std::vector<rank_t> self{w.rank()};
    std::vector<int> two(2);
    int before = 0;
    const auto put = [&] { shared.put(next, 0, 1); };
    constexpr std::string_view no_access = "no access epoch is open", begin = "call fence, start";
    constexpr std::string_view between = "between lock and unlock", out_of_range = "are out of range";
    expect_mistakes(
        w,
        {{"put", put, no_access, begin},
         {"put", [&] { shared.put(next, 4, 1); }, no_access, begin},  // the place is wrong, too
         {"get", [&] { shared.get(next, 0, std::span(two)); }, no_access, begin},
         {"accumulate", [&] { shared.accumulate(sum, next, 0, 1); }, no_access, begin},
         {"fetch_and_op", [&] { shared.fetch_and_op(sum, next, 0, 1, before); }, no_access, begin},
         {"compare_and_swap", [&] { shared.compare_and_swap(next, 0, 0, 1, before); }, no_access, begin},
         {"get_accumulate", [&] { shared.get_accumulate(no_op, next, 0, {}, std::span(two)); }, no_access, begin},
         {"unlock", [&] { shared.unlock(next); }, no_access, "call lock for this rank"},
         {"unlock_all", [&] { shared.unlock_all(); }, no_access, "call lock_all before it"},
         {"complete", [&] { shared.complete(); }, no_access, "call start"},
         {"wait", [&] { shared.wait(); }, "no exposure epoch is open", "call post"},
         {"test", [&] { shared.test(); }, "no exposure epoch is open", "call post"},
         {"flush", [&] { shared.flush(next); }, no_access, between},
         {"flush_all", [&] { shared.flush_all(); }, no_access, between},
         {"flush_local", [&] { shared.flush_local(next); }, no_access, between},
         {"flush_local_all", [&] { shared.flush_local_all(); }, no_access, between},
         {"lock", [&] { shared.lock(lock_kind::none, next); }, "a lock of kind none", "choose shared or exclusive"}});

    shared.start({});
    constexpr std::string_view of_start = "the epoch of a start is open";
    expect_mistakes(w, {{"start", [&] { shared.start({}); }, of_start, "call complete"},
                        {"put", put, "is not in the group", "name it in the call of start"},
                        {"unlock_all", [&] { shared.unlock_all(); }, of_start, "call lock_all before it"},
                        {"lock_all", [&] { shared.lock_all(); }, of_start, "call complete before it"},
                        {"fence", [&] { shared.fence(); }, of_start, "call complete before it"}});
    shared.complete();

    shared.post(self);
    constexpr std::string_view of_post = "the epoch of a post is open", wait = "call wait before it";
    expect_mistakes(w, {{"post", [&] { shared.post(self); }, of_post, wait},
                        {"post", [&] { shared.post({}); }, of_post, wait},
                        {"fence", [&] { shared.fence(); }, of_post, wait}});
    shared.start(self);
    shared.complete();
    shared.wait();

    shared.lock(lock_kind::shared, next);
    constexpr std::string_view holds = "this rank holds locks", memory = "the target's memory";
    expect_mistakes(
        w, {{"lock", [&] { shared.lock(lock_kind::shared, next); }, "holds a lock of rank", "unlock it"},
            {"lock_all", [&] { shared.lock_all(); }, holds, "unlock each rank before it"},
            {"unlock_all", [&] { shared.unlock_all(); }, holds, "call lock_all before it"},
            {"put", [&] { shared.put(none, 0, 1); }, "is not a member", "name one of 0 to"},
            {"put", [&] { shared.put(next, 4, 1); }, "4 bytes at offset 16, element 4, are out of range", memory},
            {"get", [&] { shared.get(next, 3, std::span(two)); }, "8 bytes at offset 12, element 3, are out of range",
             memory},
            {"accumulate", [&] { shared.accumulate(sum, next, 4, 1); }, out_of_range, memory},
            {"fetch_and_op", [&] { shared.fetch_and_op(sum, next, 4, 1, before); }, out_of_range, memory},
            {"compare_and_swap", [&] { shared.compare_and_swap(next, 4, 0, 1, before); }, out_of_range, memory},
            {"accumulate", [&] { shared.accumulate(maximum_location, next, 0, 1); },
             "maximum_location is not defined on", "choose another operation"},
            {"flush", [&] { shared.flush(none); }, "is not a member", "name one of 0 to"}});
    shared.unlock(next);

    shared.lock_all();
    constexpr std::string_view holds_all = "holds the locks of lock_all";
    expect_mistakes(w, {{"lock_all", [&] { shared.lock_all(); }, holds_all, "call unlock_all before it"},
                        {"lock", [&] { shared.lock(lock_kind::shared, next); }, holds_all, "call unlock_all"},
                        {"unlock", [&] { shared.unlock(next); }, holds_all, "call lock for this rank"}});
    shared.unlock_all();
    w.barrier();
    EXPECT_EQ(before, 0);
    EXPECT_EQ(two, std::vector<int>(2));
    for (const int each : shared.local()) EXPECT_EQ(each, 0);
    w.barrier();
  });
}

TEST(window_errors, name_wrong_arguments) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    const rank_t other = next_of(w);  // operations there are records
    auto on = w.allocate_window<int>(4, {.name = "grid"});
    std::vector<int> two(2), three(3), four(4);
    const std::shared_ptr<const layout> null;
    const auto layout_of = [](const layout& made) { return std::make_shared<const layout>(made); };
    const auto one = layout_of(layout::contiguous(4)), six_bytes = layout_of(layout::contiguous(6)),
               all = layout_of(layout::contiguous(16)), halves = layout_of(layout::strided(4, 2, 4)),
               apart = layout_of(layout::strided(4, 4, 8)),
               odd = layout_of(layout::indexed({{.offset = 2, .bytes = 4}}));
    const layout_span<const int> two_apart(four.data(), layout_of(layout::strided(2, 4, 8))),
        three_halves(four.data(), layout_of(layout::strided(3, 2, 4)));
    constexpr std::string_view is_null = "the layout is a null pointer", no_elements = "not whole elements of";
    const auto two_ints = layout_of(layout::contiguous(8));
    auto bytes = on.as<short>();
    const std::span<int> null_span(static_cast<int*>(nullptr), 2);
    constexpr auto wrong_op = static_cast<accumulate_op>(99);
    constexpr auto wrong_kind = static_cast<lock_kind>(77);
    constexpr auto unknown = static_cast<window_assert>(64) | window_assert::no_check;
    constexpr std::string_view no_promises = "0x50 is not a set of promises", null_ranks = "2 ranks at a null pointer";
    const std::span<const rank_t> no_ranks(static_cast<const rank_t*>(nullptr), 2);
    expect_mistakes(w, {{"post",
                         [&] {
                           on.post(std::vector<rank_t>{1, 1});
                         },
                         "rank 1 is named twice"},
                        {"post", [&] { on.post(no_ranks); }, null_ranks, "pass a span of ranks"},
                        {"start", [&] { on.start(no_ranks); }, null_ranks},
                        {"start", [&] { on.start({}, unknown); }, no_promises, "enumerators of window_assert"},
                        {"post", [&] { on.post({}, unknown); }, no_promises},
                        {"fence", [&] { on.fence(unknown); }, no_promises},
                        {"lock", [&] { on.lock(lock_kind::shared, 1, unknown); }, no_promises},
                        {"lock_all", [&] { on.lock_all(unknown); }, no_promises},
                        {"lock", [&] { on.lock(wrong_kind, 1); }, "a lock of kind 77", "choose shared or exclusive"},
                        {"lock", [&] { on.lock(lock_kind::all, 1); }, "a lock of kind all"},
                        {"mapped", [&] { on.mapped(-1); }, "rank -1 is not a member", "name one of 0 to 1"},
                        {"mapped", [&] { on.mapped(2); }, "rank 2 is not a member"}});
    on.lock_all();
    expect_mistakes(
        w, {{"get_accumulate", [&] { on.get_accumulate(sum, 1, 0, three, two); },
             "12 bytes of operands, and 8 for what was there before"},
            {"get_accumulate", [&] { on.get_accumulate(sum, 1, 0, {}, two); }, "sum without operands"},
            {"put", [&] { on.put(1, 4, 1); },
             "4 bytes at offset 16, element 4, are out of range: ", "rank 1 has 16 bytes, 4 elements"},
            {"put", [&] { on.put(1, std::size_t{1} << 62, 1); }, "4 bytes at an index above 4611686018427387903 are"},
            {"put", [&] { bytes.put(1, 16, short{1}); }, "2 bytes at offset 16 are out of range", "has 16 bytes;"},
            {"put", [&] { on.put(other, 0, null_span); }, "8 bytes at a null pointer", "pass a span of elements"},
            {"get", [&] { on.get(other, 0, null_span); }, "8 bytes at a null pointer"},
            {"put", [&] { on.put(other, 0, two_ints, null_span); }, "8 bytes at a null pointer"},
            {"accumulate", [&] { on.accumulate(sum, other, 0, null_span); }, "8 bytes at a null pointer"},
            {"accumulate", [&] { on.accumulate(wrong_op, 1, 0, 1); }, "99 is not an accumulate_op", "sum to no_op"},
            {"fetch_and_op", [&] { on.fetch_and_op(wrong_op, 1, 0, 1, two[0]); }, "99 is not an accumulate_op"},
            {"get_accumulate", [&] { on.get_accumulate(wrong_op, 1, 0, two, two); }, "99 is not an accumulate_op"},
            {"accumulate", [&] { on.accumulate(wrong_op, 1, 0, one, std::span(two).first(1)); }, "99 is not an"},
            {"put", [&] { on.put(1, 0, null, two); }, is_null},
            {"accumulate", [&] { on.accumulate(sum, 1, 0, null, two); }, is_null},
            {"get_accumulate", [&] { static_cast<void>(on.rget_accumulate(sum, 1, 0, null, four, four)); }, is_null},
            {"put", [&] { on.put(1, 0, apart, two); }, "8 bytes of data for a layout of 16 bytes"},
            {"put", [&] { on.put(1, 0, all, two_apart); }, "8 bytes of data for a layout of 16 bytes"},
            {"get_accumulate", [&] { on.get_accumulate(sum, 1, 0, one, four, four); },
             "16 bytes of data for a layout of 4 bytes"},
            {"accumulate", [&] { on.accumulate(sum, 1, 0, halves, two); }, no_elements},
            {"accumulate", [&] { on.accumulate(sum, 1, 0, six_bytes, three_halves); }, no_elements},
            {"accumulate", [&] { on.accumulate(sum, 1, 0, odd, std::span(four).first(1)); },
             "not multiples of the 4 bytes of int"}});
    on.unlock_all();
    w.barrier();
  });
}

TEST(window_errors, active_messages_name_wrong_arguments) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    am_table table;
    std::size_t seen = 0;
    const am_operation note = table.add([&](const am_call& call) { seen += call.persistent.size(); });
    const am_operation vector = table.add_vector([](const am_call&) {});
    auto on = w.allocate_window<std::uint64_t>(8, {.name = "grid", .messages = {.handlers = &table}});
    std::vector<int> two(2);
    std::vector<std::uint32_t> counts(1);
    const std::span<int> null_span(static_cast<int*>(nullptr), 2);
    const std::span<std::uint32_t> null_counts(static_cast<std::uint32_t*>(nullptr), 1);
    const auto send = [&](std::size_t index, std::size_t count, std::span<const int> input, std::span<int> output) {
      return [=, &on] { on.am(note, 1, index, count, 1, input, output); };
    };
    constexpr std::string_view is_null = "input, output or output counts are a null pointer";
    on.lock_all();
    expect_mistakes(
        w,
        {{"am", send(0, (std::size_t{1} << 61) + 5, two, two), "2305843009213693957 elements of 8 bytes are out of"},
         {"am", send(0, 9, two, two), "72 bytes at offset 0, element 0, are out of range", "64 bytes, 8 elements"},
         {"am", send(5, 4, two, two), "32 bytes at offset 40, element 5, are out of range"},
         {"am", send(std::size_t{1} << 61, 1, two, two), "8 bytes at an index above 2305843009213693951"},
         {"am", send(0, 1, null_span, two), is_null, "pass spans"},
         {"am", send(0, 1, two, null_span), is_null},
         {"amv", [&] { on.amv(vector, 1, 0, 1, 1, std::span<const int>(two), std::span(two), null_counts); }, is_null},
         {"attach_buffer",
          [&] {
            on.attach_buffer({static_cast<std::byte*>(nullptr), 8});
          },
          "8 bytes at"}});
    on.unlock_all();
    w.barrier();
    EXPECT_EQ(seen, 0u);
    testing::expect_error([&] { table.add(nullptr); }, {"am_table::add", "the handler is empty"});
  });
}

/// What ends the job if ranks make a window so.
std::string failure_of_making(const testing::world_body& make) {
  return testing::failure_of([&] { testing::run_worlds(testing::threads("threads"), 2, make); });
}

TEST(window_errors, creation_names_wrong_arguments) {
  const auto with = [](const window_options& options) {
    return failure_of_making([=](world& w) { w.allocate_window<int>(1, options); });
  };
  testing::expect_parts(with({.name = "grid", .protocol = static_cast<window_protocol>(99)}),
                        {"window (rank ", "window 'grid': 99 is not a window_protocol", "automatic to rma"});
  for (const double pack_below : {1.5, std::numeric_limits<double>::quiet_NaN()}) {
    testing::expect_parts(with({.name = "grid", .messages = {.pack_below = pack_below}}),
                          {"window 'grid': am_options::pack_below is ", "pass a number from 0 to 1"});
  }
  testing::expect_parts(
      failure_of_making(
          [](world& w) { w.allocate_shared_window<int>(1, {.name = "grid"}, static_cast<shared_placement>(77)); }),
      {"world::allocate_shared_window (rank ", "'grid': the placement is 77", "contiguous or separate"});
  int one = 0;
  const struct {
    std::span<int> own;
    std::string_view text;
  } cases[]{{{static_cast<int*>(nullptr), 8}, "32 bytes at address 0x0 are not memory of this program"},
            {{&one, (std::size_t{1} << 62) + 1}, "18446744073709551615 bytes at address 0x"}};
  testing::run_worlds(testing::threads("threads"), 2, [&](world& w) {
    std::vector<int> own(4);
    for (const auto& [wrong, text] : cases) {
      const bool is_wrong = w.rank() == 1;
      testing::expect_error([&] { w.create_window(is_wrong ? wrong : std::span(own), {.name = "grid"}); },
                            {is_wrong ? "world::create_window (rank 1)" : "window (rank 0)",
                             "window 'grid': ", is_wrong ? text : "rank 1 has no memory for it"});
    }
    w.barrier();
  });
}

// The last rank makes a call that differs from that of the others, which all learn of it. The world stays usable.
TEST(window_errors, creations_that_differ_are_named_on_all_ranks) {
  am_table one, other;
  one.add([](const am_call&) {});
  other.add([](const am_call& call) { std::ranges::fill(call.output, std::byte()); });
  const struct {
    std::function<void(world&)> odd;
    std::string_view odd_call;
    std::function<void(world&)> usual;
    std::string_view usual_call;
  } cases[]{
      {[](world& w) {
         std::vector<int> own(4);
         w.create_window(std::span(own), {.name = "grid"});
       },
       "create_window of elements of 4 bytes", [](world& w) { w.allocate_window<int>(4, {.name = "grid"}); },
       "allocate_window of elements of 4 bytes"},
      {[](world& w) { w.allocate_window<double>(4, {.name = "grid"}); }, "allocate_window of elements of 8 bytes",
       [](world& w) { w.allocate_window<int>(4, {.name = "grid"}); }, "allocate_window of elements of 4 bytes"},
      {[](world& w) { w.allocate_window<int>(4, {.name = "grid", .checked = true}); },
       "allocate_window of elements of 4 bytes, checked", [](world& w) { w.allocate_window<int>(4, {.name = "grid"}); },
       "allocate_window of elements of 4 bytes"},
      {[](world& w) { w.create_dynamic_window({.name = "grid"}); }, "create_dynamic_window",
       [](world& w) { w.allocate_shared_window<int>(4, {.name = "grid"}); }, "allocate_shared_window (contiguous)"},
      {[](world& w) { w.allocate_shared_window<int>(4, {.name = "grid"}, shared_placement::separate); },
       "allocate_shared_window (separate)", [](world& w) { w.allocate_shared_window<int>(4, {.name = "grid"}); },
       "allocate_shared_window (contiguous)"},
      {[&](world& w) { w.allocate_window<int>(4, {.name = "grid", .messages = {.handlers = &one}}); },
       "allocate_window of elements of 4 bytes, with handlers ",
       [](world& w) { w.allocate_window<int>(4, {.name = "grid"}); }, "allocate_window of elements of 4 bytes"},
      {[&](world& w) { w.allocate_window<int>(4, {.name = "grid", .messages = {.handlers = &one}}); }, "with handlers ",
       [&](world& w) { w.allocate_window<int>(4, {.name = "grid", .messages = {.handlers = &other}}); },
       "with handlers "},
  };
  for (const auto& job : {testing::threads("threads"), testing::simulated("sim", {})}) {
    for (const rank_t ranks : {2, 3}) {
      for (const auto& each : cases) {
        testing::run_worlds(job, ranks, [&](world& w) {
          const bool is_odd = w.rank() == w.size() - 1;
          testing::expect_error([&] { is_odd ? each.odd(w) : each.usual(w); },
                                {"window 'grid': rank ", fmt::format("rank {} ", w.size() - 1), each.odd_call,
                                 each.usual_call, "call the same function, with the same options and handlers"});
          w.allocate_window<int>(4);
        });
      }
    }
  }
}

// Calls of the other object work.
TEST(window_errors, window_that_was_moved_elsewhere_is_named) {
  testing::run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    auto from = w.allocate_window<int>(4, {.name = "grid"});
    auto on = std::move(from);
    int seen = 0;
    const std::vector<std::function<void()>> calls{
        [&] { from.fence(); },
        [&] { from.start({}); },
        [&] { from.post({}); },
        [&] { from.complete(); },
        [&] { from.wait(); },
        [&] { from.test(); },
        [&] { from.lock(lock_kind::shared, 1); },
        [&] { from.unlock(1); },
        [&] { from.lock_all(); },
        [&] { from.unlock_all(); },
        [&] { from.flush(1); },
        [&] { from.flush_all(); },
        [&] { from.flush_local(1); },
        [&] { from.flush_local_all(); },
        [&] { from.put(1, 0, 1); },
        [&] { from.get(1, 0, seen); },
        [&] { from.accumulate(sum, 1, 0, 1); },
        [&] { from.compare_and_swap(1, 0, 0, 1, seen); },
        [&] { from.rput(1, 0, std::span<const int>(&seen, 1)); },
        [&] { from.put(1, 0, std::make_shared<const layout>(layout::contiguous(4)), std::span<const int>(&seen, 1)); },
        [&] { from.am({}, 1, 0, 1, 1, std::span<const int>(), std::span<int>()); },
        [&] { from.as<short>().put(1, 0, short{1}); },
        [&] { from.local(); },
        [&] { from.mapped(0); },
        [&] { from.name(); },
        [&] { from.take_over_accumulates(); },
        [&] { from.attach_buffer({}); },
        [&] { from.counters_of(0); }};
    for (const auto& call : calls)
      testing::expect_error(call,
                            {"window::", "has been moved to another object", "use the object that it was moved to"});
    for (int i = 0; i < 200; ++i) EXPECT_THROW(from.put(1, 0, 1), error);

    on.fence();
    on.put(next_of(w), 0, 7);
    on.fence();
    EXPECT_EQ(on.local()[0], 7);
    std::vector<window<int>> several;
    several.push_back(std::move(on));
    several.push_back(w.allocate_window<int>(1));
    from = std::move(several.front());  // a window that was moved from can have another one
    several.front() = std::move(from);
    EXPECT_EQ(several.front().local()[0], 7);
    EXPECT_THROW(from.fence(), error);
    several.front().fence();

    auto dynamic = w.create_dynamic_window();
    const auto moved = std::move(dynamic);
    testing::expect_error([&] { dynamic.attach(std::span(&seen, 1)); }, {"window::attach", "has been moved"});
    testing::expect_error([&] { dynamic.as<int>().put(1, 0, 1); }, {"window::put", "has been moved"});
  });
}

TEST_P(ruled_windows, layouts_out_of_range_are_errors_at_origin) {
  run([](world& w) {
    auto shared = w.allocate_window<int>(8, {.name = "grid"});
    const rank_t next = next_of(w);
    std::vector<int> two{1, 2};
    const auto after = std::make_shared<const layout>(layout::strided(2, 4, 16));    // elements 0 and 4
    const auto before = std::make_shared<const layout>(layout::strided(2, 4, -16));  // elements 0 and -4
    shared.lock_all();
    for (const std::size_t index : {std::size_t{4}, std::size_t{8}, std::size_t{9}, std::size_t{1} << 61}) {
      testing::expect_error([&] { shared.put(next, index, after, two); }, {"window::put", "are out of range"});
      testing::expect_error([&] { shared.get(next, index, after, std::span(two)); }, {"window::get", "out of range"});
    }
    for (const std::size_t index : {std::size_t{0}, std::size_t{3}, std::size_t{8}})
      testing::expect_error([&] { shared.accumulate(sum, next, index, before, two); }, {"window::accumulate", "range"});
    shared.accumulate(sum, next, 3, after, two);
    shared.accumulate(sum, next, 4, before, two);
    shared.unlock_all();
    w.barrier();
    EXPECT_TRUE(std::ranges::equal(shared.local(), std::array{2, 0, 0, 1, 1, 0, 0, 2}));
    w.barrier();
  });
}

}  // namespace
}  // namespace amity
