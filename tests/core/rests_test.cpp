/// How long a thread sleeps that no message wakes, over a fabric that records its sleeps and does not sleep.

#include <cstdint>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "amity/core/endpoint.hpp"
#include "amity/core/engine_lock.hpp"
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
  amity::fabric::alarm arm() override {
    is_armed = true;
    return {};
  }
  void sleep(const amity::fabric::alarm&, std::uint64_t timeout_ns) noexcept override {
    slept_ns.push_back(timeout_ns);
  }
  void disarm() noexcept override { is_armed = false; }

  int looks = 0;
  bool is_armed = false;
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

/// What a function of the program answers, which waits for the same engine. It is ready after 100 questions.
struct program_question final : fabric::watched_memory {
  program_question(recording& on, endpoint& in) : transport(on), world(in) {}
  bool is_ready() const override {
    EXPECT_FALSE(transport.is_armed);
    const engine_lock* const lock = world.own_engine().lock();
    EXPECT_TRUE(lock == nullptr || !lock->is_inside());
    const engine::entry entered(world.own_engine());
    const std::size_t before = transport.slept_ns.size();
    world.own_engine().wait_until(
        world, "the program", [&] { return transport.slept_ns.size() > before + 1; }, [] { return false; });
    return ++asked >= 100;
  }
  bool is_outside() const noexcept override { return true; }
  void announce() noexcept override { ADD_FAILURE() << "no rank knows it"; }
  void cancel() noexcept override {}
  std::uint64_t sleep_ns_max() const noexcept override { return 20'000; }

  recording& transport;
  endpoint& world;
  mutable int asked = 0;
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

TEST_P(rests, outside_question_may_wait) {
  run([](recording& own, endpoint& world) {
    program_question question(own, world);
    world.own_engine().wait_until(
        world, {}, [&] { return question.asked >= 100; }, [] { return false; }, &question);
    EXPECT_EQ(question.asked, 100);
    EXPECT_TRUE(world.own_engine().on_own_thread());
  });
}

/// Has something to do in each round.
struct busy_client final : progress_client {
  bool on_progress() override { return true; }
};

// The thread never waits for the fabric.
TEST_P(rests, busy_rank_asks_outside) {
  struct short_question final : fabric::watched_memory {
    bool is_ready() const override { return ++asked >= 3; }
    bool is_outside() const noexcept override { return true; }
    void announce() noexcept override {}
    void cancel() noexcept override {}
    std::uint64_t sleep_ns_max() const noexcept override { return 20'000; }
    mutable int asked = 0;
  };
  run([](recording& own, endpoint& world) {
    busy_client busy;
    world.own_engine().attach(busy);
    short_question question;
    int rounds = 0;
    world.own_engine().wait_until(
        world, {}, [&] { return question.asked >= 3 || ++rounds > 1000; }, [] { return false; }, &question);
    EXPECT_EQ(question.asked, 3);
    EXPECT_EQ(own.looks, 0);
    world.own_engine().detach(busy);
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
