/// How long a rank sleeps that waits for another one in a call of a window.

#include <atomic>
#include <cstdint>
#include <vector>

#include "amity/fabric/decorator.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "amity/window/window.hpp"
#include "amity/world/world.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

/// Sleeps of all ranks, which are threads.
struct sleeps {
  std::atomic<int> count = 0;
  std::atomic<std::uint64_t> longest_ns = 0, shortest_ns = ~std::uint64_t{0};
};

class recording final : public fabric::decorator {
 public:
  recording(amity::fabric::fabric& inner, sleeps& into) : decorator(inner), caps_(inner.caps()), into_(into) {
    caps_.backoff.looks = 1;
    caps_.backoff.yields = 0;
  }

  const amity::fabric::capabilities& caps() const noexcept override { return caps_; }
  void sleep(const amity::fabric::alarm& by, std::uint64_t timeout_ns) noexcept override {
    if (timeout_ns > into_.longest_ns) into_.longest_ns = timeout_ns;
    if (timeout_ns < into_.shortest_ns) into_.shortest_ns = timeout_ns;
    ++into_.count;
    decorator::sleep(by, timeout_ns);
  }

 private:
  amity::fabric::capabilities caps_;
  sleeps& into_;
};

/// Rank 1 does `wait` until it has slept several times; then rank 0 does `release`. Returns the sleeps of rank 1.
template <class Prepare, class Wait, class Release>
void run_wait(sleeps& of_1, int sleeps_min, Prepare prepare, Wait wait, Release release) {
  sleeps others;
  fabric::shm::run_threads({}, 2, [&](fabric::fabric& whole) {
    recording own(whole, whole.rank() == 1 ? of_1 : others);
    world w(own, {});
    auto words = w.allocate_window<std::uint64_t>(4);
    if (w.rank() == 0) prepare(words);
    w.barrier();
    if (w.rank() == 1) {
      of_1.count = 0;
      of_1.longest_ns = 0;
      of_1.shortest_ns = ~std::uint64_t{0};
      wait(words);
    } else {
      while (of_1.count < sleeps_min) w.poll();
      release(words);
    }
    w.barrier();
    return 0;
  });
}

// No rank announces that it has left a lock which others map.
TEST(window_rests, lock_without_waker_is_looked_at_each_20_us) {
  sleeps of_1;
  run_wait(
      of_1, 5, [](auto& words) { words.lock(lock_kind::exclusive, 0); },
      [&](auto& words) {
        words.lock(lock_kind::exclusive, 0);
        words.flush(0);
        EXPECT_LE(of_1.longest_ns, 20'000u);
        words.unlock(0);
      },
      [](auto& words) { words.unlock(0); });
}

// The signal of a post wakes the rank.
TEST(window_rests, announced_sleep_is_long) {
  sleeps of_1;
  run_wait(
      of_1, 1, [](auto&) {},
      [&](auto& words) {
        words.start(std::vector<rank_t>{0});
        words.put(0, 1, 7);
        words.complete();
        EXPECT_GT(of_1.shortest_ns, 20'000u);
      },
      [](auto& words) {
        words.post(std::vector<rank_t>{1});
        words.wait();
        EXPECT_EQ(words.local()[1], 7u);
      });
}

}  // namespace
}  // namespace amity
