/// AMITY_WINDOW_CHECKED: promises of synchronization calls that are kept, and promises that are not.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "amity/window/dynamic_window.hpp"
#include "amity/window/window.hpp"
#include "tests/support/texts.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::expect_error;
using testing::expect_parts;
using testing::next_of;
using enum accumulate_op;
using enum window_assert;

settings checked_settings() { return testing::configured({{"AMITY_WINDOW_CHECKED", "1"}}); }

class checked_windows : public testing::on_jobs {
 protected:
  void run_checked(const testing::world_body& body) const { run(body, checked_settings()); }
};
std::vector<std::tuple<testing::job_kind, rank_t>> checked_jobs() {
  std::vector<std::tuple<testing::job_kind, rank_t>> jobs;
  for (const testing::job_kind& kind : testing::all_paths()) {
    for (const rank_t ranks : {1, 2, 3}) jobs.emplace_back(kind, ranks);
  }
  return jobs;
}
INSTANTIATE_TEST_SUITE_P(window, checked_windows, ::testing::ValuesIn(checked_jobs()), testing::job_name);

// Each error leaves the window as it was.
TEST_P(checked_windows, wrong_promises_of_fences_are_errors) {
  run_checked([](world& w) {
    auto shared = w.allocate_window<int>(4, {.name = "grid"});
    const std::vector<int> two{2, 3};
    shared.fence(no_precede);
    shared.put(next_of(w), 0, 1);
    shared.put(next_of(w), 1, std::make_shared<const layout>(layout::strided(2, 4, 8)), two);
    expect_error([&] { shared.fence(no_precede); }, {"window::fence (rank ", "window 'grid': no_precede is promised",
                                                     "started operations", "without no_precede"});
    w.barrier();             // the fence looks at the memory after the operations
    shared.fence(no_store);  // only operations have changed it
    EXPECT_EQ(shared.local()[0] + shared.local()[1] + shared.local()[3], 6);
    shared.local()[2] = 7;
    expect_error([&] { shared.fence(no_store); }, {"window::fence (rank ", "window 'grid': no_store is promised",
                                                   "the byte at offset 8", "without no_store"});
    shared.fence(no_put);
    expect_error([&] { shared.put(w.rank(), 1, 1); },
                 {"window::put of rank ", "window 'grid': no_put is promised by fence", "without no_put"});
    expect_error([&] { shared.accumulate(sum, w.rank(), 1, 1); }, {"window::accumulate of rank "});
    int seen = 0;
    shared.fetch_and_op(no_op, next_of(w), 1, 0, seen);  // it changes nothing
    shared.fence(no_succeed);
    EXPECT_EQ(seen, 2);
    EXPECT_EQ(shared.local()[1], 2);
  });
}

TEST_P(checked_windows, wrong_promises_of_posts_are_errors) {
  run_checked([](world& w) {
    auto shared = w.allocate_window<int>(4, {.name = "grid"});
    const rank_t next = next_of(w), before = (w.rank() + w.size() - 1) % w.size();
    expect_error([&] { shared.start(std::span(&next, 1), no_check); },
                 {"window::start (rank ", "window 'grid': no_check is promised", "has not called post", "synchronize"});
    w.barrier();
    shared.local()[3] = 1;
    expect_error([&] { shared.post(std::span(&before, 1), no_store); },
                 {"window::post (rank ", "window 'grid': no_store is promised", "the byte at offset 12"});
    shared.post(std::span(&before, 1));
    w.barrier();
    expect_error([&] { shared.start(std::span(&next, 1), no_check); },
                 {"window::start (rank ", "does not promise it", "both calls, or to neither"});
    shared.start(std::span(&next, 1));
    shared.complete();
    shared.wait();
    shared.post(std::span(&before, 1), no_check);
    shared.start(std::span(&next, 1));
    expect_error([&] { shared.complete(); },
                 {"window::start (rank ", "promises no_check, but this call does not", "both calls, or to neither"});
    shared.complete();
    shared.wait();
    w.barrier();
  });
}

