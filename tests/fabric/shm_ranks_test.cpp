/// What ranks that share memory promise beyond the contract: a returned credit or buffer wakes its source, a packet
/// its target and an abort all ranks, no source is starved, and kept payloads take a bounded amount of memory.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/clock.hpp"
#include "amity/base/error.hpp"
#include "amity/base/settings.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "amity/fabric/waiter.hpp"

namespace amity::fabric::testing {
namespace {

/// A rank that is not woken sleeps for at least this time. It is so long that a rank that is woken needs less, even if
/// the machine is busy.
constexpr std::uint64_t timeout_ns = 60'000'000'000;

constexpr std::size_t ring_slots = 16;
settings small_rings() {
  settings config;
  config.set("AMITY_SHM_RING_SLOTS", std::to_string(ring_slots));
  config.set("AMITY_SHM_BUFFERS", "2");
  return config;
}

/// Keeps the packets that it gets, or releases them at once.
class collector final : public sink {
 public:
  explicit collector(disposition answer) : answer_(answer) {}

  std::size_t count() const { return sources.size(); }
  void release_all(fabric& own) {
    for (const std::uint64_t token : tokens) own.release(token);
    tokens.clear();
  }

  disposition on_packet(const packet& p) noexcept override {
    sources.push_back(p.source);
    payloads.push_back(p.payload.data());
    if (answer_ == disposition::keep) tokens.push_back(p.token);
    return answer_;
  }
  void on_done(std::uint64_t) noexcept override {}
  void on_notify(std::uint32_t) noexcept override {}

  std::vector<rank_t> sources;
  std::vector<const std::byte*> payloads;
  std::vector<std::uint64_t> tokens;  ///< of packets that are kept

