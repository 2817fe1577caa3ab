// A small program as users write it, whose answer is known: a global array of which processes read and add patches.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "program.hpp"

namespace {

using program::rank;
using program::size;
using program::step;

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
  const program::session running(argc, argv);
  global_array();
  // Open MPI and MPICH bear calls of one thread after the other from programs that call MPI_Init, and so does the
  // library.
  std::thread(global_array).join();
}
