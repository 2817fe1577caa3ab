// Operations on memory of the program, which other processes copy by system calls: while the owner waits and polls,
// they are records, and complete though the owner then makes no progress.

#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <new>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "amity/core/engine.hpp"
#include "amity/fabric/decorator.hpp"
#include "amity/window/window.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

/// Counts how often a packet was sent to a rank because that polls.
class engagement_counter final : public fabric::decorator, private ::amity::fabric::attention_board {
 public:
  /// With a `refusal_period`, each so-many-th of these packets finds no credit.
  engagement_counter(::amity::fabric::fabric& whole, std::uint64_t refusal_period)
      : decorator(whole), board_(*whole.attention()), refusal_period_(refusal_period) {}

  ::amity::fabric::attention_board* attention() noexcept override { return this; }
  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, ::amity::fabric::claim of) noexcept override {
    return refuses() ? status::again : decorator::try_send(dest, header, payload, of);
  }
  status acquire(rank_t dest, ::amity::fabric::slot& out, ::amity::fabric::claim of) noexcept override {
    return refuses() ? status::again : decorator::acquire(dest, out, of);
  }
  std::uint64_t engaged() const noexcept { return engaged_; }

 private:
  void begin() noexcept override { board_.begin(); }
  bool end() noexcept override { return board_.end(); }
  bool engage(rank_t peer) noexcept override {
    const bool is_engaged = board_.engage(peer);
    engaged_ += is_engaged ? 1 : 0;
    is_engaged_ = is_engaged;
    return is_engaged;
  }
  void disengage(rank_t peer) noexcept override {
    is_engaged_ = false;
    board_.disengage(peer);
  }
  bool refuses() const noexcept { return is_engaged_ && refusal_period_ > 0 && engaged_ % refusal_period_ == 0; }

  ::amity::fabric::attention_board& board_;
  std::uint64_t refusal_period_;
  std::uint64_t engaged_ = 0;
  bool is_engaged_ = false;
};

/// Lets other ranks operate for some rounds of an attentive wait, which take long where other programs run.
void wait_attentively(world& w, std::uint64_t rounds_left) {
  constexpr std::uint64_t ns_max = 2'000'000;
  core::engine& own = w.endpoint().own_engine();
  const std::uint64_t begin_ns = w.now_ns();
  const core::engine::attentive_wait attentive(own);
  own.wait_until(
      w.endpoint(), "rounds of a test", [&] { return rounds_left-- == 0 || w.now_ns() - begin_ns > ns_max; },
      [] { return false; });
}

/// What the processes of the test share without Amity.
struct shared_counts {
  std::atomic<std::uint64_t> completed;  ///< operations of rank 0
  std::atomic<bool> has_ended;
};

// Rank 1 waits attentively, and then makes no progress until rank 0 has completed some operations.
void operate_while_target_leaves(std::uint64_t refusal_period) {
  const std::uint64_t waits = testing::cases(300);
  constexpr std::uint64_t words = 64;
  void* const memory_of_counts =
      ::mmap(nullptr, sizeof(shared_counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory_of_counts, MAP_FAILED);
  auto& [completed, has_ended] = *new (memory_of_counts) shared_counts{};
  testing::processes("shm").run(2, {}, [&](fabric::fabric& transport) {
    engagement_counter counted(transport, refusal_period);
    world w(counted, {});
    std::vector<std::uint64_t> memory(words);
    auto shared = w.create_window(std::span(memory));
    if (w.rank() == 0) {
      shared.lock_all();
      for (std::uint64_t i = 1; !has_ended; ++i) {
        std::uint64_t seen = 0;
        shared.put(1, i % words, i);
        shared.flush(1);
        shared.get(1, i % words, seen);
        shared.flush(1);
        EXPECT_EQ(seen, i);
        ++completed;
        if (::testing::Test::HasFailure()) break;
      }
      shared.unlock_all();
      EXPECT_TRUE(counted.engaged() > 0 || std::thread::hardware_concurrency() < 2);
    } else {
      std::minstd_rand random(1);
      for (std::uint64_t round = 0; round < waits && !::testing::Test::HasFailure(); ++round) {
        wait_attentively(w, random() % 20);
        const std::uint64_t before = completed;
        while (completed < before + 2 && !::testing::Test::HasFailure()) std::this_thread::yield();
      }
      has_ended = true;
    }
    w.barrier();
  });
  ::munmap(memory_of_counts, sizeof(shared_counts));
}

TEST(attentive_targets, operations_complete_though_target_leaves) { operate_while_target_leaves(0); }

TEST(attentive_targets, operations_without_credit_complete_though_target_leaves) { operate_while_target_leaves(2); }

}  // namespace
}  // namespace amity
