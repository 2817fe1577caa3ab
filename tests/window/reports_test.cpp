/// Reports of windows: where a rank waits, and what it knows about a failure.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/fabric/decorator.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "amity/window/window.hpp"
#include "tests/core/poorer.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/message_handlers.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using enum accumulate_op;

/// A call of rank 0 that never returns, and what the other ranks do.
using waiting_program = std::function<void(world&, window<int>&)>;

/// What the simulator reports when no rank can continue. `records`: windows have no other path.
std::string report_of(const waiting_program& program, bool records = false, bool checked = false) {
  return testing::failure_of([&] {
    fabric::sim::run(3, {}, [&](fabric::fabric& whole) {
      fabric::testing::poorer own(whole, !records);
      world w(own, {});
      auto shared = w.allocate_window<int>(4, {.name = "grid", .checked = checked});
      program(w, shared);
      w.barrier();
      return 0;
    });
  });
}

void expect_report(std::string_view text, const waiting_program& program) {
  for (const bool records : {false, true}) testing::expect_parts(report_of(program, records), {text});
}

constexpr rank_t first_rank[]{0}, second_rank[]{1};

TEST(window_reports, fence_names_epoch) {
  for (const window_assert promised : {window_assert::none, window_assert::no_succeed}) {
    expect_report("window::fence of window 'grid', fence epoch: waits for all members", [&](world& w, window<int>& on) {
      if (w.rank() == 0) on.fence(promised);
    });
  }
}

TEST(window_reports, post_epoch_names_wait) {
  expect_report("window::wait of window 'grid', post epoch: waits for complete of others",
                [](world& w, window<int>& on) {
                  if (w.rank() != 0) return;
                  on.post(second_rank);
                  on.start(second_rank);  // the report names the epoch that the call ends
                  on.wait();
                });
}

TEST(window_reports, start_epoch_names_target_without_post) {
  expect_report("window::complete of window 'grid', start epoch, target 1: waits for its post",
                [](world& w, window<int>& on) {
                  if (w.rank() != 0) return;
                  on.start(second_rank);
                  on.complete();
                });
}

/// Rank 1 has the lock of rank 2 and keeps it.
waiting_program against_lock(const std::function<void(window<int>&)>& wait) {
  return [wait](world& w, window<int>& on) {
    if (w.rank() == 1) {
      on.lock(lock_kind::exclusive, 2);
      on.put(2, 0, 1);
      on.flush(2);
    }
    w.barrier();
    if (w.rank() == 0) wait(on);
  };
}

TEST(window_reports, lock_epochs_name_target_and_operation) {
  expect_report("window::unlock of window 'grid', lock epoch, target 2: waits for its lock",
                against_lock([](window<int>& on) {
                  on.lock(lock_kind::exclusive, 2);
                  on.unlock(2);
                }));
  expect_report("window::flush of window 'grid', lock epoch, target 2: waits for its lock",
                against_lock([](window<int>& on) {
                  on.lock(lock_kind::shared, 2);
                  on.accumulate(sum, 2, 0, std::vector<int>{1});
                  on.flush(2);
                }));
  testing::expect_parts(
      report_of(against_lock([](window<int>& on) {
                  int seen = 0;
                  on.lock_all();
                  on.get(1, 0, seen);
                  on.get(2, 0, seen);
                  on.flush_all();
                }),
                true),
      {"window::flush_all of window 'grid', lock_all epoch, target 2: waits for posts, locks or fences"});
}

TEST(window_reports, lock_of_own_memory_names_holder) {
  testing::expect_parts(
      report_of([](world& w, window<int>& on) {
        if (w.rank() == 1) {
          on.lock(lock_kind::exclusive, 0);
          on.put(0, 0, 1);
          on.flush(0);
        }
        w.barrier();
        if (w.rank() == 0) on.lock(lock_kind::exclusive, 0);
      }),
      {"window::lock of window 'grid', lock epoch, target 0: waits for its lock, which rank 1 holds"});
}

/// Time that passes by half a second with each sleep.
class restless final : public fabric::decorator {
 public:
  restless(::amity::fabric::fabric& inner, std::atomic<int>& sleeps) : decorator(inner), sleeps_(sleeps) {}

