/// A matrix that is distributed by blocks of rows and columns, and read and updated by patches of any place and size.
/// The program multiplies two of them: ranks take tasks from a counter, get two patches, and accumulate the product.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "amity/amity.hpp"
#include "apps/windows/command_line.hpp"
#include "apps/windows/jacobi.hpp"

namespace amity::apps::windows {
namespace {

struct patch {
  std::size_t row, column, rows, columns;
  std::size_t cells() const { return rows * columns; }
};

/// A square matrix of doubles; the cells of a patch are stored by rows.
class global_array {
 public:
  /// Collective.
  global_array(world& w, std::size_t size, std::string_view name)
      : size_(size),
        ranks_(w.size()),
        rows_((size - 1) / static_cast<std::size_t>(ranks_.rows()) + 1),
        columns_((size - 1) / static_cast<std::size_t>(ranks_.columns()) + 1),
        own_(part_of(w.rank())),
        cells_(w.allocate_window<double>(own_.cells(), {.name = name})) {}

  void begin_access() { cells_.lock_all(); }
  void end_access() { cells_.unlock_all(); }

  std::vector<double> get(const patch& from) {
    std::vector<std::vector<double>> parts;
    parts.reserve(static_cast<std::size_t>(ranks_.rows() * ranks_.columns()));
    visit(from, [&](rank_t owner, const patch& part, std::size_t index, const std::shared_ptr<const layout>& there) {
      cells_.get(owner, index, there, std::span(parts.emplace_back(part.cells())));
    });
    cells_.flush_local_all();
    std::vector<double> all(from.cells());
    auto next = parts.begin();
    visit(from, [&](rank_t, const patch& part, std::size_t, const auto&) { copy(*next++, part, all, from); });
    return all;
  }

  void accumulate(const patch& to, const std::vector<double>& values) {
    std::vector<std::vector<double>> parts;
    parts.reserve(static_cast<std::size_t>(ranks_.rows() * ranks_.columns()));
    visit(to, [&](rank_t owner, const patch& part, std::size_t index, const std::shared_ptr<const layout>& there) {
      std::vector<double>& packed = parts.emplace_back(part.cells());
      for (std::size_t row = 0; row < part.rows; ++row) {
        const std::size_t first = (part.row - to.row + row) * to.columns + part.column - to.column;
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), part.columns,
                    packed.begin() + static_cast<std::ptrdiff_t>(row * part.columns));
      }
      cells_.accumulate(accumulate_op::sum, owner, index, there, packed);
    });
    cells_.flush_local_all();  // the parts are no longer needed
  }

  /// The part of this rank, and its cells.
  const patch& own() const { return own_; }
  std::span<double> local() { return cells_.local(); }

 private:
  using visitor = std::function<void(rank_t, const patch&, std::size_t, const std::shared_ptr<const layout>&)>;

  patch part_of(rank_t rank) const {
    const position at = ranks_.of(rank);
    const std::size_t row = std::min(size_, static_cast<std::size_t>(at.row) * rows_);
    const std::size_t column = std::min(size_, static_cast<std::size_t>(at.column) * columns_);
    return {row, column, std::min(rows_, size_ - row), std::min(columns_, size_ - column)};
  }

  /// Calls `visit` for each owner of a part of the patch, with the index and layout of this part in its memory.
  void visit(const patch& of, const visitor& visit) const {
    for (rank_t owner = 0; owner < ranks_.rows() * ranks_.columns(); ++owner) {
      const patch there = part_of(owner);
      const std::size_t row = std::max(of.row, there.row), column = std::max(of.column, there.column);
      const std::size_t rows_end = std::min(of.row + of.rows, there.row + there.rows);
      const std::size_t columns_end = std::min(of.column + of.columns, there.column + there.columns);
      if (row >= rows_end || column >= columns_end) continue;
      const patch part{row, column, rows_end - row, columns_end - column};
      visit(
          owner, part, (row - there.row) * there.columns + column - there.column,
          std::make_shared<const layout>(layout::strided(part.rows, part.columns * sizeof(double),
                                                         static_cast<std::ptrdiff_t>(there.columns * sizeof(double)))));
    }
  }

