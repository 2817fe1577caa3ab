/// Each operation in each kind of epoch, on each path and with each protocol, against a sequential model.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "amity/window/window.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using enum accumulate_op;
using word = std::int64_t;
using words = std::vector<word>;

/// An operation uses a part of the target's memory that no other one uses. Its elements begin as 0, 1, 2, ...
constexpr std::size_t part_words = 12;

/// `given` and `taken` have the size of a part.
struct operation_row {
  std::string_view name;
  bool needs_locks;
  std::function<void(window<word>& on, rank_t target, std::size_t at, const words& given, words& taken)> start;
  std::function<void(std::span<word> there, const words& given, words& taken)> model;
};

std::shared_ptr<const layout> every_third() { return std::make_shared<const layout>(layout::strided(4, 8, 24)); }
std::shared_ptr<const layout> irregular() {
  return std::make_shared<const layout>(
      layout::indexed({{.offset = 8, .bytes = 16}, {.offset = 80, .bytes = 8}, {.offset = 40, .bytes = 8}}));
}
constexpr std::array<std::size_t, 4> places_of_every_third{0, 3, 6, 9}, places_of_irregular{1, 2, 10, 5};

/// Calls `visit(element, index in the data)` for the elements of a layout.
template <class Visit>
void for_each_place(std::span<word> there, const std::array<std::size_t, 4>& places, Visit visit) {
  for (std::size_t i = 0; i < places.size(); ++i) visit(there[places[i]], i);
}

std::vector<operation_row> puts_and_gets() {
  return {
      {"put of a value", false,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto&) { on.put(to, at, given[0]); },
       [](auto there, auto& given, auto&) { there[0] = given[0]; }},
      {"put", false, [](auto& on, rank_t to, std::size_t at, auto& given, auto&) { on.put(to, at, std::span(given)); },
       [](auto there, auto& given, auto&) { std::ranges::copy(given, there.begin()); }},
      {"put of neighbors", false,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto&) {
         for (std::size_t i = 0; i < part_words; ++i) on.put(to, at + i, std::span(given).subspan(i, 1));
       },
       [](auto there, auto& given, auto&) { std::ranges::copy(given, there.begin()); }},
      {"put with stride", false,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto&) {
         on.put(to, at, every_third(), std::span(given).first(4));
       },
       [](auto there, auto& given, auto&) {
         for_each_place(there, places_of_every_third, [&](word& each, std::size_t i) { each = given[i]; });
       }},
      {"put with indices", false,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto&) {
         on.put(to, at, irregular(), std::span(given).first(4));
       },
       [](auto there, auto& given, auto&) {
         for_each_place(there, places_of_irregular, [&](word& each, std::size_t i) { each = given[i]; });
       }},
      {"get of a value", false,
       [](auto& on, rank_t to, std::size_t at, auto&, auto& taken) { on.get(to, at + 2, taken[0]); },
       [](auto there, auto&, auto& taken) { taken[0] = there[2]; }},
      {"get", false, [](auto& on, rank_t to, std::size_t at, auto&, auto& taken) { on.get(to, at, std::span(taken)); },
       [](auto there, auto&, auto& taken) { std::ranges::copy(there, taken.begin()); }},
      {"get with stride", false,
       [](auto& on, rank_t to, std::size_t at, auto&, auto& taken) {
         on.get(to, at, every_third(), std::span(taken).first(4));
       },
       [](auto there, auto&, auto& taken) {
         for_each_place(there, places_of_every_third, [&](word& each, std::size_t i) { taken[i] = each; });
       }},
      {"get with indices", false,
       [](auto& on, rank_t to, std::size_t at, auto&, auto& taken) {
         on.get(to, at, irregular(), std::span(taken).first(4));
       },
       [](auto there, auto&, auto& taken) {
         for_each_place(there, places_of_irregular, [&](word& each, std::size_t i) { taken[i] = each; });
       }},
  };
}