  void sleep(const ::amity::fabric::alarm& by, std::uint64_t) noexcept override {
    decorator::sleep(by, 1000);
    now_ns_ += 500'000'000;
    ++sleeps_;
  }
  std::uint64_t now_ns() const noexcept override { return now_ns_; }

 private:
  std::atomic<int>& sleeps_;
  std::uint64_t now_ns_ = 0;
};

using reported_program = std::function<void(world&, window<int>&, const std::function<void()>&)>;

/// What rank 0 prints on threads. The other ranks call the function that `program` gets, which makes no progress, until
/// it has been printed.
std::string printed_by_first(window_protocol protocol, const reported_program& program) {
  ::testing::internal::CaptureStderr();
  std::atomic<int> sleeps = 0;
  fabric::shm::run_threads({}, 3, [&](fabric::fabric& transport) {
    std::atomic<int> not_counted = 0;
    restless clock(transport, transport.rank() == 0 ? sleeps : not_counted);
    world w(clock, testing::configured({{"AMITY_CORE_STALL_SECONDS", transport.rank() == 0 ? "1" : "0"}}));
    auto shared = w.allocate_window<int>(4, {.name = "grid", .protocol = protocol});
    program(w, shared, [&] {
      for (const int before = sleeps; sleeps < before + 20;) std::this_thread::yield();
    });
    w.barrier();
    return 0;
  });
  return ::testing::internal::GetCapturedStderr();
}

TEST(window_reports, operations_on_mapped_memory_name_target) {
  const auto wait_for_post = [](world& w, window<int>& on, const std::function<void()>& until_reported) {
    if (w.rank() == 0) {
      on.start(second_rank);
      on.put(1, 0, 5);
      on.complete();
    } else if (w.rank() == 1) {
      until_reported();
      on.post(first_rank);
      on.wait();
    }
  };
  testing::expect_parts(printed_by_first(window_protocol::automatic, wait_for_post),
                        {"window::put of window 'grid', start epoch, target 1: waits for its post"});
  const auto wait_for_lock = [](world& w, window<int>& on, const std::function<void()>& until_reported) {
    if (w.rank() == 1) {
      on.lock(lock_kind::exclusive, 2);
      on.put(2, 0, 1);
    }
    w.barrier();
    int seen = 0;
    if (w.rank() == 0) {
      on.lock_all();
      on.get(2, 0, seen);
      on.unlock_all();
    } else if (w.rank() == 1) {
      until_reported();
      on.unlock(2);
    }
  };
  testing::expect_parts(
      printed_by_first(window_protocol::automatic, wait_for_lock),
      {"window::get of window 'grid', lock_all epoch, target 2: waits for its lock, which rank 1 holds"});
}

/// What rank 0 prints while it waits for operations on ranks 1 and 2. Rank 1 carries them out, and rank 2 makes no
/// calls.
std::string printed_while_one_target_is_silent(const std::function<void(window<int>&)>& operate) {
  std::atomic<bool> has_left = false, is_silent = false, has_answered = false;
  return printed_by_first(window_protocol::buffered,
                          [&](world& w, window<int>& on, const std::function<void()>& until_reported) {
                            if (w.rank() == 0) {
                              on.lock_all();
                              has_left = true;
                              while (!is_silent) std::this_thread::yield();
                              operate(on);
                              on.unlock_all();
                            } else if (w.rank() == 1) {
                              while (!is_silent) static_cast<void>(w.poll());
                              until_reported();  // the operations have arrived
                              for (int polls = 0; polls < 100; ++polls) static_cast<void>(w.poll());
                              has_answered = true;
                            } else if (w.rank() == 2) {
                              while (!has_left) static_cast<void>(w.poll());
                              is_silent = true;
                              while (!has_answered) std::this_thread::yield();
                              until_reported();
                            }
                          });
}

