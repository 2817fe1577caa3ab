/// Long puts and gets that the progress thread of their origin carries out.

#include "amity/window/long_transfers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "amity/core/memory.hpp"
#include "amity/core/team.hpp"
#include "amity/fabric/decorator.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "amity/window/window.hpp"
#include "amity/window/window_origin.hpp"
#include "amity/window/window_service.hpp"
#include "tests/core/poorer.hpp"
#include "tests/support/programs.hpp"
#include "tests/window/paths.hpp"

namespace amity::fabric::testing {
namespace {

/// Packets that the first thread of the job fills for the thread `dest` leave late.
class late_packets final : public decorator {
 public:
  late_packets(fabric& whole, rank_t dest) : decorator(whole), dest_(whole.rank() == 0 ? dest : no_rank) {}

  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept override {
    return dest == dest_ && !held_.empty() ? status::again : decorator::try_send(dest, header, payload, of);
  }
  void commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t bytes) noexcept override {
    if (dest != dest_) return decorator::commit(dest, header, filled, bytes);
    held_.push_back({.header = header, .filled = filled, .bytes = bytes, .due_ns = now_ns() + 1'000'000});
  }
  std::size_t poll(sink& receiver, std::size_t packets_max) override {
    for (; !held_.empty() && held_.front().due_ns <= now_ns(); held_.pop_front()) {
      const packet& next = held_.front();
      decorator::commit(dest_, next.header, next.filled, next.bytes);
    }
    return decorator::poll(receiver, packets_max);
  }
  bool ready() override { return (!held_.empty() && held_.front().due_ns <= now_ns()) || decorator::ready(); }
  void sleep(const alarm& by, std::uint64_t timeout_ns) noexcept override {
    if (!held_.empty())
      timeout_ns = std::min(timeout_ns, held_.front().due_ns - std::min(held_.front().due_ns, now_ns()));
    decorator::sleep(by, timeout_ns);
  }

 private:
  struct packet {
    std::uint64_t header;
    slot filled;
    std::size_t bytes;
    std::uint64_t due_ns;
  };

  rank_t dest_;
  std::deque<packet> held_;
};

}  // namespace
}  // namespace amity::fabric::testing