std::vector<operation_row> accumulates() {
  return {
      {"accumulate of a value", false,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto&) { on.accumulate(sum, to, at + 1, given[1]); },
       [](auto there, auto& given, auto&) { there[1] += given[1]; }},
      {"accumulate", false,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto&) {
         on.accumulate(maximum, to, at, std::span(given));
       },
       [](auto there, auto& given, auto&) {
         for (std::size_t i = 0; i < part_words; ++i) there[i] = std::max(there[i], given[i]);
       }},
      {"accumulate with stride", false,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto&) {
         on.accumulate(product, to, at, every_third(), std::span(given).first(4));
       },
       [](auto there, auto& given, auto&) {
         for_each_place(there, places_of_every_third, [&](word& each, std::size_t i) { each *= given[i]; });
       }},
      {"accumulate with indices", false,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto&) {
         on.accumulate(sum, to, at, irregular(), std::span(given).first(4));
       },
       [](auto there, auto& given, auto&) {
         for_each_place(there, places_of_irregular, [&](word& each, std::size_t i) { each += given[i]; });
       }},
      {"accumulates in their order", false,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto&) {
         on.accumulate(sum, to, at, std::span(given));
         on.accumulate(replace, to, at + 4, given[0]);
         on.accumulate(product, to, at, every_third(), std::span(given).first(4));
         on.accumulate(sum, to, at + 4, given[1]);
       },
       [](auto there, auto& given, auto&) {
         for (std::size_t i = 0; i < part_words; ++i) there[i] += given[i];
         for_each_place(there, places_of_every_third, [&](word& each, std::size_t i) { each *= given[i]; });
         there[4] = given[0] + given[1];
       }},
      {"get_accumulate", false,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto& taken) {
         on.get_accumulate(bit_xor, to, at, std::span(given), std::span(taken));
       },
       [](auto there, auto& given, auto& taken) {
         std::ranges::copy(there, taken.begin());
         for (std::size_t i = 0; i < part_words; ++i) there[i] ^= given[i];
       }},
      {"get_accumulate without operands", false,
       [](auto& on, rank_t to, std::size_t at, auto&, auto& taken) {
         on.get_accumulate(no_op, to, at, {}, std::span(taken));
       },
       [](auto there, auto&, auto& taken) { std::ranges::copy(there, taken.begin()); }},
      {"fetch_and_op", false,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto& taken) {
         on.fetch_and_op(sum, to, at + 3, given[0], taken[0]);
         on.fetch_and_op(replace, to, at + 3, given[1], taken[1]);
       },
       [](auto there, auto& given, auto& taken) {
         taken[0] = there[3];
         taken[1] = there[3] + given[0];
         there[3] = given[1];
       }},
      {"compare_and_swap", false,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto& taken) {
         on.compare_and_swap(to, at + 5, 5, given[0], taken[0]);
         on.compare_and_swap(to, at + 5, 5, given[1], taken[1]);  // fails
       },
       [](auto there, auto& given, auto& taken) {
         taken[0] = 5;
         taken[1] = there[5] = given[0];
       }},
  };
}

std::vector<operation_row> requests() {
  return {
      {"rput", true,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto&) { on.rput(to, at, std::span(given)).wait(); },
       [](auto there, auto& given, auto&) { std::ranges::copy(given, there.begin()); }},
      {"rget", true,
       [](auto& on, rank_t to, std::size_t at, auto&, auto& taken) {
         window_request got = on.rget(to, at, std::span(taken));
         while (!got.test()) {
         }
         EXPECT_EQ(taken[1], 1);
       },
       [](auto there, auto&, auto& taken) { std::ranges::copy(there, taken.begin()); }},
      {"raccumulate", true,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto&) {
         on.raccumulate(minimum, to, at, std::span(given)).wait();
       },
       [](auto there, auto& given, auto&) {
         for (std::size_t i = 0; i < part_words; ++i) there[i] = std::min(there[i], given[i]);
       }},
      {"rget_accumulate", true,
       [](auto& on, rank_t to, std::size_t at, auto& given, auto& taken) {
         on.rget_accumulate(sum, to, at, std::span(given), std::span(taken)).wait();
         EXPECT_EQ(taken[2], 2);
       },
       [](auto there, auto& given, auto& taken) {
         std::ranges::copy(there, taken.begin());
         for (std::size_t i = 0; i < part_words; ++i) there[i] += given[i];
       }},
  };
}

std::vector<operation_row> all_rows() {
  std::vector<operation_row> rows = puts_and_gets();
  for (const auto& more : {accumulates(), requests()}) rows.insert(rows.end(), more.begin(), more.end());
  return rows;
}

enum class epoch_mode : std::uint8_t { fence, post_start, shared_locks, exclusive_locks, lock_all };
constexpr std::array epoch_modes{epoch_mode::fence, epoch_mode::post_start, epoch_mode::shared_locks,
                                 epoch_mode::exclusive_locks, epoch_mode::lock_all};

