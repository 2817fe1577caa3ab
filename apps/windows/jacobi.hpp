#pragma once

/// Jacobi iterations of the heat equation on a rectangle, without the exchange of halos: that is what the programs
/// show.
///
/// Ranks form a grid, and each has a block of the same size with a halo of one cell around it. The left wall is hot,
/// and the others are cold. Each cell becomes the mean of its four neighbors.

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace amity::apps::windows {

/// The cells of one rank, stored by rows. Row and column 0 are the halo above and on the left.
struct block {
  std::size_t rows;
  std::size_t columns;

  std::size_t width() const { return columns + 2; }
  std::size_t cells() const { return (rows + 2) * width(); }
  std::size_t at(std::size_t row, std::size_t column) const { return row * width() + column; }
};

struct position {
  int row;
  int column;
};

/// Ranks in rows, as many as fit a grid that is nearly square.
class rank_grid {
 public:
  explicit rank_grid(int ranks) : rows_(static_cast<int>(std::sqrt(ranks))) {
    while (ranks % rows_ != 0) --rows_;
    columns_ = ranks / rows_;
  }
  int rows() const { return rows_; }
  int columns() const { return columns_; }
  position of(int rank) const { return {rank / columns_, rank % columns_}; }
  /// -1: there is a wall.
  int rank_at(position of) const {
    const bool exists = of.row >= 0 && of.row < rows_ && of.column >= 0 && of.column < columns_;
    return exists ? of.row * columns_ + of.column : -1;
  }

 private:
  int rows_;
  int columns_;
};

inline void heat_left_wall(std::span<double> cells, const block& size) {
  for (std::size_t row = 1; row <= size.rows; ++row) cells[size.at(row, 0)] = 1;
}

/// One iteration; `next` is a block of the same size, whose halo does not change.
inline void step(std::span<const double> cells, std::span<double> next, const block& size) {
  for (std::size_t row = 1; row <= size.rows; ++row) {
    for (std::size_t column = 1; column <= size.columns; ++column) {
      const std::size_t at = size.at(row, column);
      next[at] = (cells[at - 1] + cells[at + 1] + cells[at - size.width()] + cells[at + size.width()]) / 4;
    }
  }
}

/// Stores `next` in the cells, except for the halo.
inline void take(std::span<double> cells, std::span<const double> next, const block& size) {
  for (std::size_t row = 1; row <= size.rows; ++row) {
    for (std::size_t column = 1; column <= size.columns; ++column)
      cells[size.at(row, column)] = next[size.at(row, column)];
  }
}

/// How many cells of a rank differ from those that one rank alone computes for the whole rectangle. The same sums are
/// computed in the same order, so that the results are equal bit by bit.
inline std::size_t count_errors(std::span<const double> cells, const block& size, int rank, int ranks, int iterations) {
  const rank_grid grid(ranks);
  const block whole{size.rows * static_cast<std::size_t>(grid.rows()),
                    size.columns * static_cast<std::size_t>(grid.columns())};
  std::vector<double> all(whole.cells()), next(whole.cells());
  heat_left_wall(all, whole);
  for (int i = 0; i < iterations; ++i) {
    step(all, next, whole);
    take(all, next, whole);
  }
  const position own = grid.of(rank);
  const std::size_t first_row = static_cast<std::size_t>(own.row) * size.rows;
  const std::size_t first_column = static_cast<std::size_t>(own.column) * size.columns;
  std::size_t errors = 0;
  for (std::size_t row = 1; row <= size.rows; ++row) {
    for (std::size_t column = 1; column <= size.columns; ++column)
      errors += cells[size.at(row, column)] != all[whole.at(first_row + row, first_column + column)];
  }
  return errors;
}

}  // namespace amity::apps::windows
