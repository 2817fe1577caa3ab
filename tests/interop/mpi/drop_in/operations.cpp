// One-sided operations as real programs use them, beyond the usual ones of windows.cpp. With the argument `native`,
// without what MPI-3.1 does not have or what native MPIs get wrong; with `no_shared`, without shared windows; with
// `mapped`, all processes must map the memory of windows that are allocated.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "../../../support/replaced_memory.hpp"
#include "filled_window.hpp"
#include "program.hpp"

namespace {

using program::class_of;
using program::next;
using program::previous;
using program::rank;
using program::size;
using program::step;

struct ints : program::filled_window<int> {
  ints(bool allocated, int count)
      : filled_window(allocated ? "allocated" : "created", count, MPI_COMM_WORLD, program::bytes_min) {}
};

void no_process(bool allocated) {
  step = "operations on MPI_PROC_NULL";
  const ints all(allocated, 1);
  int value = 5, result = 6;
  CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, MPI_PROC_NULL, 0, all.win) == MPI_SUCCESS);
  CHECK(MPI_Win_unlock(MPI_PROC_NULL, all.win) == MPI_SUCCESS);
  MPI_Win_lock_all(0, all.win);
  CHECK(MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 99, 1, MPI_INT, all.win) == MPI_SUCCESS);
  CHECK(MPI_Get(&result, 1, MPI_INT, MPI_PROC_NULL, 99, 1, MPI_INT, all.win) == MPI_SUCCESS);
  CHECK(MPI_Accumulate(&value, 1, MPI_INT, MPI_PROC_NULL, 99, 1, MPI_INT, MPI_SUM, all.win) == MPI_SUCCESS);
  CHECK(MPI_Fetch_and_op(&value, &result, MPI_INT, MPI_PROC_NULL, 99, MPI_SUM, all.win) == MPI_SUCCESS);
  CHECK(MPI_Compare_and_swap(&value, &value, &result, MPI_INT, MPI_PROC_NULL, 99, all.win) == MPI_SUCCESS);
  std::array<MPI_Request, 4> pending{};
  MPI_Rput(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, all.win, &pending[0]);
  MPI_Rget(&result, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, all.win, &pending[1]);
  MPI_Raccumulate(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, all.win, &pending[2]);
  MPI_Rget_accumulate(&value, 1, MPI_INT, &result, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, all.win,
                      &pending[3]);
  int done = 0;
  MPI_Test(&pending[0], &done, MPI_STATUS_IGNORE);
  CHECK(done != 0 && pending[0] == MPI_REQUEST_NULL);
  MPI_Waitall(4, pending.data(), MPI_STATUSES_IGNORE);
  for (const MPI_Request each : pending) CHECK(each == MPI_REQUEST_NULL);
  CHECK(MPI_Win_flush(MPI_PROC_NULL, all.win) == MPI_SUCCESS);
  CHECK(MPI_Win_flush_local(MPI_PROC_NULL, all.win) == MPI_SUCCESS);
  MPI_Win_unlock_all(all.win);
  CHECK(result == 6);
}