 private:
  disposition answer_;
};

/// Whether a thread of this process sleeps in the kernel.
bool sleeps(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && text.substr(name_end + 2, 1) == "S";
}

/// What the two ranks of a wake-up test know of each other.
struct wake_up {
  std::atomic<pid_t> waiter = 0;  ///< the thread of rank 0
  std::atomic<int> waits = 0;     ///< that it has begun
  std::atomic<bool> over = false;
  bool in_time = true;
};

/// Sends until it is refused, and waits for what is missing.
void send_and_wait(fabric& own, wake_up& state, bytes_view payload) {
  state.waiter = ::gettid();
  while (state.waits < 100 && state.in_time) {
    while (own.try_send(1, 1, payload, claim::ordinary) == status::ok) {
    }
    const std::uint64_t begin_ns = steady_now_ns();
    ++state.waits;
    do wait(own, timeout_ns);  // it may return early
    while (own.try_send(1, 1, payload, claim::ordinary) != status::ok && steady_now_ns() < begin_ns + timeout_ns);
    state.in_time = steady_now_ns() < begin_ns + timeout_ns;
  }
  state.over = true;
}

/// In each wait of rank 0, once that sleeps, gives back all that rank 0 waits for, and calls nothing else of the
/// fabric.
void give_back_to_sleeper(fabric& own, wake_up& state, disposition answer) {
  for (int served = 0; !state.over;) {
    const int waits = state.waits;
    if (waits == served || !sleeps(state.waiter)) {
      std::this_thread::yield();
      continue;
    }
    served = waits;
    collector all(answer);
    own.poll(all, 64);
    all.release_all(own);
  }
}

/// Whether rank 0 was woken each time by what rank 1 has given back.
bool return_wakes_source(std::size_t payload_bytes, disposition answer) {
  wake_up state;
  shm::run_threads(small_rings(), 2, [&](fabric& own) {
    if (own.rank() == 0) {
      send_and_wait(own, state, std::vector<std::byte>(payload_bytes));
    } else {
      give_back_to_sleeper(own, state, answer);
    }
    return 0;
  });
  return state.in_time;
}

// Nothing else happens that could wake the source.
TEST(shm_wake_up, returned_buffer_wakes_source) {
  EXPECT_TRUE(return_wakes_source(200, disposition::release));
  EXPECT_TRUE(return_wakes_source(200, disposition::keep));
}

TEST(shm_wake_up, returned_credit_wakes_source) {
  EXPECT_TRUE(return_wakes_source(8, disposition::release));
  EXPECT_TRUE(return_wakes_source(8, disposition::keep));
}

/// Whether rank 0 is woken by `act` of rank 1. Rank 0 sleeps until `over` holds.
template <class Over, class Act>
bool wakes_sleeper(const Over& over, const Act& act) {
  wake_up state;
  shm::run_threads(small_rings(), 2, [&](fabric& own) {
    if (own.rank() == 0) {
      const std::uint64_t begin_ns = steady_now_ns();
      state.waiter = ::gettid();
      while (!over(own) && steady_now_ns() < begin_ns + timeout_ns) {
      }
      state.in_time = steady_now_ns() < begin_ns + timeout_ns;
    } else {
      while (state.waiter == 0 || !sleeps(state.waiter)) std::this_thread::yield();
      act(own);
    }
    return 0;
  });
  return state.in_time;
}

TEST(shm_wake_up, packet_wakes_target) {
  for (const std::size_t payload_bytes : {8, 200}) {
    const auto arrives = [](fabric& own) {
      wait(own, timeout_ns);
      collector all(disposition::release);
      return own.poll(all, 1) > 0;
    };
    const auto send = [&](fabric& own) {
      EXPECT_EQ(own.try_send(0, 1, std::vector<std::byte>(payload_bytes), claim::ordinary), status::ok);
    };
    EXPECT_TRUE(wakes_sleeper(arrives, send)) << payload_bytes;
  }
}

TEST(shm_wake_up, abort_wakes_sleeping_rank) {
  const auto ends = [](fabric& own) {
    try {
      wait(own, timeout_ns);
    } catch (const job_aborted&) {
      return true;
    }
    return false;
  };
  EXPECT_TRUE(wakes_sleeper(ends, [](fabric& own) { own.abort(); }));
}

// Rank 0 has been refused a credit and a buffer. Only credits return: the wait must not insist on a buffer.
TEST(shm_wake_up, credit_ends_wait_for_credit_and_buffer) {
  constexpr std::size_t small_packets = ring_slots - reserve_per_peer - 2;
  std::atomic<int> step = 0;
  const auto await_step = [&](int wanted) {
    while (step < wanted) std::this_thread::yield();
  };
  shm::run_threads(small_rings(), 2, [&](fabric& own) {
    if (own.rank() == 0) {
      const std::array<std::byte, 200> large{};
      for (int i = 0; i < 2; ++i) EXPECT_EQ(own.try_send(1, 1, large, claim::ordinary), status::ok);
      for (std::size_t i = 0; i < small_packets; ++i) EXPECT_EQ(own.try_send(1, 2, {}, claim::ordinary), status::ok);
      EXPECT_EQ(own.try_send(1, 2, {}, claim::ordinary), status::again);
      EXPECT_EQ(own.try_send(1, 1, large, claim::ordinary), status::again);
      step = 1;
      await_step(2);
      const std::uint64_t begin_ns = steady_now_ns();
      wait(own, timeout_ns);
      EXPECT_LT(steady_now_ns() - begin_ns, timeout_ns);
      EXPECT_EQ(own.try_send(1, 2, {}, claim::ordinary), status::ok);
    } else {
      await_step(1);
      collector all(disposition::keep);
      while (all.count() < small_packets + 2) own.poll(all, 64);
      for (std::size_t i = 2; i < all.count(); ++i) own.release(all.tokens[i]);
      step = 2;
    }
    return 0;
  });
}

TEST(shm_poll, busy_source_does_not_starve_another) {
  constexpr int busy_packets = 10;
  std::atomic<int> ready = 0;
  collector found(disposition::release);
  shm::run_threads({}, 3, [&](fabric& own) {
    if (own.rank() == 2) {
      while (ready < 2) std::this_thread::yield();
      while (found.count() < busy_packets + 1) own.poll(found, 1);
    } else {
      for (int i = 0; i < (own.rank() == 0 ? busy_packets : 1); ++i)
        EXPECT_EQ(own.try_send(2, 1, {}, claim::ordinary), status::ok);
      ++ready;
    }
    return 0;
  });
  EXPECT_LE(std::ranges::find(found.sources, 1) - found.sources.begin(), 2);
}

// Each kept payload withholds a credit; one place more takes the next packet.
TEST(shm_kept_payloads, take_bounded_memory) {
  constexpr std::size_t packets = 1000;
  std::set<const std::byte*> places;
  shm::run_threads(small_rings(), 2, [&](fabric& own) {
    const std::array<std::byte, 8> payload{};
    if (own.rank() == 0) {
      for (std::size_t sent = 0; sent < packets;) {
        if (own.try_send(1, 1, payload, claim::ordinary) == status::ok) {
          ++sent;
        } else {
          wait(own, timeout_ns);
        }
      }
      return 0;
    }
    collector kept(disposition::keep);
    while (kept.count() < packets) {
      if (own.poll(kept, 64) == 0) wait(own, timeout_ns);
      kept.release_all(own);
    }
    places.insert(kept.payloads.begin(), kept.payloads.end());
    return 0;
  });
  EXPECT_LE(places.size(), ring_slots + 1);
}

}  // namespace
}  // namespace amity::fabric::testing
