// Small programs as users write them, whose answers are known: the ghost cells of a grid, a hash table, and a global
// array of which processes read and add patches.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "program.hpp"

namespace {

using program::next;
using program::previous;
using program::rank;
using program::size;
using program::step;

/// Sums of neighbors on a ring of cells that are divided among processes: the ghost cells are put by the neighbors,
/// with fences or with post, start, complete and wait.
void ghost_cells(bool with_fences) {
  step = with_fences ? "ghost cells with fences" : "ghost cells with posts";
  constexpr std::size_t cells = 50;
  constexpr int rounds = 40;
  std::vector<std::uint64_t> all(cells * static_cast<std::size_t>(size()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i * i + 1;

  std::uint64_t* own = nullptr;  // a ghost cell, the cells, a ghost cell
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate((cells + 2) * sizeof *own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
  for (std::size_t i = 0; i < cells; ++i) own[i + 1] = all[cells * static_cast<std::size_t>(rank()) + i];
  MPI_Group world = MPI_GROUP_NULL, neighbors = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  const std::array<int, 2> both{previous(), next()};
  MPI_Group_incl(world, both[0] == both[1] ? 1 : 2, both.data(), &neighbors);
  if (with_fences) MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t first = own[1], last = own[cells];
    if (!with_fences) {
      MPI_Win_post(neighbors, 0, win);
      MPI_Win_start(neighbors, 0, win);
    }
    MPI_Put(&first, 1, MPI_UINT64_T, previous(), cells + 1, 1, MPI_UINT64_T, win);
    MPI_Put(&last, 1, MPI_UINT64_T, next(), 0, 1, MPI_UINT64_T, win);
    if (with_fences) {
      MPI_Win_fence(MPI_MODE_NOSTORE, win);
    } else {
      MPI_Win_complete(win);
      MPI_Win_wait(win);
    }
    std::vector<std::uint64_t> sums(cells);
    for (std::size_t i = 0; i < cells; ++i) sums[i] = own[i] + own[i + 1] + own[i + 2];
    std::copy(sums.begin(), sums.end(), own + 1);
    if (with_fences) MPI_Win_fence(MPI_MODE_NOPUT, win);

    std::vector<std::uint64_t> later(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      later[i] = all[(i + all.size() - 1) % all.size()] + all[i] + all[(i + 1) % all.size()];
    all = std::move(later);
  }
  for (std::size_t i = 0; i < cells; ++i) CHECK(own[i + 1] == all[cells * static_cast<std::size_t>(rank()) + i]);
  MPI_Group_free(&world);
  MPI_Group_free(&neighbors);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

/// A table of (key, count) with open addressing, over all processes: a place is taken by a compare-and-swap.
void hash_table() {
  step = "hash table";
  constexpr int places = 256, keys = 60, insertions = 400;
  std::int64_t* own = nullptr;  // keys, 0: free; then counts
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(2 * places * sizeof *own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
  std::fill_n(own, 2 * places, 0);
  MPI_Win_lock_all(0, win);
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  const std::int64_t one = 1, free = 0;
  for (int i = 0; i < insertions; ++i) {
    const std::int64_t key = 1 + (i * 7 + rank() * 13) % keys;
    const int owner = static_cast<int>(key % size());
    for (int place = static_cast<int>(key * 2654435761 % places);; place = (place + 1) % places) {
      std::int64_t seen = -1;
      MPI_Compare_and_swap(&key, &free, &seen, MPI_INT64_T, owner, place, win);
      MPI_Win_flush(owner, win);
      if (seen != 0 && seen != key) continue;
      MPI_Accumulate(&one, 1, MPI_INT64_T, owner, places + place, 1, MPI_INT64_T, MPI_SUM, win);
      break;
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);

  std::array<std::int64_t, keys + 1> expected{}, found{};
  for (int process = 0; process < size(); ++process) {
    for (int i = 0; i < insertions; ++i) ++expected[static_cast<std::size_t>(1 + (i * 7 + process * 13) % keys)];
  }
  for (int owner = 0; owner < size(); ++owner) {
    std::vector<std::int64_t> table(2 * places);
    MPI_Win_lock(MPI_LOCK_SHARED, owner, 0, win);
    MPI_Get(table.data(), 2 * places, MPI_INT64_T, owner, 0, 2 * places, MPI_INT64_T, win);
    MPI_Win_unlock(owner, win);
    for (std::size_t i = 0; i < places; ++i) {
      const std::int64_t key = table[i];
      CHECK(key >= 0 && key <= keys && (key == 0 || key % size() == owner));
      if (key > 0) {
        CHECK(found[static_cast<std::size_t>(key)] == 0);
        found[static_cast<std::size_t>(key)] = table[places + i];
      }
    }
  }
  CHECK(found == expected);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

/// A matrix whose rows are divided among processes. Patches of it are read and added with types of rows and columns.
void global_array() {
  step = "global array";
  constexpr int rows = 12, columns = 20;  // of each process
  double* own = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Info hints = MPI_INFO_NULL;
  MPI_Info_create(&hints);
  MPI_Info_set(hints, "alloc_shm", "true");
  MPI_Info_set(hints, "same_disp_unit", "true");
  MPI_Win_allocate(rows * columns * sizeof *own, sizeof *own, hints, MPI_COMM_WORLD, &own, &win);
  MPI_Info_free(&hints);
  std::fill_n(own, rows * columns, 0.0);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  const int all_rows = rows * size();

  // Each process adds 1 to a patch that moves, of 5 rows (of one or two processes) and 7 columns.
  constexpr int height = 5, width = 7, patches = 60;
  const auto corner = [&](int process, int patch) {
    return std::pair((process * 31 + patch * 11) % (all_rows - height), (process * 5 + patch * 3) % (columns - width));
  };
  const auto for_each_part = [&](int first, auto use) {
    for (int row = first; row < first + height;) {
      const int owner = row / rows, here = std::min(first + height, (owner + 1) * rows) - row;
      use(owner, row % rows, row - first, here);
      row += here;
    }
  };
  const auto type_of = [](int count, int stride) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(count, width, stride, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
  };
  const std::array<double, height* width> ones = [] {
    std::array<double, height * width> values{};
    values.fill(1);
    return values;
  }();
  for (int patch = 0; patch < patches; ++patch) {
    const auto [row, column] = corner(rank(), patch);
    for_each_part(row, [&](int owner, int there, int, int count) {
      MPI_Datatype part = type_of(count, columns);
      MPI_Accumulate(ones.data(), count * width, MPI_DOUBLE, owner, there * columns + column, 1, part, MPI_SUM, win);
      MPI_Type_free(&part);
    });
    MPI_Win_flush_local_all(win);
  }
  MPI_Win_flush_all(win);
  MPI_Barrier(MPI_COMM_WORLD);

  std::vector<double> expected(static_cast<std::size_t>(all_rows * columns));
  for (int process = 0; process < size(); ++process) {
    for (int patch = 0; patch < patches; ++patch) {
      const auto [row, column] = corner(process, patch);
      for (int i = 0; i < height * width; ++i)
        ++expected[static_cast<std::size_t>((row + i / width) * columns + column + i % width)];
    }
  }
  for (int patch = 0; patch < patches; ++patch) {
    const auto [row, column] = corner(rank() + 1, patch);
    std::array<double, height * width> seen{};
    for_each_part(row, [&](int owner, int there, int done, int count) {
      MPI_Datatype part = type_of(count, columns);
      MPI_Get(&seen[static_cast<std::size_t>(done * width)], count * width, MPI_DOUBLE, owner, there * columns + column,
              1, part, win);
      MPI_Type_free(&part);
    });
    MPI_Win_flush_all(win);
    for (int i = 0; i < height * width; ++i) {
      CHECK(seen[static_cast<std::size_t>(i)] ==
            expected[static_cast<std::size_t>((row + i / width) * columns + column + i % width)]);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  program::watch(100);
  ghost_cells(true);
  ghost_cells(false);
  hash_table();
  global_array();
  step = "MPI_Finalize";
  MPI_Finalize();
  return 0;
}
