#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bench/harness.hpp"

namespace amity::bench {
namespace {

job prints(const std::string& name, double value) {
  return {name, {{"echo", "{\"figure\": " + std::to_string(value) + "}"}, {}}};
}

const std::vector<figure> small_is_better{{"config", "time", "ns", "figure", "", "", {ratio_at_most(1)}}};
const std::vector<figure> large_is_better{{"config", "rate", "M/s", "figure", "", "", {ratio_at_least(1)}}};

/// Runs `drive` as a benchmark.
driver after(void (*drive)(driver&)) {
  driver result(true);
  result.run({"bench", "a test", drive, [](job_context&) { return 0; }});
  return result;
}

TEST(Driver, ComparesEachJobWithTheBestOfThePeers) {
  const driver times = after([](driver& d) {
    d.compare_with_best({{prints("a", 6), prints("b", 12)}, {prints("slow", 8), prints("fast", 4)}}, small_is_better);
  });
  ASSERT_EQ(times.rows().size(), 4U);
  EXPECT_EQ(times.rows()[0].config, "config: a");
  EXPECT_EQ(times.rows()[0].peer->name, "fast");
  EXPECT_EQ(times.rows()[0].peer->ratio, 1.5);
  EXPECT_EQ(times.rows()[1].peer->ratio, 3);
  EXPECT_EQ(times.rows()[1].wanted.size(), 1U);

  const driver rates = after([](driver& d) {
    d.compare_with_best({{prints("a", 6)}, {prints("large", 8), prints("small", 4)}}, large_is_better);
  });
  EXPECT_EQ(rates.rows()[0].peer->name, "large");
}

TEST(Driver, EachPeerHasARowOfWhichNothingIsAsked) {
  const driver result = after([](driver& d) {
    d.compare_with_best({{prints("a", 6)}, {prints("peer", 8)}}, small_is_better);
  });
  ASSERT_EQ(result.rows().size(), 2U);
  EXPECT_EQ(result.rows()[1].config, "config: peer");
  EXPECT_EQ(result.rows()[1].value.median, 8);
  EXPECT_FALSE(result.rows()[1].peer);
  EXPECT_TRUE(result.rows()[1].wanted.empty());
}

TEST(Driver, APeerThatFailsIsNotedAndLeftOut) {
  const driver result = after([](driver& d) {
    d.compare_with_best({{prints("a", 6)}, {{"native MPI", {{"false"}, {}}}, prints("other", 8)}}, small_is_better);
  });
  EXPECT_EQ(result.rows()[0].peer->name, "other");
  ASSERT_EQ(result.notes().size(), 1U);
  EXPECT_NE(result.notes()[0].find("native MPI failed"), std::string::npos) << result.notes()[0];
}

TEST(Driver, WithoutAPeerThatWorksNothingIsCompared) {
  const driver result = after([](driver& d) {
    d.compare_with_best({{prints("a", 6)}, {{"native MPI", {{"false"}, {}}}}}, small_is_better);
    d.compare({prints("a", 6), {}, job{"peer", {{"false"}, {}}}}, small_is_better);
  });
  ASSERT_EQ(result.rows().size(), 2U);
  EXPECT_FALSE(result.rows()[0].peer);
  EXPECT_FALSE(result.rows()[1].peer);
  EXPECT_EQ(result.notes().size(), 2U);
}

TEST(Driver, AJobThatReportsNoServedWindowsFails) {
  const driver d(true);
  job served{"amity under an MPI",
             {{"sh", "-c",
               "echo 'amity: libamity-mpi 1 serves the windows of this job (MPI: none)' >&2; echo '{\"figure\": 6}'"},
              {}}};
  served.is_served = true;
  EXPECT_EQ(d.measure(served).at("figure"), 6);
  job served_in_part = served;
  served_in_part.run.words[2] += "; echo 'amity: rank 0: one-sided calls passed to the MPI: 3' >&2";
  EXPECT_THROW(d.measure(served_in_part), std::runtime_error);
  job native = prints("amity under an MPI", 6);
  EXPECT_EQ(d.measure(native).at("figure"), 6);
  native.is_served = true;
  EXPECT_THROW(d.measure(native), std::runtime_error);
}

}  // namespace
}  // namespace amity::bench