namespace amity {
namespace {

using detail::long_transfers;
using testing::compute_until;
using testing::next_of;
using testing::previous_of;
using testing::shape;
using testing::window_job;

constexpr std::size_t words_min = long_transfers::bytes_min / sizeof(std::uint64_t);

std::vector<std::uint64_t> numbers(std::size_t count, std::uint64_t first) {
  std::vector<std::uint64_t> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

bool follow(std::span<const std::uint64_t> words, std::uint64_t first) {
  return std::ranges::all_of(words, [&](std::uint64_t word) { return word == first++; });
}

/// Runs `body` on each rank of a job whose ranks have progress threads. Only records reach segments. Packets to the
/// thread `late` are late.
void run_on_records(const std::string& fabric, rank_t ranks, const testing::world_body& body, rank_t late = no_rank) {
  const settings config = shape(fabric, ranks, 1, {"AMITY_PROGRESS_THREAD=1"});
  std::vector<std::unique_ptr<core::team>> teams;
  while (teams.size() < static_cast<std::size_t>(ranks)) teams.push_back(std::make_unique<core::team>(2));
  const auto lane_main = [&](fabric::fabric& whole) {
    fabric::testing::poorer poor(whole, false);
    fabric::testing::late_packets own(poor, late);
    core::team& threads = *teams[static_cast<std::size_t>(own.rank() / 2)];
    struct departure {
      core::team& from;
      rank_t thread;
      ~departure() { from.leave(thread); }
    };
    const departure leaves{threads, threads.enter(own, config).thread()};
    if (leaves.thread > 0) {
      threads.threads().serve(leaves.thread);
      return 0;
    }
    threads.threads().assemble();
    world w(threads, config);
    body(w);
    w.endpoint().reduce(core::reduction::ending, 0);
    return 0;
  };
  if (fabric == "sim") {
    EXPECT_EQ(fabric::sim::run(2 * ranks, fabric::sim::sim_options::from(config).for_lanes(2), lane_main).status, 0);
  } else {
    EXPECT_EQ(fabric::shm::run_threads(config, 2 * ranks, lane_main), 0);
  }
}

/// Memory of each rank, and the transfers of rank 0 to and from that of rank 1.
class tested_transfers {
 public:
  explicit tested_transfers(world& of) : of_(of), helper_(of.endpoint().home_thread()) {
    core::segment_descriptor own;
    on_helper([&] {
      local_ = memory().allocate(segment_bytes);
      own = local_.descriptor;
    });
    descriptors_ = core::exchange_descriptors(of.endpoint(), own);
    on_helper([&] {
      core::endpoint& lane = of_.team().lane(helper_);
      taker_ = &detail::window_service::of(lane).transfers(of_.endpoint().lane());
    });
    target_.emplace(descriptors_.back());
  }
  ~tested_transfers() {
    on_helper([this] { taker_->close(*target_); });
    of_.barrier();
    on_helper([this] { memory().release(local_); });
  }

  static constexpr std::size_t segment_bytes = std::size_t{1} << 20;

  std::span<std::uint64_t> local() const {
    return {reinterpret_cast<std::uint64_t*>(local_.data), segment_bytes / sizeof(std::uint64_t)};
  }
  long_transfers& taker() { return *taker_; }
  detail::target_transfers& target() { return *target_; }
  void wake() { of_.endpoint().own_engine().send(of_.endpoint().lane() + helper_, core::service::wake, {}); }
  /// This thread makes no call of Amity until all transfers are complete. Returns false if that takes a minute.
  bool compute_until_done() {
    fabric::fabric& transport = of_.endpoint().transport();
    const bool is_simulated = transport.caps().virtual_time;
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!target_->done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      if (is_simulated) {
        testing::idle_until(transport, transport.now_ns() + 1000);
      } else {
        std::this_thread::yield();
      }
    }
    return true;
  }

 private:
  core::memory& memory() { return of_.team().lane(helper_).memory(); }
  void on_helper(function_ref<void()> work) { of_.team().run_on(helper_, work); }

  world& of_;
  rank_t helper_;
  core::local_segment local_;
  std::vector<core::segment_descriptor> descriptors_;
  long_transfers* taker_ = nullptr;
  std::optional<detail::target_transfers> target_;
};

void run_transfers(const std::string& fabric, const std::function<void(world&, tested_transfers&)>& body) {
  run_on_records(fabric, 2, [&](world& w) {
    tested_transfers of(w);
    w.barrier();
    body(w, of);
    w.barrier();
  });
}

class handed_over_transfers : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(window, handed_over_transfers, ::testing::Values("sim", "threads"),
                         [](const auto& tested) { return tested.param; });

TEST_P(handed_over_transfers, complete_while_program_makes_no_call) {
  run_transfers(GetParam(), [](world& w, tested_transfers& of) {
    if (w.rank() == 1) std::ranges::copy(numbers(of.local().size(), 1), of.local().begin());
    w.barrier();
    const std::vector<std::uint64_t> given = numbers(words_min, 1'000'000);
    std::vector<std::uint64_t> taken(words_min);
    if (w.rank() == 0) {
      const std::uint64_t at = 8 * words_min;
      EXPECT_TRUE(of.taker().try_hand_over(of.target(), {.at = at, .from = std::as_bytes(std::span(given))}));
      EXPECT_TRUE(of.taker().try_hand_over(of.target(), {.into = std::as_writable_bytes(std::span(taken))}));
      EXPECT_TRUE(of.taker().must_wake());
      EXPECT_FALSE(of.target().done());
      of.wake();
      EXPECT_TRUE(of.compute_until_done());
      EXPECT_TRUE(follow(taken, 1));
      EXPECT_TRUE(of.taker().done());
    }
    w.barrier();
    if (w.rank() == 1) {
      EXPECT_TRUE(follow(of.local().subspan(words_min, words_min), 1'000'000));
    }
  });
}

// A simulated progress thread runs when this one lets time pass.
TEST(long_transfers, as_many_as_slots_wait) {
  run_transfers("sim", [](world& w, tested_transfers& of) {
    if (w.rank() != 0) return;
    const std::vector<std::uint64_t> given(words_min, 7);
    const long_transfers::transfer put{.from = std::as_bytes(std::span(given))};
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < long_transfers::pending_max; ++i) {
        EXPECT_TRUE(of.taker().try_hand_over(of.target(), put));
        EXPECT_EQ(of.taker().must_wake(), i == 0);
      }
      EXPECT_FALSE(of.taker().try_hand_over(of.target(), put));
      of.wake();
      EXPECT_TRUE(of.compute_until_done());
    }
  });
}

