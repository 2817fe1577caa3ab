/// Operations in blocks: those that answer, and the request forms.

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "amity/window/window.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

using testing::next_of;
using enum accumulate_op;

class layout_windows : public testing::on_paths {};
INSTANTIATE_TEST_SUITE_P(window, layout_windows, ::testing::ValuesIn(testing::jobs_of_windows({1, 2, 3, 4}, 3)),
                         testing::name_of_job);

/// A matrix by rows. One column takes several packets of some fabrics.
constexpr std::size_t rows = 300, columns = 5, used_column = 2;

template <class T>
std::shared_ptr<const layout> one_column() {
  return std::make_shared<const layout>(layout::strided(rows, sizeof(T), columns * sizeof(T)));
}

template <class T>
std::vector<T> numbers_from(int first) {
  std::vector<T> made;
  for (std::size_t i = 0; i < rows; ++i) made.push_back(static_cast<T>(first + static_cast<int>(i % 100)));
  return made;
}

template <class T>
std::vector<T> sum_of(std::vector<T> a, const std::vector<T>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

/// The column has these values, and all else is zero.
template <class T>
void expect_column(std::span<const T> matrix, const std::vector<T>& values) {
  for (std::size_t i = 0; i < matrix.size(); ++i)
    ASSERT_EQ(matrix[i], i % columns == used_column ? values[i / columns] : T(0)) << i;
}

template <class T>
void operate_on_column(world& w) {
  auto shared = w.allocate_window<T>(rows * columns);
  const auto column = one_column<T>();
  const rank_t next = next_of(w);
  const std::vector<T> put = numbers_from<T>(1), added = numbers_from<T>(7), nothing(rows, T(-1));
  std::vector<T> ours = put, seen = nothing, previous = nothing;

  shared.lock_all();
  shared.rput(next, used_column, column, ours).wait();
  ours = added;  // the buffer may change
  shared.flush(next);
  shared.rget(next, used_column, column, seen).wait();
  EXPECT_EQ(seen, put);
  shared.raccumulate(sum, next, used_column, column, ours).wait();
  window_request combined = shared.rget_accumulate(sum, next, used_column, column, added, previous);
  while (!combined.test()) {
  }
  EXPECT_EQ(previous, sum_of(put, added));
  shared.get_accumulate(no_op, next, used_column, column, {}, seen);
  shared.get_accumulate(replace, next, used_column, column, put, previous);
  shared.flush_local(next);
  EXPECT_EQ(seen, sum_of(sum_of(put, added), added));
  EXPECT_EQ(previous, seen);
  shared.unlock_all();
  w.barrier();
  expect_column<T>(shared.local(), put);
  w.barrier();
}

// Complex numbers are records to mapped memory, too.
TEST_P(layout_windows, blocks_answer) {
  run([](world& w) {
    operate_on_column<std::int64_t>(w);
    operate_on_column<std::complex<double>>(w);
  });
}

TEST(window_errors, name_wrong_layouts) {
  const auto failure = [](void (*body)(window<int> & w, std::vector<int> & four)) {
    return testing::failure_in_worlds(2, [body](world& w) {
      auto shared = w.allocate_window<int>(4, {.name = "grid"});
      std::vector<int> four(4);
      shared.fence();
      if (w.rank() == 0) body(shared, four);
      w.barrier();
    });
  };
  testing::expect_parts(failure([](window<int>& w, std::vector<int>& four) {
                          const auto one = std::make_shared<const layout>(layout::contiguous(4));
                          w.get_accumulate(sum, 1, 0, one, four, four);
                        }),
                        {"window::get_accumulate (rank 0)", "'grid'", "16 bytes of data for a layout of 4 bytes"});
  testing::expect_parts(failure([](window<int>& w, std::vector<int>& four) {
                          static_cast<void>(w.rget_accumulate(sum, 1, 0, nullptr, four, four));
                        }),
                        {"window::get_accumulate", "the layout is a null pointer"});
}

}  // namespace
}  // namespace amity
