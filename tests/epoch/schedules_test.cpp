/// Termination detection under a thousand random schedules: never early, never hung, the user's sum right, and both
/// detectors of one mind. Detectors that lack a rule must be caught by the same schedules.
///
/// `SEED=n` in the environment makes all tests of this program look at that one schedule.

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "amity/epoch/coloured_wave.hpp"
#include "schedules.hpp"
#include "tests/support/sanitizer.hpp"

namespace amity::epoch::testing {
namespace {

constexpr std::uint64_t schedules = 1000 / amity::testing::sanitizer_divisor;
/// The rarest fault of a detector shows about once in a thousand schedules.
constexpr std::uint64_t schedules_for_faulty_ones = 2000;

/// Calls visit(seed) for each schedule, or for the one that is asked for.
template <class Visit>
void for_each_seed(std::uint64_t seeds, Visit&& visit) {
  if (const char* const chosen = std::getenv("SEED")) {
    visit(std::stoull(chosen));
    return;
  }
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) visit(seed);
}

/// The result, or a failure that says how to replay it.
outcome run_or_fail(std::uint64_t seed, const std::string& name) {
  try {
    return run(schedule::of(seed), [&](core::endpoint& own, const oracle&) { return make_detector(name, own); });
  } catch (const std::exception& failure) {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    ADD_FAILURE() << name << ", seed " << seed << ": " << failure.what() << "\nreplay: SEED=" << seed
                  << " epoch_schedules_test --gtest_filter=" << test->test_suite_name() << '.' << test->name();
    return {};
  }
}

TEST(schedules, end_neither_early_nor_never) {
  std::uint64_t coloured_waves = 0;
  std::uint64_t four_counter_waves = 0;
  for_each_seed(schedules, [&](std::uint64_t seed) {
    const outcome coloured = run_or_fail(seed, "coloured");
    const outcome four_counter = run_or_fail(seed, "four_counter");
    EXPECT_EQ(coloured.sums, four_counter.sums) << "seed " << seed;
    EXPECT_EQ(coloured.messages, four_counter.messages) << "seed " << seed;
    coloured_waves += coloured.waves;
    four_counter_waves += four_counter.waves;
  });
  // What the coloured wave is for.
  EXPECT_LT(coloured_waves, four_counter_waves);
}

/// A coloured wave that ends the job, by an exception, when it comes to a wrong verdict.
class watched_wave : public coloured_wave {
 public:
  watched_wave(core::endpoint& owner, const oracle& watcher) : coloured_wave(owner), oracle_(watcher) {}

 private:
  bool terminated(const wave_part& totals) override {
    const bool verdict = coloured_wave::terminated(totals);
    if (verdict && oracle_.anything_under_way()) throw ended_early("the detector was wrong");
    return verdict;
  }

  const oracle& oracle_;
};

/// Records for the current wave only, never in advance for the next one.
class no_advance final : public watched_wave {
 public:
  using watched_wave::watched_wave;

 private:
  void newer_colour(core::wave_colour) override {
    const auto next = static_cast<core::wave_colour>(endpoint().colour() + 1);
    if (!current().contributed()) coloured_wave::newer_colour(next);
  }
};

/// Does not look at colours.
class colour_blind final : public watched_wave {
 public:
  using watched_wave::watched_wave;

 private:
  void newer_colour(core::wave_colour) override {}
};

/// In how many schedules a detector is wrong. A verdict may come too early and yet find, by chance, nothing under way
/// any more; then the sum betrays it.
struct catches {
  int early = 0;
  int wrong_sums = 0;
};

template <class Detector>
catches times_caught() {
  catches caught;
  for_each_seed(schedules_for_faulty_ones, [&](std::uint64_t seed) {
    try {
      run(schedule::of(seed),
          [](core::endpoint& own, const oracle& watcher) { return std::make_unique<Detector>(own, watcher); });
    } catch (const ended_early&) {
      ++caught.early;
    } catch (const wrong_sum&) {
      ++caught.wrong_sums;
    }
  });
  ::testing::Test::RecordProperty("ended_early", caught.early);
  ::testing::Test::RecordProperty("wrong_sums", caught.wrong_sums);
  return caught;
}

/// Sanitizers have nothing to find in them that the schedules above do not run.
class faulty_detectors : public ::testing::Test {
 protected:
  void SetUp() override {
    if (amity::testing::sanitizer_divisor > 1) GTEST_SKIP() << "takes too many schedules for a sanitizer";
  }
};

TEST_F(faulty_detectors, are_caught_without_records_in_advance) { EXPECT_GE(times_caught<no_advance>().early, 1); }
TEST_F(faulty_detectors, are_caught_without_colours) { EXPECT_GE(times_caught<colour_blind>().early, 1); }
TEST_F(faulty_detectors, are_not_caught_without_a_fault) {
  const catches caught = times_caught<watched_wave>();
  EXPECT_EQ(caught.early, 0);
  EXPECT_EQ(caught.wrong_sums, 0);
}

}  // namespace
}  // namespace amity::epoch::testing
