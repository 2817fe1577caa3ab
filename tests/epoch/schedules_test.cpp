/// Termination detection under a thousand random schedules: never early, never hung, the user's sum right, and all
/// detectors of one mind. Detectors that lack a rule must be caught by the same schedules.
///
/// `SEED=n` in the environment makes all tests of this program look at that one schedule.

#include <cstdlib>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "amity/epoch/coloured_wave.hpp"
#include "amity/epoch/counting_rounds.hpp"
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
  std::uint64_t coloured_waves = 0;
  std::uint64_t four_counter_waves = 0;
  std::uint64_t rounds_waves = 0;
  for_each_seed(schedules, [&](std::uint64_t seed) {
    const outcome coloured = run_or_fail(seed, "coloured");
    const outcome four_counter = run_or_fail(seed, "four_counter");
    const outcome rounds = run_or_fail(seed, "rounds");
    EXPECT_EQ(coloured.sums, four_counter.sums) << "seed " << seed;
    EXPECT_EQ(coloured.messages, four_counter.messages) << "seed " << seed;
    EXPECT_EQ(rounds.sums, four_counter.sums) << "seed " << seed;
    EXPECT_EQ(rounds.messages, four_counter.messages) << "seed " << seed;
    coloured_waves += coloured.waves;
    rounds_waves += rounds.waves;
    four_counter_waves += four_counter.waves;
  });
  RecordProperty("coloured_waves", static_cast<int>(coloured_waves));
  RecordProperty("four_counter_waves", static_cast<int>(four_counter_waves));
  RecordProperty("rounds_waves", static_cast<int>(rounds_waves));
  // What the coloured wave is for.
  EXPECT_LT(coloured_waves, four_counter_waves);
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
using watched_wave = watched<coloured_wave>;
using watched_rounds = watched<counting_rounds>;

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

/// In how many schedules a detector is wrong. A verdict may come too early and yet find, by chance, nothing under way
/// any more; then the sum betrays it.
struct catches {
  int early = 0;
  int wrong_sums = 0;
};

template <class Detector>
catches times_caught() {
  constexpr bool rounds = std::is_base_of_v<counting_rounds, Detector>;
  catches caught;
  // Faults of counting rounds show more often.
  for_each_seed(rounds ? schedules_for_faulty_ones / 10 : schedules_for_faulty_ones, [&](std::uint64_t seed) {
    try {
      schedule job = schedule::of(seed);
      job.declares_depth = rounds;
      run(job, [](core::endpoint& own, const oracle& watcher) { return std::make_unique<Detector>(own, watcher); });
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
TEST_F(faulty_detectors, are_caught_without_later_generations) {
  EXPECT_GE(times_caught<no_later_generation>().early, 1);
}
TEST_F(faulty_detectors, are_caught_when_they_skip_a_generation) {
  EXPECT_GE(times_caught<skips_a_generation>().early, 1);
}
TEST_F(faulty_detectors, are_not_caught_without_a_fault) {
  for (const catches caught : {times_caught<watched_wave>(), times_caught<watched_rounds>()}) {
    EXPECT_EQ(caught.early, 0);
    EXPECT_EQ(caught.wrong_sums, 0);
  }
}

}  // namespace
}  // namespace amity::epoch::testing
