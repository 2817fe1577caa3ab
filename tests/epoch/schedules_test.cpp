/// Termination detection under random schedules: never early, never hung, the same correct sum with all detectors.
/// Detectors that lack a rule must be caught by the same schedules.
///
/// `SEED=n` in the environment makes all tests of this program look at that one schedule.

#include <cstdlib>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "amity/epoch/colored_wave.hpp"
#include "amity/epoch/counting_rounds.hpp"
#include "schedules.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/sanitizer.hpp"

namespace amity::epoch::testing {
namespace {

const std::uint64_t schedules = amity::testing::fewer_cases(1000);
/// The rarest fault of a detector shows about once in a thousand schedules.
constexpr std::uint64_t schedules_to_catch_a_fault = 2000;

/// Calls visit(seed) for each schedule, or for the chosen one, until it returns true.
template <class Visit>
void for_each_seed(std::uint64_t seeds, Visit&& visit) {
  const char* const chosen = std::getenv("SEED");
  const std::uint64_t first = chosen != nullptr ? std::stoull(chosen) : 1;
  const std::uint64_t last = chosen != nullptr ? first : seeds;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    if (visit(seed)) return;
  }
}

/// The result, or a failure that says how to replay it.
outcome run_or_fail(std::uint64_t seed, const std::string& name) {
  try {
    schedule job = schedule::of(seed);
    job.declares_depth = name == "rounds";
    return run(job, [&](core::endpoint& own, const oracle&) {
      return job.declares_depth ? make_counting_rounds(own) : make_detector(name, own);
    });
  } catch (const std::exception& failure) {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    ADD_FAILURE() << name << ", seed " << seed << ": " << failure.what() << "\nreplay: SEED=" << seed
                  << " epoch_schedules_test --gtest_filter=" << test->test_suite_name() << '.' << test->name();
    return {};
  }
}

TEST(schedules, end_neither_early_nor_never) {
  for_each_seed(schedules, [&](std::uint64_t seed) {
    const outcome colored = run_or_fail(seed, "colored");
    const outcome four_counter = run_or_fail(seed, "four_counter");
    const outcome rounds = run_or_fail(seed, "rounds");
    EXPECT_EQ(colored.sums, four_counter.sums) << "seed " << seed;
    EXPECT_EQ(colored.messages, four_counter.messages) << "seed " << seed;
    EXPECT_EQ(rounds.sums, four_counter.sums) << "seed " << seed;
    EXPECT_EQ(rounds.messages, four_counter.messages) << "seed " << seed;
    return false;
  });
}

/// A detector that ends the job, by an exception, when it comes to a wrong verdict.
template <class Detector>
class watched : public Detector {
 public:
  watched(core::endpoint& owner, const oracle& watcher) : Detector(owner), oracle_(watcher) {}

 protected:
  virtual bool decide(const wave_part& totals) { return Detector::terminated(totals); }

 private:
  bool terminated(const wave_part& totals) final {
    const bool verdict = decide(totals);
    if (verdict && oracle_.anything_under_way()) throw ended_early("the detector was wrong");
    return verdict;
  }

  const oracle& oracle_;
};
using watched_wave = watched<colored_wave>;
using watched_rounds = watched<counting_rounds>;

/// Records for the current wave only, never in advance for the next one.
class no_advance final : public watched_wave {
 public:
  using watched_wave::watched_wave;

 private:
  void newer_color(core::wave_color) override {
    const auto next = static_cast<core::wave_color>(endpoint().color() + 1);
    if (!current().contributed()) colored_wave::newer_color(next);
  }
};

/// Does not look at colors.
class color_blind final : public watched_wave {
 public:
  using watched_wave::watched_wave;

 private:
  void newer_color(core::wave_color) override {}
};

/// Does not ask for messages of later generations than the two that it counts.
class no_later_generation final : public watched_rounds {
 public:
  using watched_rounds::watched_rounds;

 private:
  bool decide(const wave_part& totals) override { return totals.sent == 0 && totals.handled == 0; }
};

/// Goes on to the generation after the next before the next one has been handled.
class skips_a_generation final : public watched_rounds {
 public:
  using watched_rounds::watched_rounds;

 private:
  std::uint64_t news(const wave_part& totals) override {
    wave_part as_if_handled = totals;
    as_if_handled.handled = 0;
    return counting_rounds::news(as_if_handled);
  }
};

/// What a detector does with a schedule. If it ends an epoch early, it may still find no message under way, by chance;
/// then the sum is wrong.
enum class result { right, ended_early, wrong_sum };

template <class Detector>
result result_of(std::uint64_t seed) {
  schedule job = schedule::of(seed);
  job.declares_depth = std::is_base_of_v<counting_rounds, Detector>;
  try {
    run(job, [](core::endpoint& own, const oracle& watcher) { return std::make_unique<Detector>(own, watcher); });
  } catch (const testing::ended_early&) {
    return result::ended_early;
  } catch (const testing::wrong_sum&) {
    return result::wrong_sum;
  }
  return result::right;
}

/// Whether a schedule shows that the detector ends epochs early.
template <class Detector>
bool is_caught() {
  bool caught = false;
  for_each_seed(schedules_to_catch_a_fault, [&](std::uint64_t seed) {
    caught = result_of<Detector>(seed) == result::ended_early;
    return caught;
  });
  return caught;
}

template <class Detector>
void expect_right() {
  for_each_seed(schedules, [](std::uint64_t seed) {
    EXPECT_EQ(result_of<Detector>(seed), result::right) << "seed " << seed;
    return false;
  });
}

/// Sanitizers have nothing to find in them that the schedules above do not run.
class faulty_detectors : public ::testing::Test {
 protected:
  void SetUp() override {
    if (amity::testing::sanitizer_divisor > 1) GTEST_SKIP() << "takes too many schedules for a sanitizer";
  }
};

TEST_F(faulty_detectors, caught_without_records_in_advance) { EXPECT_TRUE(is_caught<no_advance>()); }
TEST_F(faulty_detectors, caught_without_colors) { EXPECT_TRUE(is_caught<color_blind>()); }
TEST_F(faulty_detectors, caught_without_later_generations) { EXPECT_TRUE(is_caught<no_later_generation>()); }
TEST_F(faulty_detectors, caught_if_they_skip_a_generation) { EXPECT_TRUE(is_caught<skips_a_generation>()); }
TEST_F(faulty_detectors, not_caught_without_a_fault) {
  expect_right<watched_wave>();
  expect_right<watched_rounds>();
}

}  // namespace
}  // namespace amity::epoch::testing
