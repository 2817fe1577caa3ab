/// Random programs on windows against a model: each rank knows the whole program, and so what each memory must be, and
/// what its operations must return.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "amity/window/dynamic_window.hpp"
#include "amity/window/window.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using enum accumulate_op;
using elements = std::vector<std::int64_t>;

/// The memory of a rank: a part for each origin, which that origin alone uses, and sums, which all change. A part has
/// elements for accumulates and swaps, which keep their order, and elements for puts and gets, which do not.
constexpr std::size_t ordered_slots = 6, plain_slots = 8, slots = ordered_slots + plain_slots, sums = 3;

constexpr std::size_t memory_words(std::size_t ranks) { return ranks * slots + sums; }

enum class random_kind : std::uint8_t { add, set, fetch_add, fetch_set, read, swap, put, get };
constexpr std::size_t random_kinds = 8;

struct random_operation {
  random_kind kind;
  std::size_t origin, target, place;
  std::size_t count = 1, stride = 1;  ///< elements
  elements values{};                  ///< operands; of a swap, what it expects and what it stores
  bool flushes_before = false;        ///< the target
  bool flushes_locally = false;       ///< afterwards
  bool has_request = false;
  bool waits_at_once = false;      ///< for the request
  bool takes_over_before = false;  ///< the origin, accumulates on its own memory
  elements expected{};             ///< that

  std::size_t at(std::size_t i) const { return place + i * stride; }
  bool is_plain() const { return kind == random_kind::put || kind == random_kind::get; }
};
using random_program = std::vector<random_operation>;

enum class epoch_kind : std::uint8_t { fence, start, lock_each, lock_several, lock_all };
constexpr std::size_t epoch_kinds = 5;
constexpr bool has_locks(epoch_kind kind) { return kind >= epoch_kind::lock_each; }

/// The memory of all ranks.
using memory_model = std::vector<elements>;

/// Carries an operation out, and notes what it returns.
void apply(random_operation& what, memory_model& model) {
  elements& memory = model[what.target];
  if (what.kind == random_kind::swap) {
    std::int64_t& there = memory[what.place];
    what.expected = {there};
    if (there == what.values[0]) there = what.values[1];
    return;
  }
  for (std::size_t i = 0; i < what.count; ++i) {
    std::int64_t& there = memory[what.at(i)];
    what.expected.push_back(there);
    switch (what.kind) {
      case random_kind::add:
      case random_kind::fetch_add:
        there += what.values[i];
        break;
      case random_kind::set:
      case random_kind::fetch_set:
      case random_kind::put:
        there = what.values[i];
        break;
      default:
        break;
    }
  }
}

/// Makes operations of one epoch, and applies them to a model.
class program_maker {
 public:
  program_maker(std::mt19937_64& random, memory_model& model, epoch_kind kind)
      : random_(random), model_(model), ranks_(model.size()), kind_(kind), used_(ranks_ * ranks_) {}

