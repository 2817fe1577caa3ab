// Epochs with many operations, with more than 2 GiB of data, and with one operation of more than 2 GiB. A plain MPI
// program. The argument is "many", or "large", which needs 5 GiB of memory.

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

#include "filled_window.hpp"
#include "program.hpp"

namespace {

using longs = program::filled_window<long>;
using program::next;
using program::previous;
using program::rank;
using program::size;
using program::step;

/// Puts, accumulates and gets to all processes, without a synchronization between them.
void many_operations(std::string_view flavor) {
  constexpr int count = 20'000;
  longs all(flavor, count + 1);
  std::vector<long> sent(count), seen(count);
  const long one = 1;
  const auto operate = [&](int kind, long round) {
    for (int i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (kind == 0) {
        sent[at] = 1'000'000 * round + i;
        MPI_Put(&sent[at], 1, MPI_LONG, next(), i, 1, MPI_LONG, all.win);
      } else if (kind == 1) {
        MPI_Get(&seen[at], 1, MPI_LONG, next(), i, 1, MPI_LONG, all.win);
      } else {
        MPI_Accumulate(&one, 1, MPI_LONG, i % size(), count, 1, MPI_LONG, MPI_SUM, all.win);
      }
    }
  };
  const auto check = [&](long round) {
    for (std::size_t i = 0; i < count; ++i) CHECK(all.memory[i] == 1'000'000 * round + static_cast<long>(i));
  };
  step = "flow control: many operations between fences";
  MPI_Win_fence(0, all.win);
  operate(0, 1);
  MPI_Win_fence(0, all.win);
  check(1);
  operate(1, 1);
  operate(2, 1);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, all.win);
  CHECK(seen == sent);
  // Each process has added 1 so many times here.
  const long additions = (count - rank() + size() - 1) / size();
  CHECK(all.memory[count] == rank() + additions * size());
  step = "flow control: many operations in epochs of locks";
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, all.win);
  operate(0, 2);
  MPI_Win_flush_all(all.win);
  operate(1, 2);
  operate(2, 2);
  MPI_Win_unlock_all(all.win);
  CHECK(seen == sent);
  MPI_Barrier(MPI_COMM_WORLD);
  check(2);
  CHECK(all.memory[count] == rank() + 2 * additions * size());
  step = "flow control: many requests";
  std::vector<MPI_Request> pending(5000);
  MPI_Win_lock_all(0, all.win);
  std::fill(seen.begin(), seen.end(), -1);
  for (std::size_t i = 0; i < pending.size(); ++i)
    MPI_Rget(&seen[i], 1, MPI_LONG, next(), static_cast<MPI_Aint>(i), 1, MPI_LONG, all.win, &pending[i]);
  MPI_Waitall(static_cast<int>(pending.size()), pending.data(), MPI_STATUSES_IGNORE);
  CHECK(std::equal(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(pending.size()), sent.begin()));
  MPI_Win_unlock_all(all.win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Sums, which travel in order: 2.25 GiB.
void large_epoch() {
  step = "flow control: more than 2 GiB in one epoch";
  constexpr int count = 1 << 23, rounds = 36;
  longs all("created", count);
  if (rank() == 0) {
    const std::vector<long> ones(count, 1);
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, all.win);
    for (int round = 0; round < rounds; ++round)
      MPI_Accumulate(ones.data(), count, MPI_LONG, 1, 0, count, MPI_LONG, MPI_SUM, all.win);
    MPI_Win_unlock(1, all.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 1) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, all.win);
    CHECK(std::all_of(all.memory, all.memory + count, [&](long each) { return each == 1 + rounds; }));
    MPI_Win_unlock(1, all.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// One put of 2 GiB and 8 MiB. The origin sends the same MiB again and again.
void large_operation() {
  step = "flow control: more than 2 GiB in one operation";
  constexpr int piece = 1 << 17, pieces = 2056;
  constexpr MPI_Aint count = MPI_Aint{piece} * pieces;
  long* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  const MPI_Aint bytes = rank() == 1 ? count * static_cast<MPI_Aint>(sizeof(long)) : 0;
  MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Datatype one = MPI_DATATYPE_NULL, again = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(piece, MPI_LONG, &one);
  MPI_Type_create_hvector(pieces, 1, 0, one, &again);
  MPI_Type_commit(&one);
  MPI_Type_commit(&again);
  std::vector<long> values(piece);
  for (std::size_t i = 0; i < piece; ++i) values[i] = static_cast<long>(i) + 3;
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  if (rank() == 0) MPI_Put(values.data(), 1, again, 1, 0, pieces, one, win);
  MPI_Win_fence(0, win);
  if (rank() == 1) {
    for (MPI_Aint i = 0; i < count; ++i) CHECK(memory[i] == i % piece + 3);
  }
  std::array<long, 2> last{-1, -1};
  if (rank() == 0) MPI_Get(last.data(), 2, MPI_LONG, 1, count - 2, 2, MPI_LONG, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  if (rank() == 0) CHECK(last[0] == piece + 1 && last[1] == piece + 2);
  MPI_Type_free(&one);
  MPI_Type_free(&again);
  MPI_Win_free(&win);
}

#if MPI_VERSION >= 4

/// A put and a get of 2 GiB and 8 MiB, counted in bytes: more than an int.
void large_count() {
  step = "flow control: more than 2^31 elements in one operation";
  constexpr MPI_Count bytes = (MPI_Count{1} << 31) + (1 << 23), words = bytes / MPI_Count{sizeof(long)};
  long* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(rank() == 1 ? bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  std::vector<long> values(rank() == 0 ? words : 0);
  std::iota(values.begin(), values.end(), 3L);
  const auto is_right = [](const long* of) {
    for (MPI_Count i = 0; i < words; ++i) {
      if (of[i] != i + 3) return false;
    }
    return true;
  };
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  if (rank() == 0) MPI_Put_c(values.data(), bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  if (rank() == 1) CHECK(is_right(memory));
  std::fill(values.begin(), values.end(), -1L);
  if (rank() == 0) MPI_Get_c(values.data(), bytes, MPI_BYTE, 1, 0, bytes, MPI_BYTE, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  if (rank() == 0) CHECK(is_right(values.data()));
  MPI_Win_free(&win);
}

#else

void large_count() {}  // this MPI does not have them

#endif

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "large") {
    large_epoch();
    large_operation();
    large_count();
  } else {
    for (const std::string_view flavor : {"allocated", "created"}) many_operations(flavor);
  }
}