/// Calls `operate(target)` for each rank in an epoch of this kind.
void run_in_epoch(world& w, window<word>& on, epoch_mode mode, const std::function<void(rank_t)>& operate) {
  const std::vector<rank_t> all = testing::everyone(w);
  switch (mode) {
    case epoch_mode::fence:
      on.fence(window_assert::no_precede);
      std::ranges::for_each(all, operate);
      on.fence(window_assert::no_succeed);
      return;
    case epoch_mode::post_start:
      on.post(all);
      on.start(all);
      std::ranges::for_each(all, operate);
      on.complete();
      on.wait();
      return;
    case epoch_mode::lock_all:
      on.lock_all();
      std::ranges::for_each(all, operate);
      on.unlock_all();
      return;
    default:
      for (const rank_t target : all) {
        on.lock(mode == epoch_mode::shared_locks ? lock_kind::shared : lock_kind::exclusive, target);
        operate(target);
        on.unlock(target);
      }
  }
}

/// Where the operations of an origin are, in the memory of each target.
std::size_t place_of(std::size_t case_number, std::size_t ranks, std::size_t origin) {
  return (case_number * ranks + origin) * part_words;
}

words given_by(std::size_t origin, std::size_t target) {
  words given(part_words);
  std::iota(given.begin(), given.end(), static_cast<word>(3 + 100 * origin + 10 * target));
  return given;
}

/// One row in one kind of epoch, on one window.
struct combination {
  window<word>& on;
  const operation_row& row;
  epoch_mode mode;
  std::size_t number;

  void run(world& w) const {
    const auto ranks = static_cast<std::size_t>(w.size()), own = static_cast<std::size_t>(w.rank());
    std::vector<words> given, taken(ranks, words(part_words, -1));
    for (std::size_t target = 0; target < ranks; ++target) given.push_back(given_by(own, target));
    run_in_epoch(w, on, mode, [&](rank_t target) {
      const auto index = static_cast<std::size_t>(target);
      row.start(on, target, place_of(number, ranks, own), given[index], taken[index]);
    });
    for (std::size_t target = 0; target < ranks; ++target) {
      EXPECT_EQ(taken[target], model(own, target).taken)
          << "results of " << row.name << " on rank " << target << place();
    }
    if (mode == epoch_mode::fence || mode == epoch_mode::post_start) check_memory(w);
  }
  void check_memory(world& w) const {
    const auto ranks = static_cast<std::size_t>(w.size()), own = static_cast<std::size_t>(w.rank());
    for (std::size_t origin = 0; origin < ranks; ++origin) {
      const auto there = on.local().subspan(place_of(number, ranks, origin), part_words);
      EXPECT_EQ(words(there.begin(), there.end()), model(origin, own).there)
          << "memory after " << row.name << " of rank " << origin << place();
    }
  }

 private:
  struct outcome {
    words there = words(part_words), taken = words(part_words, -1);
  };
  outcome model(std::size_t origin, std::size_t target) const {
    outcome made;
    std::iota(made.there.begin(), made.there.end(), word{0});
    row.model(made.there, given_by(origin, target), made.taken);
    return made;
  }
  std::string place() const { return " in epoch " + std::to_string(static_cast<int>(mode)); }
};

class combined_windows : public testing::on_paths {};
INSTANTIATE_TEST_SUITE_P(window, combined_windows,
                         ::testing::ValuesIn(testing::jobs_of_windows({1, 2, 3, 4}, {1, 2, 3, 4})),
                         testing::name_of_job);

void run_all_combinations(world& w, window<word>& on, const std::vector<operation_row>& rows) {
  for (std::size_t i = 0; i < on.local().size(); ++i) on.local()[i] = static_cast<word>(i % part_words);
  w.barrier();
  std::vector<combination> all;
  for (const epoch_mode mode : epoch_modes) {
    for (const operation_row& row : rows) {
      const bool has_locks = mode != epoch_mode::fence && mode != epoch_mode::post_start;
      if (has_locks || !row.needs_locks) all.push_back({on, row, mode, all.size()});
    }
  }
  for (const combination& each : all) each.run(w);
  w.barrier();
  for (const combination& each : all) each.check_memory(w);
  w.barrier();
}

TEST_P(combined_windows, match_model) {
  run([](world& w) {
    const std::vector<operation_row> rows = all_rows();
    const std::size_t size = place_of(epoch_modes.size() * rows.size(), static_cast<std::size_t>(w.size()), 0);
    auto allocated = w.allocate_window<word>(size);
    run_all_combinations(w, allocated, rows);
    words own(size);
    auto created = w.create_window(std::span(own));
    run_all_combinations(w, created, rows);
  });
}

}  // namespace
}  // namespace amity
