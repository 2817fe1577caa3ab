/// Random programs on windows against a model: each rank knows the whole program, and so what each memory must be.

#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "amity/window/dynamic_window.hpp"
#include "amity/window/window.hpp"
#include "tests/core/poorer.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using enum accumulate_op;

/// The memory of a rank: a part for each origin, which that origin alone changes, and sums, which all do.
constexpr std::size_t slots = 6, sums = 3;

struct operation {
  std::size_t origin, target, place;
  std::int64_t value;
  bool adds;
  bool reads;
};

std::vector<operation> random_operations(std::mt19937_64& random, std::size_t ranks) {
  std::vector<operation> made(random() % (8 * ranks));
  for (operation& each : made) {
    each = {.origin = random() % ranks,
            .target = random() % ranks,
            .place = 0,
            .value = static_cast<std::int64_t>(random() % 1000),
            .adds = random() % 2 == 0,
            .reads = random() % 4 == 0};
    each.place = each.adds ? ranks * slots + random() % sums : each.origin * slots + random() % slots;
  }
  return made;
}

enum class epoch_kind : std::uint8_t { fence, start, lock_each, lock_all };

/// A window, and how its operations name the elements of a rank's memory.
struct tested_window {
  window_base* epochs;
  std::function<void(const operation&, std::vector<std::int64_t>& read)> carry_out;
  std::span<const std::int64_t> local;
};

/// `place_of(target, place)` is the index or the address of an element.
template <class Operations, class PlaceOf>
tested_window make_tested(window_base& epochs, Operations& on, std::span<const std::int64_t> local, PlaceOf place_of) {
  const auto carry_out = [&on, place_of](const operation& what, std::vector<std::int64_t>& read) {
    const auto target = static_cast<rank_t>(what.target);
    const accumulate_op combining = what.adds ? sum : replace;
    const auto place = place_of(what.target, what.place);
    if (!what.reads) return on.accumulate(combining, target, place, what.value);
    on.fetch_and_op(combining, target, place, what.value, read.emplace_back());
  };
  return {.epochs = &epochs, .carry_out = carry_out, .local = local};
}

void run_epoch(world& w, const tested_window& tested, epoch_kind kind, const std::vector<operation>& program) {
  std::vector<rank_t> all(static_cast<std::size_t>(w.size()));
  std::iota(all.begin(), all.end(), 0);
  window_base& on = *tested.epochs;
  std::vector<std::int64_t> read;
  read.reserve(program.size());
  const auto run_own = [&](rank_t target) {
    for (const operation& each : program) {
      const bool is_for_target = target == no_rank || each.target == static_cast<std::size_t>(target);
      if (each.origin == static_cast<std::size_t>(w.rank()) && is_for_target) tested.carry_out(each, read);
    }
  };
  switch (kind) {
    case epoch_kind::fence:
      on.fence(window_assert::no_precede);
      run_own(no_rank);
      on.fence(window_assert::no_succeed);
      return;
    case epoch_kind::start:
      on.post(all);
      on.start(all);
      run_own(no_rank);
      on.complete();
      on.wait();
      return;
    case epoch_kind::lock_each:
      for (const rank_t target : all) {
        on.lock(target % 2 == 0 ? lock_kind::exclusive : lock_kind::shared, target);
        run_own(target);
        on.unlock(target);
      }
      w.barrier();
      return;
    case epoch_kind::lock_all:
      on.lock_all();
      run_own(no_rank);
      on.unlock_all();
      w.barrier();
      return;
  }
}

void run_program(world& w, std::uint64_t seed) {
  const auto ranks = static_cast<std::size_t>(w.size());
  const std::size_t size = ranks * slots + sums;
  std::mt19937_64 random(seed);
  auto shared = w.allocate_window<std::int64_t>(size);
  std::vector<std::int64_t> own(size), attached(size);
  auto created = w.create_window(std::span(own));
  auto dynamic = w.create_dynamic_window();
  dynamic.attach(std::span(attached));
  const std::vector<std::uint64_t> bases = testing::exchange_words(w, dynamic_window::address_of(attached.data()));
  auto numbers = dynamic.as<std::int64_t>();
  const auto by_index = [](std::size_t, std::size_t place) { return place; };
  const auto by_address = [&](std::size_t target, std::size_t place) { return bases[target] + 8 * place; };
  const std::vector<tested_window> tested{make_tested(shared, shared, shared.local(), by_index),
                                          make_tested(created, created, own, by_index),
                                          make_tested(dynamic, numbers, attached, by_address)};
  std::vector<std::vector<std::int64_t>> model(tested.size(), std::vector<std::int64_t>(size));
  for (int epoch = 0; epoch < 8; ++epoch) {
    const std::size_t which = random() % tested.size();
    const auto kind = static_cast<epoch_kind>(random() % 4);
    const std::vector<operation> program = random_operations(random, ranks);
    run_epoch(w, tested[which], kind, program);
    for (const operation& each : program) {
      if (each.target != static_cast<std::size_t>(w.rank())) continue;
      std::int64_t& place = model[which][each.place];
      place = each.adds ? place + each.value : each.value;
    }
    const std::span<const std::int64_t> local = tested[which].local;
    ASSERT_EQ(std::vector<std::int64_t>(local.begin(), local.end()), model[which])
        << "seed " << seed << ", epoch " << epoch << " on window " << which << " of kind " << static_cast<int>(kind);
    w.barrier();
  }
}

fabric::sim::sim_options schedule_of(std::uint64_t seed) {
  return {.seed = seed,
          .delay_ns_max = seed % 3 == 0 ? 0u : 8000u,
          .reorder_percent = seed % 2 == 0 ? 0u : 40u,
          .credits = static_cast<std::uint32_t>(1 + seed % 5),
          .packet_bytes = seed % 4 == 0 ? 528u : 4096u};
}

TEST(window_programs, match_model_on_random_schedules) {
  for (std::uint64_t seed = 1; seed <= testing::cases(50); ++seed) {
    const rank_t large = testing::case_factor() > 1 && seed % 50 == 0 ? 64 : 24;
    const auto ranks = static_cast<rank_t>(seed % 10 == 0 ? large : 1 + seed % 6);
    fabric::sim::run(ranks, schedule_of(seed), [&](fabric::fabric& whole) {
      fabric::testing::poorer own(whole, seed % 2 == 0);
      world w(own, {});
      run_program(w, seed);
      w.barrier();
      return 0;
    });
    if (HasFailure()) return;
  }
}

class window_jobs : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(window, window_jobs, ::testing::ValuesIn(testing::some_jobs()),
                         [](const auto& tested) { return std::get<0>(tested.param).name; });

TEST_P(window_jobs, match_model) {
  run([](world& w) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) run_program(w, seed);
  });
}

}  // namespace
}  // namespace amity
