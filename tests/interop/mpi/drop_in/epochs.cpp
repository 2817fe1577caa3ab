// What goes wrong at the borders of epochs: processes that are early or late, locks that must exclude, calls that must
// complete operations or make progress. README.md lists the pitfalls. A plain MPI program, for two or more processes.
// Its arguments leave out cases.

#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "filled_window.hpp"
#include "program.hpp"

namespace {

using longs = program::filled_window<long>;
using program::group_of;
using program::next;
using program::previous;
using program::rank;
using program::size;
using program::step;

/// Puts this process behind the others, or ahead of them, by a random number of calls. They serve other processes.
/// It ends after a millisecond: Open MPI may yield in each call, which takes long while other programs compute.
class random_skew {
 public:
  explicit random_skew(unsigned seed) : random_(seed * 1000 + static_cast<unsigned>(rank())) {}
  void operator()() {
    if (random_() % 4 != 0) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    for (auto calls = random_() % 300; calls > 0 && std::chrono::steady_clock::now() < end; --calls) {
      int is_there = 0;
      MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
      if (calls % 16 == 0) ::sched_yield();
    }
  }

 private:
  std::minstd_rand random_;
};

long value_of(int round, int origin) { return 100L * round + origin + 1; }

// A process that has left a fence puts into the memory of others that are still in it. Each fence must await the
// operations of its own epoch, and no others.
void fence_with_early_arrivals(std::string_view flavor) {
  step = "fence: operations of the next epoch arrive early";
  constexpr int rounds = 150;
  const int places = size(), sum = 2 * places;
  longs all(flavor, sum + 1);  // places of two epochs in turns, and a sum
  all.memory[sum] = 0;
  random_skew skew(1);
  const long one = 1;
  MPI_Win_fence(MPI_MODE_NOPRECEDE, all.win);
  for (int round = 0; round < rounds; ++round) {
    const int first = round % 2 * places;
    const long value = value_of(round, rank());
    std::vector<long> seen(static_cast<std::size_t>(places), -1);
    skew();
    for (int target = 0; target < size(); ++target) {
      MPI_Put(&value, 1, MPI_LONG, target, first + rank(), 1, MPI_LONG, all.win);
      MPI_Accumulate(&one, 1, MPI_LONG, target, sum, 1, MPI_LONG, MPI_SUM, all.win);
      // What has been put there in the epoch before.
      if (round > 0)
        MPI_Get(&seen[static_cast<std::size_t>(target)], 1, MPI_LONG, target, places - first + rank(), 1, MPI_LONG,
                all.win);
    }
    MPI_Win_fence(round + 1 == rounds ? MPI_MODE_NOSUCCEED : 0, all.win);
    for (int origin = 0; origin < size(); ++origin) {
      CHECK(all.memory[first + origin] == value_of(round, origin));
      if (round > 0) CHECK(seen[static_cast<std::size_t>(origin)] == value_of(round - 1, rank()));
    }
  }
  CHECK(all.memory[sum] == 1L * rounds * size());
}

// A fence begins an epoch only if an operation or a fence follows.
void fence_then_other_epochs(std::string_view flavor) {
  step = "fence: without operations, before locks and posts";
  longs all(flavor, 2);
  MPI_Group to = group_of({next()}), from = group_of({previous()});
  for (long round = 1; round <= 5; ++round) {
    CHECK(MPI_Win_fence(0, all.win) == MPI_SUCCESS);
    CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next(), 0, all.win) == MPI_SUCCESS);
    MPI_Put(&round, 1, MPI_LONG, next(), 0, 1, MPI_LONG, all.win);
    CHECK(MPI_Win_unlock(next(), all.win) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_fence(0, all.win) == MPI_SUCCESS);
    CHECK(all.memory[0] == round);
    CHECK(MPI_Win_post(from, 0, all.win) == MPI_SUCCESS);
    CHECK(MPI_Win_start(to, 0, all.win) == MPI_SUCCESS);
    MPI_Put(&round, 1, MPI_LONG, next(), 1, 1, MPI_LONG, all.win);
    CHECK(MPI_Win_complete(all.win) == MPI_SUCCESS);
    CHECK(MPI_Win_wait(all.win) == MPI_SUCCESS);
    CHECK(all.memory[1] == round);
  }
  MPI_Group_free(&to);
  MPI_Group_free(&from);
}