TEST(window_reports, waits_for_several_targets_name_first_that_is_not_done) {
  testing::expect_parts(printed_while_one_target_is_silent([](window<int>& on) {
                          for (const rank_t target : {1, 2}) on.put(target, 0, 1);
                          on.flush_all();
                        }),
                        {"window::flush_all of window 'grid', lock_all epoch, target 2: waits until operations have "
                         "been carried out"});
  testing::expect_parts(printed_while_one_target_is_silent([](window<int>& on) {
                          std::array<int, 2> seen{};
                          for (const rank_t target : {1, 2})
                            on.get(target, 0, seen[static_cast<std::size_t>(target - 1)]);
                          on.flush_local_all();
                        }),
                        {"window::flush_local_all of window 'grid', lock_all epoch, target 2: waits for its replies"});
}

// Faults

// Rank 1 is killed while it holds the lock of rank 0, and the others wait for it. Rank 0 maps the lock, and serves it.
TEST(window_reports, killed_holder_of_lock_is_named_with_window) {
  constexpr std::uint64_t killed_at_ns = 50'000'000;
  for (const bool has_memory : {true, false}) {
    ::testing::internal::CaptureStderr();
    const std::string failure = testing::failure_of([has_memory] {
      const fabric::sim::sim_options options{.killed_ranks = {{.rank = 1, .at_ns = killed_at_ns}}};
      fabric::sim::run(3, options, [&](fabric::fabric& whole) {
        fabric::testing::poorer own(whole, has_memory);
        world w(own, {});
        auto shared = w.allocate_window<int>(1, {.name = "grid"});
        if (w.rank() == 1) {
          shared.lock(lock_kind::exclusive, 0);
          shared.accumulate(sum, 0, 0, 1);
          shared.flush(0);
        }
        w.barrier();
        if (w.rank() == 1) testing::idle_until(whole, 2 * killed_at_ns);
        shared.lock(lock_kind::exclusive, 0);
        shared.accumulate(sum, 0, 0, 1);
        shared.unlock(0);
        ADD_FAILURE() << "the lock of a rank that was killed has been granted";
        return 0;
      });
    });
    const std::string printed = ::testing::internal::GetCapturedStderr();
    testing::expect_parts(failure, {"rank 1", "killed"});
    if (!has_memory) continue;
    testing::expect_parts(
        printed, {"rank 0: window::lock of window 'grid': the job has failed while rank 1 held the lock of rank 0"});
  }
}

/// Operations of rank 0 that take many packets, each way once.
using long_operation = std::function<void(window<std::uint64_t>&, std::vector<std::uint64_t>&)>;

// Each round trip takes 0.2 s of virtual time, and each operation more than 2 s: the other rank sends credits, and
// nothing else.
TEST(window_reports, bytes_that_move_are_progress) {
  constexpr std::size_t words = 8192;
  testing::message_handlers handlers;
  const std::vector<std::pair<std::string, long_operation>> operations{
      {"put", [](auto& on, auto& data) { on.put(1, 0, std::span(data)); }},
      {"get", [](auto& on, auto& data) { on.get(1, 0, std::span(data)); }},
      {"accumulate", [](auto& on, auto& data) { on.accumulate(sum, 1, 0, std::span(data)); }},
      {"message", [&](auto& on, auto& data) {
         on.am(handlers.count, 1, 0, 1, 1, std::span<const std::uint64_t>(data), std::span<std::uint64_t>());
       }}};
  for (const std::string protocol : {"automatic", "buffered", "send_recv"}) {
    for (const auto& [name, begin] : operations) {
      SCOPED_TRACE(protocol + " " + name);
      ::testing::internal::CaptureStderr();
      fabric::sim::run(2, {.latency_ns = 100'000'000, .credits = 4, .packet_bytes = 1024}, [&](fabric::fabric& whole) {
        fabric::testing::poorer own(whole, false);
        world w(own, testing::configured({{"AMITY_WINDOW_PROTOCOL", protocol}, {"AMITY_CORE_STALL_SECONDS", "2"}}));
        auto shared = w.allocate_window<std::uint64_t>(words, handlers.options());
        std::vector<std::byte> buffer(2 * words * sizeof(std::uint64_t));
        shared.attach_buffer(buffer);
        w.barrier();
        std::vector<std::uint64_t> data(words, 3);
        shared.lock_all();
        if (w.rank() == 0) begin(shared, data);
        shared.unlock_all();
        w.barrier();
        shared.detach_buffer(buffer.data());
        return 0;
      });
      EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
    }
  }
}

}  // namespace
}  // namespace amity