  random_program make() {
    random_program made;
    for (std::size_t left = random_() % (10 * ranks_); left > 0; --left) {
      random_operation next = draw();
      if (next.is_plain() && !reserve(next)) continue;
      apply(next, model_);
      made.push_back(std::move(next));
    }
    return made;
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  random_operation draw() {
    random_operation next{.kind = static_cast<random_kind>(below(random_kinds)),
                          .origin = below(ranks_),
                          .target = below(ranks_),
                          .place = 0};
    const bool is_sum = next.kind == random_kind::add && below(2) == 0;
    const std::size_t part = next.origin * slots;
    next.place = is_sum ? ranks_ * slots + below(sums) : part + below(ordered_slots);
    if (next.is_plain()) next.place = part + ordered_slots + below(plain_slots);
    if (next.kind != random_kind::swap && !is_sum) spread(next);
    for (std::size_t i = 0; i < std::max<std::size_t>(next.count, 2); ++i)
      next.values.push_back(static_cast<std::int64_t>(below(1000)));
    if (next.kind == random_kind::swap && below(2) == 0) next.values[0] = model_[next.target][next.place];
    next.has_request = has_locks(kind_) && below(3) == 0;
    next.waits_at_once = below(2) == 0;
    next.takes_over_before = below(40) == 0;
    next.flushes_before = has_locks(kind_) && below(8) == 0;
    next.flushes_locally = has_locks(kind_) && below(8) == 0;
    return next;
  }
  /// Over several elements of the same kind.
  void spread(random_operation& next) {
    const std::size_t first = next.origin * slots + (next.is_plain() ? ordered_slots : 0);
    const std::size_t end = first + (next.is_plain() ? plain_slots : ordered_slots);
    next.stride = 1 + below(3);
    next.count = 1 + below((end - next.place + next.stride - 1) / next.stride);
  }
  /// Puts and gets use an element once in an epoch, or a flush is between. Returns false if the epoch has no flushes.
  bool reserve(random_operation& next) {
    std::vector<std::size_t>& used = used_[next.origin * ranks_ + next.target];
    if (next.flushes_before) used.clear();
    for (std::size_t i = 0; i < next.count; ++i) {
      if (std::ranges::find(used, next.at(i)) == used.end()) continue;
      if (!has_locks(kind_)) return false;
      next.flushes_before = true;
      used.clear();
      break;
    }
    for (std::size_t i = 0; i < next.count; ++i) used.push_back(next.at(i));
    return true;
  }

  std::mt19937_64& random_;
  memory_model& model_;
  std::size_t ranks_;
  epoch_kind kind_;
  std::vector<std::vector<std::size_t>> used_;  ///< places, by origin and target
};

/// Operations of this rank that have been started.
struct started_operations {
  std::deque<std::pair<const random_operation*, elements>> taken;
  std::vector<window_request> requests;

  void wait() {
    for (window_request& each : requests) each.wait();
    requests.clear();
  }
  void check(const std::string& place) const {
    for (const auto& [what, seen] : taken) {
      ASSERT_EQ(seen, what->expected) << place << ": kind " << static_cast<int>(what->kind) << " of rank "
                                      << what->origin << " on rank " << what->target << ", element " << what->place;
    }
  }
};

/// Starts an operation without a layout. `at` is the index or the address of its first element.
template <class Operations>
void start_contiguous(Operations& on, const random_operation& what, std::size_t at, std::span<std::int64_t> into,
                      started_operations& started) {
  const auto target = static_cast<rank_t>(what.target);
  const auto from = std::span(what.values).first(what.count);
  const auto keep = [&](window_request made) { started.requests.push_back(std::move(made)); };
  const bool asks = what.has_request;
  switch (what.kind) {
    case random_kind::add:
    case random_kind::set: {
      const accumulate_op op = what.kind == random_kind::add ? sum : replace;
      if (asks) return keep(on.raccumulate(op, target, at, from));
      return what.count == 1 ? on.accumulate(op, target, at, from[0]) : on.accumulate(op, target, at, from);
    }
    case random_kind::fetch_add:
    case random_kind::fetch_set: {
      const accumulate_op op = what.kind == random_kind::fetch_add ? sum : replace;
      if (asks) return keep(on.rget_accumulate(op, target, at, from, into));
      return what.count == 1 ? on.fetch_and_op(op, target, at, from[0], into[0])
                             : on.get_accumulate(op, target, at, from, into);
    }
    case random_kind::read:
      if (asks) return keep(on.rget_accumulate(no_op, target, at, {}, into));
      return on.get_accumulate(no_op, target, at, {}, into);
    case random_kind::swap:
      return on.compare_and_swap(target, at, what.values[0], what.values[1], into[0]);
    case random_kind::put:
      if (asks) return keep(on.rput(target, at, from));
      return what.count == 1 ? on.put(target, at, from[0]) : on.put(target, at, from);
    case random_kind::get:
      return asks ? keep(on.rget(target, at, into)) : on.get(target, at, into);
  }
}

/// Returns false if operations of this kind have no form with a layout.
template <class Operations>
bool start_with_layout(Operations& on, const random_operation& what, std::size_t at, std::span<std::int64_t> into) {
  const auto target = static_cast<rank_t>(what.target);
  const auto from = std::span(what.values).first(what.count);
  const auto blocks = std::make_shared<const layout>(layout::strided(
      what.count, sizeof(std::int64_t), static_cast<std::ptrdiff_t>(what.stride * sizeof(std::int64_t))));
  switch (what.kind) {
    case random_kind::add:
    case random_kind::set:
      on.accumulate(what.kind == random_kind::add ? sum : replace, target, at, blocks, from);
      return true;
    case random_kind::put:
      on.put(target, at, blocks, from);
      return true;
    case random_kind::get:
      on.get(target, at, blocks, into);
      return true;
    default:
      return false;
  }
}

/// A window, and how its operations name the elements of a rank's memory.
struct tested_window {
  window_base* epochs;
  std::function<void(const random_operation&, started_operations&)> start;
  std::span<const std::int64_t> local;
};

/// `place_of(target, place)` is the index or the address of an element.
template <class Operations, class PlaceOf>
tested_window make_tested(window_base& epochs, Operations& on, std::span<const std::int64_t> local, PlaceOf place_of) {
  const auto start = [&on, place_of](const random_operation& what, started_operations& started) {
    const bool returns =
        what.kind != random_kind::add && what.kind != random_kind::set && what.kind != random_kind::put;
    elements unused;
    elements& into = returns ? started.taken.emplace_back(&what, elements(what.count, -1)).second : unused;
    const std::size_t at = place_of(what.target, what.place);
    if (what.stride == 1 || what.count == 1) return start_contiguous(on, what, at, into, started);
    if (start_with_layout(on, what, at, into)) return;
    for (std::size_t i = 0; i < what.count; ++i) {  // one by one
      random_operation one = what;
      one.count = 1;
      one.has_request = false;
      one.values = {what.values[i]};
      start_contiguous(on, one, place_of(what.target, what.at(i)), std::span(into).subspan(i, 1), started);
    }
  };
  return {.epochs = &epochs, .start = start, .local = local};
}

/// The operations of this rank in one epoch.
class epoch_runner {
 public:
  epoch_runner(world& w, const tested_window& tested, const random_program& program)
      : w_(w), tested_(tested), on_(*tested.epochs), program_(program) {}

