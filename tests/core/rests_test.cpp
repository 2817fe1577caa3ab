/// How long a thread sleeps that no message wakes, over a fabric that records its sleeps and does not sleep.

#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "amity/core/endpoint.hpp"
#include "amity/core/team.hpp"
#include "amity/fabric/decorator.hpp"
#include "amity/fabric/shm/shm.hpp"

namespace amity::core {
namespace {

class recording final : public fabric::decorator {
 public:
  explicit recording(amity::fabric::fabric& inner) : decorator(inner), caps_(inner.caps()) {
    caps_.backoff = {.looks = 3};
  }

  const amity::fabric::capabilities& caps() const noexcept override { return caps_; }
  bool ready() override {
    ++looks;
    return false;
  }
  void sleep(const amity::fabric::alarm&, std::uint64_t timeout_ns) noexcept override {
    slept_ns.push_back(timeout_ns);
  }

  int looks = 0;
  std::vector<std::uint64_t> slept_ns;

 private:
  amity::fabric::capabilities caps_;
};

/// Memory that no rank stores into.
struct silent_memory final : fabric::watched_memory {
  explicit silent_memory(std::uint64_t rest_ns) : rest(rest_ns) {}
  bool is_ready() const override { return false; }
  void announce() noexcept override {}
  void cancel() noexcept override {}
  std::uint64_t sleep_ns_max() const noexcept override { return rest; }

  std::uint64_t rest;
};

constexpr std::uint64_t forever = ~std::uint64_t{0}, slice_ns = 100'000'000;

class rests : public ::testing::TestWithParam<engine::threading> {
 protected:
  void run(const std::function<void(recording&, endpoint&)>& body) const {
    fabric::shm::run_threads({}, 1, [&](fabric::fabric& whole) {
      recording own(whole);
      team all(1);
      endpoint& world = all.enter(own, {}, GetParam());
      {
        const engine::entry entered(world.own_engine());
        body(own, world);
      }
      all.leave(0);
      return 0;
    });
  }
};
INSTANTIATE_TEST_SUITE_P(core, rests, ::testing::Values(engine::threading::owned, engine::threading::serialized),
                         [](const auto& of) { return of.param == engine::threading::owned ? "owned" : "serialized"; });

/// The first three sleeps of a wait.
std::vector<std::uint64_t> sleeps_of_wait(recording& own, endpoint& world, fabric::watched_memory* stores) {
  own.slept_ns.clear();
  world.own_engine().wait_until(
      world, "a store", [&] { return own.slept_ns.size() == 3; }, [] { return false; }, stores);
  return own.slept_ns;
}

TEST_P(rests, without_waker_are_short) {
  run([](recording& own, endpoint& world) {
    silent_memory unannounced(20'000), announced(forever);
    EXPECT_EQ(sleeps_of_wait(own, world, &unannounced), std::vector<std::uint64_t>(3, 20'000));
    EXPECT_EQ(sleeps_of_wait(own, world, &announced), std::vector<std::uint64_t>(3, slice_ns));
    EXPECT_EQ(sleeps_of_wait(own, world, nullptr), std::vector<std::uint64_t>(3, slice_ns));
  });
}

TEST_P(rests, none_in_progress) {
  run([](recording& own, endpoint& world) {
    for (int i = 0; i < 10'000; ++i) EXPECT_FALSE(world.progress());
    EXPECT_TRUE(own.slept_ns.empty());
    EXPECT_EQ(own.looks, 0);
    EXPECT_EQ(world.own_engine().idle_rounds(), 0u);
  });
}

}  // namespace
}  // namespace amity::core
