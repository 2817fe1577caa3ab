/// Random programs on windows against a model: each rank knows the whole program, and so what each memory must be.

#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "amity/window/window.hpp"
#include "tests/core/poorer.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/worlds.hpp"

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

void carry_out(window<std::int64_t>& on, const operation& what, std::vector<std::int64_t>& read) {
  const auto target = static_cast<rank_t>(what.target);
  const accumulate_op combining = what.adds ? sum : replace;
  if (!what.reads) return on.accumulate(combining, target, what.place, what.value);
  on.fetch_and_op(combining, target, what.place, what.value, read.emplace_back());
}

void run_epoch(world& w, window<std::int64_t>& on, epoch_kind kind, const std::vector<operation>& program) {
  std::vector<rank_t> all(static_cast<std::size_t>(w.size()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::int64_t> read;
  read.reserve(program.size());
  const auto run_own = [&](rank_t target) {
    for (const operation& each : program) {
      const bool is_for_target = target == no_rank || each.target == static_cast<std::size_t>(target);
      if (each.origin == static_cast<std::size_t>(w.rank()) && is_for_target) carry_out(on, each, read);
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
  std::vector<std::int64_t> own(size);
  auto created = w.create_window(std::span(own));
  std::vector<std::vector<std::int64_t>> model(2, std::vector<std::int64_t>(size));
  for (int epoch = 0; epoch < 8; ++epoch) {
    const std::size_t which = random() % 2;
    const auto kind = static_cast<epoch_kind>(random() % 4);
    const std::vector<operation> program = random_operations(random, ranks);
    window<std::int64_t>& on = which == 0 ? shared : created;
    run_epoch(w, on, kind, program);
    for (const operation& each : program) {
      if (each.target != static_cast<std::size_t>(w.rank())) continue;
      std::int64_t& place = model[which][each.place];
      place = each.adds ? place + each.value : each.value;
    }
    ASSERT_EQ(std::vector<std::int64_t>(on.local().begin(), on.local().end()), model[which])
        << "seed " << seed << ", epoch " << epoch << " of kind " << static_cast<int>(kind);
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
    const auto ranks = static_cast<rank_t>(seed % 10 == 0 ? 24 : 1 + seed % 6);
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