  void run(epoch_kind kind, std::mt19937_64& random) {
    const std::vector<rank_t> all = testing::everyone(w_);
    switch (kind) {
      case epoch_kind::fence:
        on_.fence(window_assert::no_precede);
        start_all(no_rank);
        return on_.fence(window_assert::no_succeed);
      case epoch_kind::start:
        on_.post(partners(&random_operation::target, &random_operation::origin));
        on_.start(partners(&random_operation::origin, &random_operation::target));
        start_all(no_rank);
        on_.complete();
        return on_.wait();
      case epoch_kind::lock_each:
        for (const rank_t target : all) {
          on_.lock(kind_of(target, random), target);
          start_all(target);
          started.wait();
          on_.unlock(target);
        }
        break;
      case epoch_kind::lock_several:
        for (const rank_t target : all) on_.lock(kind_of(target, random), target);
        start_all(no_rank);
        started.wait();
        for (const rank_t target : all) on_.unlock(target);
        break;
      case epoch_kind::lock_all:
        on_.lock_all();
        start_all(no_rank);
        if (program_.size() % 2 == 0) on_.flush_all();
        if (program_.size() % 3 == 0) on_.flush_local_all();
        started.wait();
        on_.unlock_all();
        break;
    }
    w_.barrier();
  }

  started_operations started;