TEST(long_transfers, reports_name_them) {
  detail::target_transfers transfers({});
  detail::window_peer peer(1, 3);
  peer.transfers = &transfers;
  EXPECT_TRUE(detail::window_origin::done(peer));
  transfers.handed_over = 2;
  transfers.completed = 1;
  EXPECT_FALSE(detail::window_origin::done(peer));
  EXPECT_TRUE(detail::window_origin::reads_operands(peer));
  EXPECT_EQ(detail::window_origin::describe_unfinished(peer),
            "waits for puts and gets that the progress thread carries out");
}

// Windows

class long_window_transfers : public testing::on_paths {};
INSTANTIATE_TEST_SUITE_P(window, long_window_transfers, ::testing::ValuesIn(testing::helped_jobs({2, 3}, {2})),
                         testing::name_of_job);

constexpr std::array<std::size_t, 4> sizes{words_min - 1, words_min, words_min + 1, 3 * words_min};
constexpr std::size_t words_of_all = 6 * words_min;

/// Puts of each size to the next rank, and gets of the same number of words from behind them.
void transfer_all(world& w, window<std::uint64_t>& memory, std::uint64_t round,
                  std::vector<std::vector<std::uint64_t>>& given, std::vector<std::vector<std::uint64_t>>& taken) {
  const std::uint64_t own = 1'000'000 * (round + 10 * static_cast<std::uint64_t>(w.rank()));
  std::size_t at = 0;
  for (const std::size_t count : sizes) {
    given.push_back(numbers(count, own + at));
    memory.put(next_of(w), at, std::span<const std::uint64_t>(given.back()));
    at += count;
  }
  for (const std::size_t count : sizes) {
    taken.emplace_back(count);
    memory.get(next_of(w), at, std::span(taken.back()));
    at += count;
  }
}

void expect_all(world& w, window<std::uint64_t>& memory, std::uint64_t round,
                const std::vector<std::vector<std::uint64_t>>& taken) {
  const std::uint64_t previous = 1'000'000 * (round + 10 * static_cast<std::uint64_t>(previous_of(w)));
  EXPECT_TRUE(follow(memory.local().first(words_of_all), previous));
  std::size_t at = words_of_all;
  for (const std::vector<std::uint64_t>& each : taken) {
    EXPECT_TRUE(follow(each, at));
    at += each.size();
  }
}

void fill(window<std::uint64_t>& memory) {
  for (std::size_t i = 0; i < memory.local().size(); ++i) memory.local()[i] = i;
}

/// Transfers in an epoch of each kind.
void transfer_in_epochs(world& w) {
  auto memory = w.allocate_window<std::uint64_t>(2 * words_of_all);
  const std::array<rank_t, 1> next{next_of(w)}, previous{previous_of(w)};
  using step = std::function<void(const std::function<void()>&)>;
  const std::array<step, 4> epochs{[&](const auto& transfer) {
                                     memory.fence(window_assert::no_precede);
                                     transfer();
                                     memory.fence(window_assert::no_succeed);
                                   },
                                   [&](const auto& transfer) {
                                     memory.post(previous);
                                     memory.start(next);
                                     transfer();
                                     memory.complete();
                                     memory.wait();
                                   },
                                   [&](const auto& transfer) {
                                     memory.lock(lock_kind::exclusive, next[0]);
                                     transfer();
                                     memory.unlock(next[0]);
                                     w.barrier();
                                   },
                                   [&](const auto& transfer) {
                                     memory.lock_all();
                                     transfer();
                                     memory.flush_all();
                                     w.barrier();
                                     memory.unlock_all();
                                   }};
  for (std::uint64_t round = 0; const step& epoch : epochs) {
    fill(memory);
    w.barrier();
    std::vector<std::vector<std::uint64_t>> given, taken;
    epoch([&] { transfer_all(w, memory, ++round, given, taken); });
    expect_all(w, memory, round, taken);
    w.barrier();
  }
}

