/// The program of `halo.cpp` with point-to-point messages of MPI.

#include <mpi.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "apps/windows/jacobi.hpp"

using namespace amity::apps::windows;

namespace {

void exchange(std::vector<double>& cells, const block& size, const rank_grid& grid, int rank, MPI_Datatype column) {
  const position own = grid.of(rank);
  const auto neighbor = [&](int rows, int columns) {
    const int found = grid.rank_at({own.row + rows, own.column + columns});
    return found < 0 ? MPI_PROC_NULL : found;
  };
  const int up = neighbor(-1, 0), down = neighbor(1, 0), left = neighbor(0, -1), right = neighbor(0, 1);
  const int row = static_cast<int>(size.columns);
  std::array<MPI_Request, 8> all{};
  const auto receive = [&](int i, std::size_t at, int count, MPI_Datatype type, int from) {
    MPI_Irecv(&cells[at], count, type, from, 0, MPI_COMM_WORLD, &all[static_cast<std::size_t>(i)]);
  };
  const auto send = [&](int i, std::size_t at, int count, MPI_Datatype type, int to) {
    MPI_Isend(&cells[at], count, type, to, 0, MPI_COMM_WORLD, &all[static_cast<std::size_t>(i)]);
  };
  receive(0, size.at(0, 1), row, MPI_DOUBLE, up);
  receive(1, size.at(size.rows + 1, 1), row, MPI_DOUBLE, down);
  receive(2, size.at(1, 0), 1, column, left);
  receive(3, size.at(1, size.columns + 1), 1, column, right);
  send(4, size.at(1, 1), row, MPI_DOUBLE, up);
  send(5, size.at(size.rows, 1), row, MPI_DOUBLE, down);
  send(6, size.at(1, 1), 1, column, left);
  send(7, size.at(1, size.columns), 1, column, right);
  MPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) {
    if (rank == 0) std::fprintf(stderr, "usage: %s ROWS COLUMNS ITERATIONS\n", argv[0]);
    MPI_Finalize();
    return 2;
  }
  const block size{std::strtoul(argv[1], nullptr, 10), std::strtoul(argv[2], nullptr, 10)};
  const int iterations = std::atoi(argv[3]);
  const rank_grid grid(ranks);
  MPI_Datatype column{};
  MPI_Type_vector(static_cast<int>(size.rows), 1, static_cast<int>(size.width()), MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  std::vector<double> now(size.cells()), next(size.cells());
  if (grid.of(rank).column == 0) {
    heat_left_wall(now, size);
    heat_left_wall(next, size);
  }
  for (int i = 0; i < iterations; ++i) {
    exchange(now, size, grid, rank, column);
    step(now, next, size);
    std::swap(now, next);
  }
  unsigned long errors = count_errors(now, size, rank, ranks, iterations), all = 0;
  MPI_Allreduce(&errors, &all, 1, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("%d iterations on %d ranks: %s\n", iterations, ranks, all == 0 ? "right" : "WRONG");
  MPI_Type_free(&column);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