TEST_P(checked_windows, wrong_promises_of_locks_are_errors) {
  run_checked([](world& w) {
    auto shared = w.allocate_window<int>(4, {.name = "grid"});
    const auto expect_taken = [&](const std::function<void()>& call, std::string_view name) {
      expect_error(call,
                   {name, "window 'grid': no_check is promised", "the lock of rank 0 is not free", "without no_check"});
    };
    for (const lock_kind held : {lock_kind::shared, lock_kind::exclusive}) {
      if (w.rank() == 0) shared.lock(held, 0);
      w.barrier();
      if (w.rank() > 0) {
        expect_taken([&] { shared.lock(lock_kind::exclusive, 0, no_check); }, "window::lock (rank ");
        if (held == lock_kind::exclusive) {
          expect_taken([&] { shared.lock(lock_kind::shared, 0, no_check); }, "window::lock (rank ");
          shared.lock_all(no_check);
          expect_taken([&] { shared.put(0, 0, 1); }, "window::lock_all (rank ");
          shared.unlock_all();
        } else {
          shared.lock(lock_kind::shared, 0, no_check);  // excludes nothing
          int seen = 0;
          shared.get(0, 0, seen);
          shared.unlock(0);
        }
      }
      w.barrier();
      if (w.rank() == 0) shared.unlock(0);
      w.barrier();
    }
    shared.lock(lock_kind::exclusive, w.rank(), no_check);
    shared.put(w.rank(), 0, 1);
    shared.unlock(w.rank());
    w.barrier();
  });
}

// Errors that the other ranks find end the job.
std::string failure_of_promise(const std::function<void(world&, window<int>&)>& body) {
  return testing::failure_in_worlds(
      2,
      [&](world& w) {
        auto shared = w.allocate_window<int>(4, {.name = "grid"});
        body(w, shared);
        w.barrier();
      },
      checked_settings());
}

TEST(window_promises, exclude_operations_of_others) {
  expect_parts(failure_of_promise([](world& w, window<int>& shared) {
                 shared.fence(w.rank() == 1 ? no_put : none);
                 if (w.rank() == 0) shared.put(1, 0, 1);
                 shared.fence();
               }),
               {"window::put of rank 0 (rank 1)", "window 'grid': no_put is promised by fence on this rank",
                "call fence without no_put"});
  expect_parts(failure_of_promise([](world& w, window<int>& shared) {
                 const rank_t next = next_of(w);
                 shared.post(std::span(&next, 1), w.rank() == 1 ? no_put : none);
                 shared.start(std::span(&next, 1));
                 int before = 0;
                 if (w.rank() == 0) shared.compare_and_swap(1, 0, 0, 1, before);
                 shared.complete();
                 shared.wait();
               }),
               {"window::compare_and_swap of rank 0 (rank 1)", "no_put is promised by post on this rank"});
  expect_parts(testing::failure_in_worlds(
                   2,
                   [](world& w) {
                     auto heap = w.create_dynamic_window({.name = "heap"});
                     std::vector<int> own(4);
                     heap.attach(std::span(own));
                     const auto at = testing::exchange_words(w, dynamic_window::address_of(own.data()));
                     heap.fence(w.rank() == 1 ? no_put : none);
                     if (w.rank() == 0) heap.as<int>().accumulate(sum, 1, at[1], 1);
                     heap.fence();
                   },
                   checked_settings()),
               {"window::accumulate of rank 0 (rank 1)", "window 'heap': no_put is promised by fence"});
}

TEST(window_promises, fences_disagree) {
  const auto fence_of_rank_1 = [](window_assert promised) {
    return failure_of_promise(
        [&](world& w, window<int>& shared) { shared.fence(w.rank() == 1 ? promised : window_assert::none); });
  };
  expect_parts(fence_of_rank_1(no_precede),
               {"window::fence (rank ", "no_precede is promised by 1 of 2 ranks", "on all ranks, or on none"});
  expect_parts(fence_of_rank_1(no_precede | no_succeed), {"window::fence (rank ", "is promised by 1 of 2 ranks"});
  expect_parts(fence_of_rank_1(no_succeed), {"no_succeed is promised by 1 of 2 ranks"});
}

TEST(window_promises, option_of_one_window) {
  expect_parts(testing::failure_in_worlds(1,
                                          [](world& w) {
                                            auto shared = w.allocate_window<int>(4, {.name = "grid", .checked = true});
                                            shared.local()[0] = 1;
                                            shared.fence(no_store);
                                          }),
               {"window 'grid': no_store is promised"});
}

}  // namespace
}  // namespace amity