  static void copy(const std::vector<double>& packed, const patch& part, std::vector<double>& all, const patch& whole) {
    for (std::size_t row = 0; row < part.rows; ++row) {
      const std::size_t first = (part.row - whole.row + row) * whole.columns + part.column - whole.column;
      std::copy_n(packed.begin() + static_cast<std::ptrdiff_t>(row * part.columns), part.columns,
                  all.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }

  std::size_t size_;
  rank_grid ranks_;
  std::size_t rows_, columns_;  ///< of the largest part
  patch own_;
  window<double> cells_;
};

// Small integers: sums are exact in any order.
double left_value(std::size_t row, std::size_t column) { return static_cast<double>((row + 2 * column) % 7); }
double right_value(std::size_t row, std::size_t column) { return static_cast<double>((3 * row + column) % 5); }

void fill(global_array& array, double (*value)(std::size_t, std::size_t)) {
  const patch& own = array.own();
  for (std::size_t i = 0; i < own.cells(); ++i)
    array.local()[i] = value(own.row + i / own.columns, own.column + i % own.columns);
}

std::vector<double> product(const std::vector<double>& a, const patch& of_a, const std::vector<double>& b,
                            const patch& of_b) {
  std::vector<double> result(of_a.rows * of_b.columns);
  for (std::size_t i = 0; i < of_a.rows; ++i) {
    for (std::size_t k = 0; k < of_a.columns; ++k) {
      for (std::size_t j = 0; j < of_b.columns; ++j)
        result[i * of_b.columns + j] += a[i * of_a.columns + k] * b[k * of_b.columns + j];
    }
  }
  return result;
}

int multiply(world& w, std::size_t size, std::size_t edge) {
  global_array a(w, size, "a"), b(w, size, "b"), c(w, size, "c");
  auto tasks = w.allocate_window<std::uint64_t>(w.rank() == 0 ? 1 : 0, {.name = "tasks"});
  fill(a, left_value);
  fill(b, right_value);
  w.barrier();
  for (global_array* const each : {&a, &b, &c}) each->begin_access();
  tasks.lock_all();
  const std::size_t blocks = (size - 1) / edge + 1;
  for (;;) {
    std::uint64_t task = 0;
    tasks.fetch_and_op(accumulate_op::sum, 0, 0, 1, task);
    tasks.flush(0);
    if (task >= blocks * blocks * blocks) break;
    const auto block_at = [&](std::uint64_t row, std::uint64_t column) {
      return patch{row * edge, column * edge, std::min(edge, size - row * edge), std::min(edge, size - column * edge)};
    };
    const std::uint64_t i = task / (blocks * blocks), j = task / blocks % blocks, k = task % blocks;
    c.accumulate(block_at(i, j), product(a.get(block_at(i, k)), block_at(i, k), b.get(block_at(k, j)), block_at(k, j)));
  }
  tasks.unlock_all();
  for (global_array* const each : {&a, &b, &c}) each->end_access();
  w.barrier();

  std::uint64_t errors = 0;
  const patch& own = c.own();
  for (std::size_t i = 0; i < own.cells(); ++i) {
    const std::size_t row = own.row + i / own.columns, column = own.column + i % own.columns;
    double expected = 0;
    for (std::size_t k = 0; k < size; ++k) expected += left_value(row, k) * right_value(k, column);
    errors += c.local()[i] != expected;
  }
  return report(w, "product of " + std::to_string(size) + " x " + std::to_string(size) + " matrices", errors);
}

}  // namespace
}  // namespace amity::apps::windows

int main(int argc, char** argv) {
  using namespace amity::apps::windows;
  std::size_t size = 100, edge = 16;
  CLI::App options("Multiplies two distributed matrices by patches.");
  options.add_option("--size", size, "rows and columns of the matrices")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  options.add_option("--block", edge, "rows and columns of a patch")->check(CLI::PositiveNumber)->capture_default_str();
  if (const auto status = parse(options, argc, argv)) return *status;
  return amity::run(argc, argv, [&](amity::world& w) { return multiply(w, size, edge); });
}