 private:
  static lock_kind kind_of(rank_t target, std::mt19937_64& random) {
    return (random() + static_cast<std::uint64_t>(target)) % 2 == 0 ? lock_kind::exclusive : lock_kind::shared;
  }
  /// The ranks that are targets if this rank is an origin, and origins if it is a target.
  std::vector<rank_t> partners(std::size_t random_operation::*own, std::size_t random_operation::*other) const {
    std::vector<rank_t> found;
    for (const random_operation& each : program_) {
      if (each.*own == static_cast<std::size_t>(w_.rank())) found.push_back(static_cast<rank_t>(each.*other));
    }
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return found;
  }
  void start_all(rank_t target) {
    for (const random_operation& each : program_) {
      const bool is_for_target = target == no_rank || each.target == static_cast<std::size_t>(target);
      if (each.origin != static_cast<std::size_t>(w_.rank()) || !is_for_target) continue;
      if (each.takes_over_before) on_.take_over_accumulates();
      if (each.flushes_before) on_.flush(static_cast<rank_t>(each.target));
      tested_.start(each, started);
      if (each.waits_at_once) started.wait();
      if (each.flushes_locally) on_.flush_local(static_cast<rank_t>(each.target));
    }
  }

  world& w_;
  const tested_window& tested_;
  window_base& on_;
  const random_program& program_;
};

void run_program(world& w, std::uint64_t seed) {
  const auto ranks = static_cast<std::size_t>(w.size());
  const std::size_t size = memory_words(ranks);
  std::mt19937_64 random(seed), local_random(1000 * seed + static_cast<std::uint64_t>(w.rank()));
  const auto options = [&] {
    return window_options{.protocol = static_cast<window_protocol>(random() % 4), .checked = random() % 8 == 0};
  };
  auto shared = w.allocate_window<std::int64_t>(size, options());
  elements own(size), attached(size);
  auto created = w.create_window(std::span(own), options());
  auto dynamic = w.create_dynamic_window(options());
  dynamic.attach(std::span(attached));
  const std::vector<std::uint64_t> bases = testing::exchange_words(w, dynamic_window::address_of(attached.data()));
  auto numbers = dynamic.as<std::int64_t>();
  const auto by_index = [](std::size_t, std::size_t place) { return place; };
  const auto by_address = [&](std::size_t target, std::size_t place) { return bases[target] + 8 * place; };
  const std::vector<tested_window> tested{make_tested(shared, shared, shared.local(), by_index),
                                          make_tested(created, created, own, by_index),
                                          make_tested(dynamic, numbers, attached, by_address)};
  std::vector<memory_model> models(tested.size(), memory_model(ranks, elements(size)));
  for (int epoch = 0; epoch < 8; ++epoch) {
    const std::size_t which = random() % tested.size();
    const auto kind = static_cast<epoch_kind>(random() % epoch_kinds);
    const random_program program = program_maker(random, models[which], kind).make();
    epoch_runner runner(w, tested[which], program);
    runner.run(kind, local_random);
    const std::string place = "seed " + std::to_string(seed) + ", epoch " + std::to_string(epoch) + " on window " +
                              std::to_string(which) + " of kind " + std::to_string(static_cast<int>(kind));
    runner.started.check(place);
    const std::span<const std::int64_t> local = tested[which].local;
    ASSERT_EQ(elements(local.begin(), local.end()), models[which][static_cast<std::size_t>(w.rank())]) << place;
    w.barrier();
  }
}

TEST(window_programs, match_model_on_random_schedules) { testing::run_on_random_schedules(run_program); }

// Two runs with one seed have the same packets and operations on remote memory, at the same times.
TEST(window_programs, seeds_replay_exactly) {
  for (std::uint64_t seed = 1; seed <= testing::cases(6); ++seed) {
    const auto run_once = [seed] {
      fabric::sim::sim_options options = testing::random_schedule(seed);
      options.remote_delay_ns_max = 20'000;
      return fabric::sim::run(static_cast<rank_t>(2 + seed % 3), options, [seed](fabric::fabric& whole) {
        world w(whole, {});
        run_program(w, seed);
        w.barrier();
        return 0;
      });
    };
    const fabric::sim::sim_result first = run_once(), second = run_once();
    EXPECT_GT(first.events, 100u);
    EXPECT_EQ(first.end_ns, second.end_ns) << "seed " << seed;
    EXPECT_EQ(first.events, second.events) << "seed " << seed;
    EXPECT_EQ(first.trace_hash, second.trace_hash) << "seed " << seed;
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