void unchecked_locks(bool allocated) {
  step = "several locks at once that promise to conflict with no other";
  const ints all(allocated, 4);
  for (int turn = 0; turn < size(); ++turn) {
    if (turn == rank()) {
      std::vector<int> values;
      for (int target = 0; target < size(); ++target) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, MPI_MODE_NOCHECK, all.win);
        values.push_back(10 * rank() + target);
      }
      for (int target = 0; target < size(); ++target)
        MPI_Put(&values[static_cast<std::size_t>(target)], 1, MPI_INT, target, 1, 1, MPI_INT, all.win);
      for (int target = size(); target-- > 0;) MPI_Win_unlock(target, all.win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, all.win);
    int seen = -1;
    MPI_Get(&seen, 1, MPI_INT, next(), 1, 1, MPI_INT, all.win);
    MPI_Win_flush(next(), all.win);
    CHECK(seen == 10 * turn + next());
    MPI_Win_unlock_all(all.win);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

// A put as Accumulate with MPI_REPLACE, a get as Get_accumulate with MPI_NO_OP, which come in order, and buffers that
// are used again after MPI_Win_flush_local.
void replaced_and_read(bool allocated) {
  step = "replaced and read";
  const ints all(allocated, 64);
  MPI_Datatype every_second = MPI_DATATYPE_NULL;
  MPI_Type_vector(8, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, all.win);
  std::array<int, 16> sent{}, seen{};
  for (int round = 1; round <= 200; ++round) {
    std::iota(sent.begin(), sent.end(), 100 * round);
    MPI_Accumulate(sent.data(), 8, MPI_INT, next(), 16, 1, every_second, MPI_REPLACE, all.win);
    MPI_Accumulate(sent.data(), 16, MPI_INT, next(), 0, 16, MPI_INT, MPI_REPLACE, all.win);
    MPI_Win_flush_local(next(), all.win);
    sent.fill(-1);
    const int one = 1;
    MPI_Accumulate(&one, 1, MPI_INT, next(), 3, 1, MPI_INT, MPI_SUM, all.win);
    MPI_Get_accumulate(nullptr, 0, MPI_INT, seen.data(), 16, MPI_INT, next(), 0, 16, MPI_INT, MPI_NO_OP, all.win);
    MPI_Win_flush_local(next(), all.win);
    for (int i = 0; i < 16; ++i) CHECK(seen[static_cast<std::size_t>(i)] == 100 * round + i + (i == 3 ? 1 : 0));
    MPI_Get_accumulate(nullptr, 0, MPI_INT, seen.data(), 8, MPI_INT, next(), 16, 1, every_second, MPI_NO_OP, all.win);
    MPI_Win_flush_local_all(all.win);
    for (int i = 0; i < 8; ++i) CHECK(seen[static_cast<std::size_t>(i)] == 100 * round + i);
  }
  MPI_Win_flush_all(all.win);
  MPI_Win_unlock_all(all.win);
  MPI_Type_free(&every_second);
  MPI_Barrier(MPI_COMM_WORLD);
}

// A value and its place change as a whole.
void pairs(bool allocated) {
  step = "MPI_MAXLOC and MPI_REPLACE of pairs";
  struct pair {
    double value;
    int place;
    explicit pair(int number = 0) : pair(number, number) {}
    pair(double v, int p) : value(v), place(p) {}
    bool operator==(const pair&) const = default;
  };
  const program::filled_window<pair> all(allocated ? "allocated" : "created", 1, MPI_COMM_WORLD, program::bytes_min);
  const auto largest_of_round = [](int round) { return pair(10.0 * round + size() - 1, size() - 1); };
  MPI_Win_lock_all(0, all.win);
  for (int round = 1; round <= 50; ++round) {
    const pair own(10.0 * round + rank(), rank());
    MPI_Accumulate(&own, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, all.win);
    MPI_Win_flush(0, all.win);
    MPI_Barrier(MPI_COMM_WORLD);
    pair seen;
    MPI_Fetch_and_op(nullptr, &seen, MPI_DOUBLE_INT, 0, 0, MPI_NO_OP, all.win);
    MPI_Win_flush(0, all.win);
    CHECK(seen == largest_of_round(round));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank() == size() - 1) {
    const pair low(-5.0, 77);
    pair before, seen;
    MPI_Fetch_and_op(&low, &before, MPI_DOUBLE_INT, 0, 0, MPI_REPLACE, all.win);
    MPI_Get_accumulate(&low, 1, MPI_DOUBLE_INT, &seen, 1, MPI_DOUBLE_INT, 0, 0, 1, MPI_DOUBLE_INT, MPI_MAXLOC, all.win);
    MPI_Win_flush(0, all.win);
    CHECK(before == largest_of_round(50) && seen == low);
  }
  MPI_Win_unlock_all(all.win);
  MPI_Barrier(MPI_COMM_WORLD);
}

void units() {
  step = "displacement units that differ";
  std::array<unsigned char, 64> memory{};
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_create(memory.data(), memory.size(), rank() + 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  for (int target = 0; target < size(); ++target) {
    const auto value = static_cast<unsigned char>(100 + rank());
    MPI_Put(&value, 1, MPI_UNSIGNED_CHAR, target, 5 + rank(), 1, MPI_UNSIGNED_CHAR, win);
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  for (int origin = 0; origin < size(); ++origin)
    CHECK(memory[static_cast<std::size_t>((rank() + 1) * (5 + origin))] == 100 + origin);
  MPI_Win_free(&win);
}

// MPI-4.1, section 12.2.3.
void queries(bool is_mapped) {
  step = "memory of other processes in windows that are not shared";
  MPI_Aint bytes = -1;
  int unit = -1;
  int* base = nullptr;
  for (const bool allocated : {true, false}) {
    const ints all(allocated, 2500 + rank());
    for (int member = 0; member < size(); ++member) {
      CHECK(MPI_Win_shared_query(all.win, member, &bytes, &unit, &base) == MPI_SUCCESS);
      CHECK(unit == sizeof(int));
      CHECK(bytes != 0 || !(is_mapped && allocated));
      CHECK(bytes == 0 || (bytes == (2500 + member) * static_cast<MPI_Aint>(sizeof(int)) && base[2499] == member));
      if (member == rank() && allocated) CHECK(base == all.memory);
    }
    CHECK(MPI_Win_shared_query(all.win, MPI_PROC_NULL, &bytes, &unit, &base) == MPI_SUCCESS);
    if (allocated) CHECK(bytes >= static_cast<MPI_Aint>(2500 * sizeof(int)));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

void requests_among_messages(bool allocated) {
  step = "requests of operations among those of messages";
  const ints all(allocated, 40);
  MPI_Win_lock_all(0, all.win);
  for (int round = 0; round < 5; ++round) {
    std::array<MPI_Request, 40> pending{};
    std::array<int, 40> values{}, seen{};
    for (int i = 0; i < 40; ++i) {
      const auto at = static_cast<std::size_t>(i);
      values[at] = 1000 * round + i;
      if (i % 4 == 0) {
        MPI_Isend(&values[at], 1, MPI_INT, next(), i, MPI_COMM_WORLD, &pending[at]);
      } else if (i % 4 == 1) {
        MPI_Irecv(&seen[at], 1, MPI_INT, previous(), i - 1, MPI_COMM_WORLD, &pending[at]);
      } else if (i % 4 == 2) {
        MPI_Rput(&values[at], 1, MPI_INT, next(), i, 1, MPI_INT, all.win, &pending[at]);
      } else {
        MPI_Rget(&seen[at], 1, MPI_INT, next(), i, 1, MPI_INT, all.win, &pending[at]);
      }
    }
    std::array<int, 40> indices{};
    for (int left = 40; left > 0;) {
      int done = 0;
      if (left > 30) {
        MPI_Waitsome(40, pending.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
      } else if (left > 20) {
        MPI_Testsome(40, pending.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
      } else if (left > 10) {
        int index = 0, flag = 0;
        MPI_Testany(40, pending.data(), &index, &flag, MPI_STATUS_IGNORE);
        done = flag;
      } else {
        int flag = 0;
        MPI_Testall(40, pending.data(), &flag, MPI_STATUSES_IGNORE);
        done = flag != 0 ? left : 0;
      }
      CHECK(done >= 0);
      left -= done;
    }
    for (std::size_t i = 1; i < 40; i += 4) CHECK(seen[i] == 1000 * round + static_cast<int>(i) - 1);
    for (std::size_t i = 3; i < 40; i += 4) CHECK(seen[i] == next());
  }
  MPI_Win_unlock_all(all.win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, all.win);
  for (int i = 2; i < 40; i += 4) CHECK(all.memory[i] == 4000 + i);
  MPI_Win_unlock(rank(), all.win);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Pages that replace others at the same address: as the source of puts, as the destination of gets, and as memory of a
// window that is attached or made again.
void replaced_pages(const amity::testing::replacement& by) {
  const std::string name = "memory that is replaced by " + std::string(by.name);
  step = name.c_str();
  constexpr std::size_t bytes = std::size_t{1} << 20;
  constexpr int count = static_cast<int>(bytes / sizeof(int));
  amity::testing::replaced_memory target(by.what, bytes), source(by.what, bytes), result(by.what, bytes);
  const auto ints_of = [](const amity::testing::replaced_memory& memory) {
    return reinterpret_cast<int*>(memory.data());
  };
  MPI_Win dynamic = MPI_WIN_NULL;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
  for (int round = 1; round <= 3; ++round) {
    const MPI_Aint theirs = program::address_at_next(target.data());
    MPI_Win created = MPI_WIN_NULL;
    MPI_Win_create(target.data(), bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &created);
    MPI_Win_attach(dynamic, target.data(), bytes);
    for (const MPI_Win win : {created, dynamic}) {
      const int sent = 100 * round + rank() + (win == dynamic ? 10 : 0), got = sent - rank() + previous();
      const MPI_Aint place = win == dynamic ? theirs : 0;
      std::fill_n(ints_of(source), count, sent);
      MPI_Win_fence(0, win);
      MPI_Put(ints_of(source), count, MPI_INT, next(), place, count, MPI_INT, win);
      MPI_Win_fence(0, win);
      CHECK(std::count(ints_of(target), ints_of(target) + count, got) == count);
      MPI_Get(ints_of(result), count, MPI_INT, next(), place, count, MPI_INT, win);
      MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
      CHECK(std::count(ints_of(result), ints_of(result) + count, sent) == count);
      source.replace();
      result.replace();
    }
    MPI_Win_detach(dynamic, target.data());
    MPI_Win_free(&created);
    target.replace();
  }
  MPI_Win_free(&dynamic);
  step = "after replaced memory";
}

void addresses_of_the_origin() {
  step = "origins at MPI_BOTTOM";
  const ints all(true, 8);
  std::array<int, 3> values{7, 8, 9};
  MPI_Aint place = 0;
  MPI_Get_address(values.data(), &place);
  const int count = 3;
  MPI_Datatype absolute = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(1, &count, &place, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  MPI_Win_fence(0, all.win);
  MPI_Put(MPI_BOTTOM, 1, absolute, next(), 2, 3, MPI_INT, all.win);
  MPI_Type_free(&absolute);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, all.win);
  CHECK(all.memory[1] == rank() && all.memory[2] == 7 && all.memory[4] == 9 && all.memory[5] == rank());
}

#if MPI_VERSION >= 4

void large_counts(bool shares) {
  step = "functions with large counts";
  struct numbers {
    MPI_Win win = MPI_WIN_NULL;
    long* memory = nullptr;
    long own[8]{};
  };
  for (const std::string_view flavor : {"created", "allocated", "shared"}) {
    if (flavor == "shared" && !shares) continue;
    numbers all;
    if (flavor == "created") {
      all.memory = all.own;
      CHECK(MPI_Win_create_c(all.own, sizeof all.own, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &all.win) ==
            MPI_SUCCESS);
    } else if (flavor == "allocated") {
      MPI_Win_allocate_c(program::bytes_min, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &all.memory, &all.win);
    } else {
      MPI_Win_allocate_shared_c(program::bytes_min, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &all.memory, &all.win);
      MPI_Aint bytes = 0, unit = 0;
      long* base = nullptr;
      MPI_Win_shared_query_c(all.win, next(), &bytes, &unit, &base);
      CHECK(bytes == program::bytes_min && unit == sizeof(long) && base != nullptr);
    }
    std::fill_n(all.memory, 8, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, all.win);
    const std::array<long, 2> values{3, 4};
    std::array<long, 2> seen{};
    std::array<MPI_Request, 4> pending{};
    MPI_Put_c(values.data(), 2, MPI_LONG, next(), 0, 2, MPI_LONG, all.win);
    MPI_Accumulate_c(values.data(), 2, MPI_LONG, next(), 2, 2, MPI_LONG, MPI_SUM, all.win);
    MPI_Win_flush(next(), all.win);
    MPI_Get_c(seen.data(), 2, MPI_LONG, next(), 0, 2, MPI_LONG, all.win);
    MPI_Win_flush(next(), all.win);
    CHECK(seen == values);
    MPI_Get_accumulate_c(values.data(), 2, MPI_LONG, seen.data(), 2, MPI_LONG, next(), 2, 2, MPI_LONG, MPI_SUM,
                         all.win);
    MPI_Win_flush(next(), all.win);
    CHECK(seen == values);
    MPI_Rput_c(values.data(), 2, MPI_LONG, next(), 4, 2, MPI_LONG, all.win, &pending[0]);
    MPI_Raccumulate_c(values.data(), 2, MPI_LONG, next(), 6, 2, MPI_LONG, MPI_SUM, all.win, &pending[1]);
    MPI_Waitall(2, pending.data(), MPI_STATUSES_IGNORE);
    MPI_Win_flush(next(), all.win);
    std::array<long, 2> again{};
    MPI_Rget_c(seen.data(), 2, MPI_LONG, next(), 4, 2, MPI_LONG, all.win, &pending[2]);
    MPI_Rget_accumulate_c(values.data(), 2, MPI_LONG, again.data(), 2, MPI_LONG, next(), 6, 2, MPI_LONG, MPI_REPLACE,
                          all.win, &pending[3]);
    MPI_Waitall(2, &pending[2], MPI_STATUSES_IGNORE);
    CHECK(seen == values && again == values);
    MPI_Win_unlock_all(all.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank(), 0, all.win);
    const std::array<long, 8> expected{3, 4, 6, 8, 3, 4, 3, 4};
    for (std::size_t i = 0; i < 8; ++i) CHECK(all.memory[i] == expected[i]);
    MPI_Win_unlock(rank(), all.win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&all.win);
  }
}

#else

void large_counts(bool) {}  // this MPI does not have them

#endif

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const bool is_native = mode == "native";
  for (const bool allocated : {true, false}) {
    no_process(allocated);
    unchecked_locks(allocated);
    if (!is_native) {
      replaced_and_read(allocated);
      pairs(allocated);
    }
    requests_among_messages(allocated);
  }
  units();
  if (!is_native) queries(mode == "mapped");
  addresses_of_the_origin();
  for (const amity::testing::replacement& by : amity::testing::replacements) replaced_pages(by);
  large_counts(mode != "no_shared");
}