TEST_P(long_window_transfers, end_with_each_synchronization) { run(transfer_in_epochs); }

TEST(long_window_transfers_on_records, end_with_each_synchronization) {
  for (const char* const fabric : {"sim", "threads"}) run_on_records(fabric, 3, transfer_in_epochs);
}

TEST_P(long_window_transfers, end_before_requests_and_flushes) {
  run([](world& w) {
    auto memory = w.allocate_window<std::uint64_t>(2 * words_of_all);
    fill(memory);
    w.barrier();
    const rank_t next = next_of(w);
    std::vector<std::uint64_t> given = numbers(words_min, 5), taken(words_min);
    memory.lock_all();
    memory.rput(next, 0, std::span<const std::uint64_t>(given)).wait();
    std::ranges::fill(given, 0);
    memory.flush(next);
    window_request request = memory.rget(next, 0, std::span(taken));
    while (!request.test()) continue;
    EXPECT_TRUE(follow(taken, 5));
    memory.get(next, words_min, std::span(taken));
    memory.flush_local(next);
    EXPECT_TRUE(follow(taken, words_min));
    memory.put(next, 0, std::span<const std::uint64_t>(taken));
    memory.flush(next);
    std::ranges::fill(taken, 0);
    memory.get(next, 0, std::span(taken));
    memory.flush_local_all();
    EXPECT_TRUE(follow(taken, words_min));
    memory.unlock_all();
    w.barrier();
  });
}

// More than have slots, and operations that wait for a lock.
TEST_P(long_window_transfers, more_than_slots_arrive) {
  run([](world& w) {
    constexpr std::size_t count = long_transfers::pending_max + 20;
    auto memory = w.allocate_window<std::uint64_t>(count * words_min);
    const std::vector<std::uint64_t> given = numbers(words_min, 3);
    memory.lock(lock_kind::exclusive, next_of(w));
    for (std::size_t i = 0; i < count; ++i) memory.put(next_of(w), i * words_min, std::span(given));
    memory.unlock(next_of(w));
    w.barrier();
    for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(follow(memory.local().subspan(i * words_min, words_min), 3));
    w.barrier();
  });
}

// Operands in blocks are copies that the window keeps until they have been read.
TEST_P(long_window_transfers, read_copies_of_blocks) {
  run([](world& w) {
    auto memory = w.allocate_window<std::uint64_t>(words_min);
    std::vector<std::uint64_t> given = numbers(2 * words_min, 0), taken(2 * words_min);
    const auto every_second = std::make_shared<const layout>(layout::strided(words_min, 8, 16));
    const auto whole = std::make_shared<const layout>(layout::contiguous(8 * words_min));
    memory.lock(lock_kind::exclusive, next_of(w));
    memory.put(next_of(w), 0, whole, layout_span<const std::uint64_t>(given.data(), every_second));
    memory.flush(next_of(w));
    memory.get(next_of(w), 0, whole, layout_span<std::uint64_t>(taken.data(), every_second));
    memory.unlock(next_of(w));
    for (std::size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i], i % 2 == 0 ? i : 0);
    w.barrier();
  });
}

// Ranks of the same node map the memory.
TEST(long_window_transfers_on_network, go_beside_loads_and_stores) {
  if (!testing::network_is_tested) GTEST_SKIP() << "no libfabric here";
  testing::run_job(shape("composite", 4, 1, {"AMITY_PROGRESS_THREAD=1"}), [](world& w) {
    const auto ranks = static_cast<std::size_t>(w.size()), own = static_cast<std::size_t>(w.rank());
    auto memory = w.allocate_window<std::uint64_t>(ranks * words_min);
    const std::vector<std::uint64_t> given = numbers(words_min, own);
    std::vector<std::vector<std::uint64_t>> taken(ranks, std::vector<std::uint64_t>(words_min));
    memory.fence(window_assert::no_precede);
    for (const rank_t each : testing::everyone(w)) memory.put(each, own * words_min, std::span(given));
    memory.fence();
    for (const rank_t each : testing::everyone(w))
      memory.get(each, own * words_min, std::span(taken[static_cast<std::size_t>(each)]));
    memory.fence(window_assert::no_succeed);
    for (std::size_t i = 0; i < ranks; ++i) {
      EXPECT_TRUE(follow(memory.local().subspan(i * words_min, words_min), i));
      EXPECT_TRUE(follow(taken[i], own));
    }
  });
}

