#include "schedules.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <gtest/gtest.h>

#include "amity/base/random.hpp"
#include "amity/base/settings.hpp"
#include "amity/epoch/depth_request.hpp"
#include "amity/epoch/epoch.hpp"
#include "bundles.hpp"

namespace amity::epoch::testing {
namespace {

using amity::testing::node;
using amity::testing::trees;

template <class T, std::size_t N>
T one_of(splitmix64& random, const T (&choices)[N]) {
  return choices[random.below(N)];
}

trees trees_of(splitmix64& random, rank_t ranks) {
  struct shape {
    std::uint64_t depth;
    std::array<std::uint8_t, 8> fanout;
  };
  // Chains and walks keep few messages under way for long, which is what deceives a detector.
  static constexpr shape shapes[] = {{.depth = 40, .fanout = {1, 1, 1, 1, 1, 1, 1, 1}},
                                     {.depth = 30, .fanout = {0, 1, 1, 1, 1, 1, 1, 2}},
                                     {.depth = 15, .fanout = {0, 0, 1, 1, 1, 1, 2, 2}},
                                     {.depth = 4, .fanout = {3, 3, 3, 3, 3, 3, 3, 3}},
                                     {.depth = 0, .fanout = {}}};
  const shape chosen = one_of(random, shapes);
  return {.ranks = ranks,
          .seed = random(),
          .roots = one_of<std::uint64_t>(random, {0, 1, 1, 2}),
          .depth = chosen.depth,
          .fanout = chosen.fanout};
}

/// One rank's part of a schedule.
class participant {
 public:
  participant(fabric::fabric& transport, const schedule& job, oracle& watcher, const make_function& make)
      : job_(job),
        oracle_(watcher),
        endpoint_(transport, {}),
        epochs_(job.declares_depth ? epochs(endpoint_, make_detector("colored", endpoint_), make(endpoint_, watcher))
                                   : epochs(endpoint_, make(endpoint_, watcher))),
        single_(endpoint_.add_handler(
            "single", [this](core::request& r) { handle({.key = r.args()[0], .level = r.args()[1]}); })),
        bundled_(endpoint_, "bundled", [this](const node& n) { handle(n); }) {
    if (job.has_priorities) endpoint_.set_priority(single_, 1);
  }

  std::uint64_t run_epoch(std::size_t epoch) {
    epoch_ = epoch;
    key_sum_ = 0;
    std::optional<depth_request> declared;
    if (job_.declares_depth) declared.emplace(epochs_, static_cast<int>(work().depth));
    epochs_.begin();
    work().for_each_root(endpoint_.rank(), [this](const node& n) { send(n); });
    const auto value = [this] {
      if (endpoint_.transport().now_ns() > 1'000'000'000) throw std::runtime_error("has not ended after a second");
      return key_sum_;
    };
    const auto when = job_.has_late_summands && endpoint_.rank() % 3 == 0 ? summand::late : summand::passive;
    if (job_.in_steps && endpoint_.rank() % 2 == 0) {
      while (!epochs_.try_end(value, when)) {
      }
    } else {
      epochs_.end(value, when);
    }
    const std::uint64_t sum = epochs_.sum();
    if (oracle_.under_way(epoch) != 0) throw ended_early("an epoch has ended too early");
    return sum;
  }

  core::endpoint& own() { return endpoint_; }
  std::uint32_t waves() const { return epochs_.how().waves(); }

 private:
  const trees& work() const { return job_.epochs[epoch_]; }

  void send(const node& n) {
    oracle_.sent(epoch_);
    const rank_t home = work().home(n);
    if (n.key % 3 == 0) {
      bundled_.send(home, n);
    } else {
      const std::vector<std::byte> payload(n.key % job_.large_one_in == 1 ? endpoint_.packet_bytes_max() + 50 : 0);
      endpoint_.request_medium(home, single_, payload, {n.key, n.level});
    }
  }

  void handle(const node& n) {
    key_sum_ += n.key;
    work().for_each_child(n, [this](const node& child) { send(child); });
    oracle_.handled(epoch_);
  }

  const schedule& job_;
  oracle& oracle_;
  core::endpoint endpoint_;
  epochs epochs_;
  core::handler_id single_;
  bundles bundled_;
  std::size_t epoch_ = 0;
  std::uint64_t key_sum_ = 0;
};

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

}  // namespace

schedule schedule::of(std::uint64_t seed) {
  splitmix64 random(splitmix64::mix(seed));
  schedule job;
  job.ranks = static_cast<rank_t>(2 + random.below(random.below(3) == 0 ? 31 : 6));
  job.options = {.seed = seed,
                 .latency_ns = one_of<std::uint64_t>(random, {200, 1500, 5000}),
                 .overhead_ns = one_of<std::uint64_t>(random, {0, 100, 300}),
                 .poll_ns = 200,  // looking takes most of the time that these tests take
                 .delay_ns_max = one_of<std::uint64_t>(random, {0, 2000, 20'000, 100'000}),
                 .reorder_percent = one_of<std::uint32_t>(random, {0, 20, 60}),
                 .credits = one_of<std::uint32_t>(random, {1, 2, 6, 66}),  // ordinary ones: 1, 2, 4, 64
                 .packet_bytes = one_of<std::size_t>(random, {512, 4160})};
  const auto any_rank = [&] { return static_cast<rank_t>(random.below(static_cast<std::uint64_t>(job.ranks))); };
  if (random.below(3) == 0) {
    job.options.slow_ranks.push_back({.rank = any_rank(), .factor = static_cast<std::uint32_t>(2 + random.below(40))});
  }
  for (std::uint64_t stops = random.below(3); stops > 0; --stops) {
    const std::uint64_t from_ns = random.below(100'000);
    job.options.stopped_ranks.push_back(
        {.rank = any_rank(), .from_ns = from_ns, .until_ns = from_ns + random.below(300'000)});
  }
  for (std::uint64_t epochs = 1 + random.below(3); epochs > 0; --epochs) {
    job.epochs.push_back(trees_of(random, job.ranks));
  }
  job.in_steps = random.below(2) == 0;
  job.has_priorities = random.below(2) == 0;
  job.has_late_summands = random.below(3) == 0;
  job.large_one_in = one_of<std::uint64_t>(random, {30, 2});
  return job;
}

outcome run(const schedule& job, const make_function& make) {
  oracle watcher(job.epochs.size());
  outcome result{.sums = std::vector<std::uint64_t>(job.epochs.size())};
  std::uint64_t expected_messages = 0;
  std::vector<std::uint64_t> expected_sums;
  for (const trees& each : job.epochs) {
    const auto totals = each.walk();
    expected_messages += totals.messages();
    expected_sums.push_back(totals.key_sum());
  }
  fabric::sim::run(job.ranks, job.options, [&](fabric::fabric& transport) {
    participant self(transport, job, watcher, make);
    for (std::size_t epoch = 0; epoch < job.epochs.size(); ++epoch) {
      result.sums[epoch] = self.run_epoch(epoch);
      if (result.sums[epoch] != expected_sums[epoch]) throw wrong_sum("the sum of an epoch is not that of its end");
    }
    result.waves = self.waves();
    const core::message_counts& counts = self.own().counts().epochs();
    result.messages = self.own().reduce(core::reduction::sum_u64, counts.handled);
    require(self.own().reduce(core::reduction::sum_u64, counts.sent) == result.messages, "sent differs from handled");
    require(result.messages == expected_messages, "the number of messages is wrong");
    return 0;
  });
  return result;
}

}  // namespace amity::epoch::testing