// In each round, random processes post to random others. Processes may be several rounds apart, so that posts arrive
// early: a post belongs to the next epoch of its origin that has the target, also if the origin is in MPI_Win_complete.
void posts_that_arrive_early(std::string_view flavor) {
  step = "post, start: posts arrive early";
  constexpr int rounds = 200;
  longs all(flavor, size());
  std::minstd_rand shared(7);
  random_skew skew(2);
  std::vector<long> expected(static_cast<std::size_t>(size()), rank());
  const auto check_memory = [&] {
    for (int origin = 0; origin < size(); ++origin)
      CHECK(all.memory[origin] == expected[static_cast<std::size_t>(origin)]);
  };
  for (int round = 0; round < rounds; ++round) {
    std::vector<int> targets, origins;
    for (int origin = 0; origin < size(); ++origin) {
      for (int target = 0; target < size(); ++target) {
        if (shared() % 2 == 0) continue;
        if (origin == rank()) targets.push_back(target);
        if (target == rank()) origins.push_back(origin);
      }
    }
    MPI_Group to = group_of(targets), from = group_of(origins);
    const long value = value_of(round, rank());
    skew();
    check_memory();  // without a post, no process puts
    MPI_Win_post(from, 0, all.win);
    MPI_Win_start(to, 0, all.win);
    for (const int target : targets) MPI_Put(&value, 1, MPI_LONG, target, rank(), 1, MPI_LONG, all.win);
    MPI_Win_complete(all.win);
    if (round % 2 == 0) {
      MPI_Win_wait(all.win);
    } else {
      for (int done = 0; done == 0;) MPI_Win_test(all.win, &done);
    }
    for (const int origin : origins) expected[static_cast<std::size_t>(origin)] = value_of(round, origin);
    check_memory();
    MPI_Group_free(&to);
    MPI_Group_free(&from);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void post_assertions(std::string_view flavor) {
  step = "post, start: assertions";
  longs all(flavor, 2);
  MPI_Group to = group_of({next()}), from = group_of({previous()});
  for (long round = 0; round < 10; ++round) {
    // NOCHECK on both sides: the post has been called before the start.
    MPI_Win_post(from, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE, all.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_start(to, MPI_MODE_NOCHECK, all.win);
    MPI_Put(&round, 1, MPI_LONG, next(), 0, 1, MPI_LONG, all.win);
    MPI_Win_complete(all.win);
    MPI_Win_wait(all.win);
    CHECK(all.memory[0] == round);
    // NOPUT: others only get.
    all.memory[1] = 10 * rank() + round;
    long seen = -1;
    MPI_Win_post(from, MPI_MODE_NOPUT, all.win);
    MPI_Win_start(to, 0, all.win);
    MPI_Get(&seen, 1, MPI_LONG, next(), 1, 1, MPI_LONG, all.win);
    MPI_Win_complete(all.win);
    MPI_Win_wait(all.win);
    CHECK(seen == 10 * next() + round);
  }
  MPI_Group_free(&to);
  MPI_Group_free(&from);
}

// All legal combinations, where possible different ones on each process. (MPI-3.1, section 11.5.5.)
void fence_assertions(std::string_view flavor) {
  step = "fence: assertions";
  longs all(flavor, 2);
  for (int round = 0; round < 64; ++round) {
    const bool is_begun = (round & 1) == 0;  // by a fence that succeeds nothing, and so precedes an epoch
    const bool puts = (round & 2) != 0, gets = (round & 4) != 0, goes_on = (round & 8) != 0;
    const int own_choice = (round / 16 + rank()) % 4;
    const int no_store = (own_choice & 1) != 0 ? MPI_MODE_NOSTORE : 0;  // true here: each process may promise it
    const int no_put = puts || (own_choice & 2) == 0 ? 0 : MPI_MODE_NOPUT;
    const long value = 100L * round + rank();
    long seen = -1;
    if (!is_begun) MPI_Win_fence(0, all.win);
    MPI_Win_fence((is_begun ? MPI_MODE_NOPRECEDE : 0) | no_store | no_put, all.win);
    if (puts) MPI_Put(&value, 1, MPI_LONG, next(), 0, 1, MPI_LONG, all.win);
    if (gets) MPI_Get(&seen, 1, MPI_LONG, next(), 1, 1, MPI_LONG, all.win);
    MPI_Win_fence((goes_on ? 0 : MPI_MODE_NOSUCCEED) | no_store, all.win);
    if (puts) CHECK(all.memory[0] == 100L * round + previous());
    if (gets) CHECK(seen == next());
    if (goes_on) MPI_Win_fence(MPI_MODE_NOSUCCEED, all.win);
  }
}

// One lock for local and remote origins. Word 0 counts those who hold it exclusively, by loads and stores or by gets
// and puts. To word 1, others add at the same time under shared locks; who holds the lock exclusively changes it by a
// get and a put, too.
void locks_exclude(std::string_view flavor) {
  step = "lock: exclusive and shared ones, of oneself and of others";
  const int rounds = program::rounds(60);
  longs all(flavor, 2);
  const long one = 1;
  for (int target = 0; target < size(); ++target) {
    if (rank() == target) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, all.win);
      all.memory[0] = all.memory[1] = 0;
      MPI_Win_unlock(target, all.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    random_skew skew(3);
    for (int round = 0; round < rounds; ++round) {
      if (round % 3 == 2) {
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, all.win);
        MPI_Accumulate(&one, 1, MPI_LONG, target, 1, 1, MPI_LONG, MPI_SUM, all.win);
        MPI_Win_unlock(target, all.win);
        continue;
      }
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, all.win);
      if (rank() == target) {
        const std::array<long, 2> before{all.memory[0], all.memory[1]};
        skew();
        all.memory[0] = before[0] + 1;
        all.memory[1] = before[1] + 1;
      } else {
        std::array<long, 2> values{-1, -1};
        MPI_Get(values.data(), 2, MPI_LONG, target, 0, 2, MPI_LONG, all.win);
        MPI_Win_flush(target, all.win);
        skew();
        for (long& each : values) ++each;
        MPI_Put(values.data(), 2, MPI_LONG, target, 0, 2, MPI_LONG, all.win);
      }
      MPI_Win_unlock(target, all.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == target) {
      MPI_Win_lock(MPI_LOCK_SHARED, target, 0, all.win);
      CHECK(all.memory[0] == 1L * rounds / 3 * 2 * size() && all.memory[1] == 1L * rounds * size());
      MPI_Win_unlock(target, all.win);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void flush_local_completes(std::string_view flavor) {
  step = "flush_local: gets are complete, and buffers are free";
  constexpr int large = 20'000;
  longs all(flavor, 2 * large);
  MPI_Win_lock_all(0, all.win);
  std::vector<long> sent(large), seen(large);
  for (long round = 1; round <= program::rounds(20); ++round) {
    for (const int count : {1, large}) {
      // A put to the same target follows the get.
      seen.assign(large, -1);
      sent.assign(large, round);
      MPI_Get(seen.data(), count, MPI_LONG, next(), large, count, MPI_LONG, all.win);
      MPI_Put(sent.data(), count, MPI_LONG, next(), 0, count, MPI_LONG, all.win);
      if (round % 2 == 0) {
        MPI_Win_flush_local(next(), all.win);
      } else {
        MPI_Win_flush_local_all(all.win);
      }
      CHECK(seen[0] == next() && seen[static_cast<std::size_t>(count - 1)] == next());
      sent.assign(large, -1);
      MPI_Win_flush(next(), all.win);
      MPI_Get(seen.data(), count, MPI_LONG, next(), 0, count, MPI_LONG, all.win);
      MPI_Win_flush(next(), all.win);
      CHECK(seen[0] == round && seen[static_cast<std::size_t>(count - 1)] == round);
    }
  }
  MPI_Win_unlock_all(all.win);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Process 0 repeats one call on a window, until process 1 has changed its memory in another one. The other window has
// memory of the program, so that process 0 must serve it.
void calls_make_progress(std::string_view flavor) {
  longs polled(flavor, 1), served("created", 1);
  const std::atomic_ref<long> own(*served.memory);
  MPI_Group to_none = MPI_GROUP_EMPTY, self = group_of({rank()});
  const std::vector<std::pair<const char*, std::function<void()>>> calls{
      {"progress: MPI_Win_flush", [&] { MPI_Win_flush(0, polled.win); }},
      {"progress: MPI_Win_flush_all", [&] { MPI_Win_flush_all(polled.win); }},
      {"progress: MPI_Win_flush_local", [&] { MPI_Win_flush_local(0, polled.win); }},
      {"progress: MPI_Win_flush_local_all", [&] { MPI_Win_flush_local_all(polled.win); }},
      {"progress: MPI_Win_sync", [&] { MPI_Win_sync(polled.win); }},
      {"progress: MPI_Fetch_and_op",
       [&] {
         long seen = -1;
         MPI_Fetch_and_op(nullptr, &seen, MPI_LONG, 0, 0, MPI_NO_OP, polled.win);
         MPI_Win_flush(0, polled.win);
       }},
      {"progress: MPI_Get",
       [&] {
         long seen = -1;
         MPI_Get(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, polled.win);
         MPI_Win_flush_local(0, polled.win);
       }},
      {"progress: MPI_Rget",
       [&] {
         long seen = -1;
         MPI_Request request = MPI_REQUEST_NULL;
         MPI_Rget(&seen, 1, MPI_LONG, 0, 0, 1, MPI_LONG, polled.win, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE);
       }},
  };
  const std::vector<std::pair<const char*, std::function<void()>>> epochs{
      {"progress: MPI_Win_lock, MPI_Win_unlock",
       [&] {
         MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, polled.win);
         MPI_Win_unlock(0, polled.win);
       }},
      {"progress: MPI_Win_post, MPI_Win_start, MPI_Win_complete, MPI_Win_wait",
       [&] {
         MPI_Win_post(self, 0, polled.win);
         MPI_Win_start(self, 0, polled.win);
         MPI_Win_complete(polled.win);
         MPI_Win_wait(polled.win);
       }},
      {"progress: epochs of no process",
       [&] {
         MPI_Win_post(to_none, 0, polled.win);
         MPI_Win_start(to_none, 0, polled.win);
         MPI_Win_complete(polled.win);
         MPI_Win_wait(polled.win);
       }},
  };
  long turn = 10;
  const auto check = [&](const char* name, const std::function<void()>& call) {
    step = name;
    ++turn;
    if (rank() == 0) {
      while (own.load(std::memory_order_relaxed) < turn) call();
    } else if (rank() == 1) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, served.win);
      MPI_Put(&turn, 1, MPI_LONG, 0, 0, 1, MPI_LONG, served.win);
      MPI_Win_unlock(0, served.win);
    }
  };
  MPI_Win_lock_all(0, polled.win);
  for (const auto& [name, call] : calls) check(name, call);
  MPI_Win_unlock_all(polled.win);
  for (const auto& [name, call] : epochs) check(name, call);
  MPI_Group_free(&self);
  MPI_Barrier(MPI_COMM_WORLD);
}

// A flush, an unlock or the end of the window completes the operation, and the request is still the program's.
void requests_after_completion(std::string_view flavor) {
  step = "requests: waits after the completion by another call";
  std::array<MPI_Request, 4> pending{MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  long seen = -1, value = rank() + 7;
  {
    longs all(flavor, 4);
    const auto put = [&](int place) {
      MPI_Rput(&value, 1, MPI_LONG, next(), place, 1, MPI_LONG, all.win, &pending[static_cast<std::size_t>(place)]);
    };
    MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, all.win);
    put(0);
    MPI_Win_flush(next(), all.win);
    CHECK(pending[0] != MPI_REQUEST_NULL);
    put(1);
    MPI_Rget(&seen, 1, MPI_LONG, next(), 3, 1, MPI_LONG, all.win, &pending[3]);
    MPI_Win_flush_local(next(), all.win);
    CHECK(seen == next());
    MPI_Wait(&pending[1], MPI_STATUS_IGNORE);
    CHECK(pending[1] == MPI_REQUEST_NULL);
    put(2);
    MPI_Win_unlock(next(), all.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, all.win);
    for (int place = 0; place < 3; ++place) CHECK(all.memory[place] == previous() + 7);
    MPI_Win_unlock(rank(), all.win);
    for (const std::size_t open : {0, 2, 3}) CHECK(pending[open] != MPI_REQUEST_NULL);
    int done = 0;
    MPI_Test(&pending[2], &done, MPI_STATUS_IGNORE);
    CHECK(done != 0 && pending[2] == MPI_REQUEST_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, all.win);
    MPI_Rget(&seen, 1, MPI_LONG, next(), 3, 1, MPI_LONG, all.win, &pending[2]);
    MPI_Win_unlock(next(), all.win);  // the end of the window is the next call
  }
  MPI_Waitall(4, pending.data(), MPI_STATUSES_IGNORE);
  for (const MPI_Request each : pending) CHECK(each == MPI_REQUEST_NULL);
}

// After the wait the buffer is the program's again, also if its data has gaps.
void requests_of_derived_types(std::string_view flavor) {
  step = "requests: derived types";
  constexpr int count = 5000;
  longs all(flavor, 2 * count);
  MPI_Datatype every_second = MPI_DATATYPE_NULL;
  MPI_Type_vector(count, 1, 2, MPI_LONG, &every_second);
  MPI_Type_commit(&every_second);
  std::vector<long> sent(2 * count), seen(2 * count);
  MPI_Win_lock_all(0, all.win);
  for (long round = 1; round <= program::rounds(10); ++round) {
    MPI_Request request = MPI_REQUEST_NULL;
    sent.assign(2 * count, round);
    if (round % 2 == 0) {
      MPI_Rput(sent.data(), 1, every_second, next(), 0, 1, every_second, all.win, &request);
    } else {
      MPI_Raccumulate(sent.data(), 1, every_second, next(), 0, 1, every_second, MPI_REPLACE, all.win, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sent.assign(2 * count, -1);
    MPI_Win_flush(next(), all.win);
    seen.assign(2 * count, -1);
    MPI_Rget(seen.data(), 1, every_second, next(), 0, 1, every_second, all.win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (std::size_t i = 0; i < 2 * count; ++i) CHECK(seen[i] == (i % 2 == 0 ? round : -1));
  }
  MPI_Win_unlock_all(all.win);
  MPI_Type_free(&every_second);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  program::cases all(argc, argv);
  all.leave_out("no_shared");  // it makes none
  for (const std::string_view flavor : {"allocated", "created"}) {
    all.run("fence_with_early_arrivals", flavor, fence_with_early_arrivals);
    all.run("fence_then_other_epochs", flavor, fence_then_other_epochs);
    all.run("fence_assertions", flavor, fence_assertions);
    all.run("posts_that_arrive_early", flavor, posts_that_arrive_early);
    all.run("post_assertions", flavor, post_assertions);
    all.run("locks_exclude", flavor, locks_exclude);
    all.run("flush_local_completes", flavor, flush_local_completes);
    all.run("calls_make_progress", flavor, calls_make_progress);
    all.run("requests_after_completion", flavor, requests_after_completion);
    all.run("requests_of_derived_types", flavor, requests_of_derived_types);
  }
  all.end();
}