// Rank 1 leaves the fence while a record of rank 0 for rank 2 is under way.
TEST(long_window_transfers_on_records, begin_after_records_of_others) {
  run_on_records(
      "sim", 3,
      [](world& w) {
        auto memory = w.allocate_window<std::uint64_t>(words_min);
        std::vector<std::uint64_t> taken(words_min);
        memory.fence(window_assert::no_precede);
        for (std::uint64_t round = 1; round <= 3; ++round) {
          if (w.rank() == 0) memory.put(2, 0, round);
          memory.fence();
          if (w.rank() == 1) memory.get(2, 0, std::span(taken));
          memory.fence();
          EXPECT_TRUE(w.rank() != 1 || taken[0] == round);
        }
        memory.fence(window_assert::no_succeed);
      },
      5);
}

// The program may destroy the buffer when the call throws.
TEST(long_window_transfers_on_records, leave_buffers_alone_after_a_failure) {
  const std::string failure = testing::failure_of([] {
    run_on_records("sim", 2, [](world& w) {
      auto memory = w.allocate_window<std::uint64_t>(16 * words_min);
      std::vector<std::uint64_t> taken(16 * words_min);
      if (w.rank() == 1) {
        w.barrier();
        throw std::runtime_error("rank 1 gives up");
      }
      memory.lock_all();
      memory.get(1, 0, taken.front());
      memory.flush(1);
      memory.get(1, 0, std::span(taken));
      w.barrier();
      try {
        memory.flush(1);
        ADD_FAILURE() << "the job has not failed";
      } catch (...) {
        bool runs = false;
        static_cast<void>(w.team().try_run([&](rank_t) { runs = true; }));
        EXPECT_FALSE(runs) << "the progress thread has not left";
        throw;
      }
    });
  });
  EXPECT_EQ(failure, "rank 1 gives up");
}

// The origin makes no call from the beginning of the operations until both have been carried out. The put is larger
// than the buffers of a socket.
TEST(long_window_transfers_on_network, need_no_call_of_origin) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "it reads memory while the network writes it";
#endif
  if (!testing::network_is_tested) GTEST_SKIP() << "no libfabric here";
  for (const char* const sealed : {"AMITY_OFI_SEALED=0", "AMITY_OFI_SEALED=1"}) {
    testing::run_job(shape("ofi", 2, 1, {"AMITY_PROGRESS_THREAD=1", sealed}), [](world& w) {
      constexpr std::size_t count = std::size_t{4} << 20;
      auto memory = w.allocate_window<std::uint64_t>(count);
      auto told = w.allocate_window<std::uint64_t>(1);
      fill(memory);
      w.barrier();
      if (w.rank() == 0) {
        const std::vector<std::uint64_t> given = numbers(count, 10);
        std::vector<std::uint64_t> taken(words_min);
        memory.lock(lock_kind::shared, 1);
        memory.get(1, 4, taken.front());
        memory.flush(1);  // it has the lock now
        EXPECT_EQ(taken.front(), 4u);
        memory.get(1, 5, std::span(taken));
        compute_until(taken.back(), words_min + 4);
        memory.flush(1);
        EXPECT_TRUE(follow(taken, 5));
        memory.put(1, 0, std::span<const std::uint64_t>(given));
        compute_until(told.local()[0], 1);
        memory.unlock(1);
        w.barrier();
      } else {
        compute_until(memory.local()[count - 1], count + 9);
        told.lock(lock_kind::exclusive, 0);
        told.put(0, 0, 1);
        told.unlock(0);
        w.barrier();
        EXPECT_TRUE(follow(memory.local(), 10));
      }
      w.barrier();
    });
  }
}

}  // namespace
}  // namespace amity
