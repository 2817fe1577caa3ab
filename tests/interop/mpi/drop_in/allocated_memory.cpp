// Windows on memory of MPI_Alloc_mem. A plain MPI program. With the argument `shared`, other processes must map memory
// of MPI_Alloc_mem, which the drop-in library promises; with `messages`, its settings say that all operations are
// messages.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "program.hpp"

namespace {

using program::next;
using program::previous;
using program::rank;
using program::step;

enum class expected { nothing, shared, messages };

double* allocate(std::size_t doubles, MPI_Info info = MPI_INFO_NULL) {
  double* memory = nullptr;
  CHECK(MPI_Alloc_mem(static_cast<MPI_Aint>(doubles * sizeof(double)), info, &memory) == MPI_SUCCESS);
  CHECK(memory != nullptr);
  return memory;
}

/// Each process puts its rank to element 1 of the next one, and adds 2 to it.
void use(double* memory, expected how) {
  MPI_Win win = MPI_WIN_NULL;
  std::fill_n(memory, 3, -1.0);
  CHECK(MPI_Win_create(memory, 3 * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS);
  const double own = rank(), two = 2;
  double seen = 0;
  MPI_Win_fence(0, win);
  MPI_Put(&own, 1, MPI_DOUBLE, next(), 1, 1, MPI_DOUBLE, win);
  MPI_Win_fence(0, win);
  MPI_Accumulate(&two, 1, MPI_DOUBLE, next(), 1, 1, MPI_DOUBLE, MPI_SUM, win);
  MPI_Win_fence(0, win);
  MPI_Get(&seen, 1, MPI_DOUBLE, next(), 1, 1, MPI_DOUBLE, win);
  MPI_Win_fence(0, win);
  CHECK(memory[0] == -1 && memory[1] == previous() + 2 && memory[2] == -1);
  CHECK(seen == rank() + 2);
  if (how != expected::nothing) {
    MPI_Aint bytes = 0;
    int unit = 0;
    double* there = nullptr;
    CHECK(MPI_Win_shared_query(win, next(), &bytes, &unit, &there) == MPI_SUCCESS);
    CHECK(bytes == (how == expected::shared ? 3 * static_cast<MPI_Aint>(sizeof(double)) : 0));
    if (how == expected::shared) CHECK(unit == sizeof(double) && there[0] == -1 && there[1] == rank() + 2);
  }
  MPI_Win_free(&win);
}

void windows_on_allocated_memory(expected how) {
  step = "windows on memory of MPI_Alloc_mem";
  double* const first = allocate(3);
  double* const large = allocate(100'000);
  for (int round = 0; round < 3; ++round) {
    use(first, how);
    use(large, how);
    use(large + 99'997, how);
  }
  MPI_Free_mem(first);
  double* const again = allocate(3);
  use(again, how);
  MPI_Free_mem(again);
  MPI_Free_mem(large);
}

void dynamic_windows() {
  step = "allocated memory in a dynamic window";
  double* const memory = allocate(4);
  std::fill_n(memory, 4, -1.0);
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  CHECK(MPI_Win_attach(win, memory, 4 * sizeof(double)) == MPI_SUCCESS);
  const MPI_Aint there = program::address_at_next(memory);
  const double value = rank();
  MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, win);
  MPI_Put(&value, 1, MPI_DOUBLE, next(), there + 8, 1, MPI_DOUBLE, win);
  MPI_Win_unlock(next(), win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(memory[0] == -1 && memory[1] == previous());
  MPI_Win_detach(win, memory);
  MPI_Win_free(&win);
  MPI_Free_mem(memory);
}

/// Pieces of all sizes do not overlap, and are aligned as the info asks.
void many_pieces(expected how) {
  step = "many pieces of memory";
  std::vector<std::pair<std::byte*, std::size_t>> all;
  for (std::size_t bytes = 1; bytes < 200'000; bytes = bytes * 3 / 2 + 1) {
    for (int copy = 0; copy < 3; ++copy) {
      std::byte* piece = nullptr;
      CHECK(MPI_Alloc_mem(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, &piece) == MPI_SUCCESS);
      std::memset(piece, static_cast<int>(all.size() % 251), bytes);
      all.emplace_back(piece, bytes);
    }
  }
  for (std::size_t index = 0; index < all.size(); ++index) {
    const auto [piece, bytes] = all[index];
    CHECK(std::all_of(piece, piece + bytes, [&](std::byte each) { return each == std::byte(index % 251); }));
    CHECK(MPI_Free_mem(piece) == MPI_SUCCESS);
  }
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096");
  double* const aligned = allocate(10, info);
  if (how != expected::nothing) CHECK(reinterpret_cast<std::uintptr_t>(aligned) % 4096 == 0);
  MPI_Free_mem(aligned);
  MPI_Info_free(&info);
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  const std::string_view word = argc > 1 ? argv[1] : "";
  const expected how = word == "shared"     ? expected::shared
                       : word == "messages" ? expected::messages
                                            : expected::nothing;
  windows_on_allocated_memory(how);
  dynamic_windows();
  many_pieces(how);
}
