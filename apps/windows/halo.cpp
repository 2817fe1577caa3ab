/// Jacobi iterations whose halos are exchanged by puts into a window: between fences, or between the neighbors alone
/// by post, start, complete and wait. `halo_mpi.cpp` is the same program with messages of MPI.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "amity/amity.hpp"
#include "apps/windows/command_line.hpp"
#include "apps/windows/jacobi.hpp"

namespace amity::apps::windows {
namespace {

struct problem {
  block size{.rows = 64, .columns = 64};
  int iterations = 100;
  std::string synchronization = "fence";
};

/// Puts the cells at the edges of a block into the halos of its neighbors.
class halo_exchange {
 public:
  halo_exchange(world& w, const block& size)
      : size_(size),
        grid_(w.size()),
        place_(grid_.of(w.rank())),
        column_(std::make_shared<const layout>(
            layout::strided(size.rows, sizeof(double), static_cast<std::ptrdiff_t>(size.width() * sizeof(double))))) {
    for (const position& step : steps) {
      const int neighbor = grid_.rank_at({place_.row + step.row, place_.column + step.column});
      if (neighbor >= 0) neighbors_.push_back(neighbor);
    }
  }

  const std::vector<rank_t>& neighbors() const { return neighbors_; }

  /// In an access epoch for the neighbors. The window has the cells of this rank, too.
  void put(window<double>& to) {
    const auto cells = to.local();
    left_.clear();
    right_.clear();
    for (std::size_t row = 1; row <= size_.rows; ++row) {
      left_.push_back(cells[size_.at(row, 1)]);
      right_.push_back(cells[size_.at(row, size_.columns)]);
    }
    if (const int up = neighbor(-1, 0); up >= 0)
      to.put(up, size_.at(size_.rows + 1, 1), cells.subspan(size_.at(1, 1), size_.columns));
    if (const int down = neighbor(1, 0); down >= 0)
      to.put(down, size_.at(0, 1), cells.subspan(size_.at(size_.rows, 1), size_.columns));
    if (const int left = neighbor(0, -1); left >= 0) to.put(left, size_.at(1, size_.columns + 1), column_, left_);
    if (const int right = neighbor(0, 1); right >= 0) to.put(right, size_.at(1, 0), column_, right_);
  }

 private:
  static constexpr position steps[]{{-1, 0}, {1, 0}, {0, -1}, {0, 1}};
  int neighbor(int rows, int columns) const { return grid_.rank_at({place_.row + rows, place_.column + columns}); }

  block size_;
  rank_grid grid_;
  position place_;
  std::shared_ptr<const layout> column_;
  std::vector<rank_t> neighbors_;
  std::vector<double> left_, right_;  ///< columns without gaps, as puts need them
};

int solve(world& w, const problem& wanted) {
  const block& size = wanted.size;
  auto first = w.allocate_window<double>(size.cells(), {.name = "first"});
  auto second = w.allocate_window<double>(size.cells(), {.name = "second"});
  halo_exchange exchange(w, size);
  if (rank_grid(w.size()).of(w.rank()).column == 0) {
    heat_left_wall(first.local(), size);
    heat_left_wall(second.local(), size);
  }
  window<double>*now = &first, *next = &second;  // they take turns, so that nothing is copied
  for (int i = 0; i < wanted.iterations; ++i) {
    if (wanted.synchronization == "fence") {
      now->fence(window_assert::no_precede);
      exchange.put(*now);
      now->fence(window_assert::no_succeed);
    } else {
      now->post(exchange.neighbors());
      now->start(exchange.neighbors());
      exchange.put(*now);
      now->complete();
      now->wait();
    }
    step(now->local(), next->local(), size);
    std::swap(now, next);
  }
  const auto errors = count_errors(now->local(), size, w.rank(), w.size(), wanted.iterations);
  return report(w, std::to_string(wanted.iterations) + " iterations on " + std::to_string(w.size()) + " ranks", errors);
}

}  // namespace
}  // namespace amity::apps::windows

int main(int argc, char** argv) {
  using namespace amity::apps::windows;
  problem wanted;
  CLI::App options("Solves the heat equation on a rectangle; neighbors exchange halos through windows.");
  options.add_option("--rows", wanted.size.rows, "rows of cells per rank")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options.add_option("--columns", wanted.size.columns, "columns of cells per rank")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options.add_option("--iterations", wanted.iterations, "number of iterations")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  options.add_option("--synchronization", wanted.synchronization, "how exchanges begin and end")
      ->check(CLI::IsMember({"fence", "post"}))
      ->capture_default_str();
  if (const auto status = parse(options, argc, argv)) return *status;
  return amity::run(argc, argv, [&](amity::world& w) { return solve(w, wanted); });
}
