/// Operations in blocks: those that answer, the request forms, and blocks at the origin.

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "amity/fabric/sim/sim.hpp"
#include "amity/window/window.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"
#include "tests/window/remote_counter.hpp"

namespace amity {
namespace {

using testing::next_of;
using enum accumulate_op;

class layout_windows : public testing::on_paths {};
INSTANTIATE_TEST_SUITE_P(window, layout_windows, ::testing::ValuesIn(testing::jobs_of_windows({1, 2, 3, 4}, 3)),
                         testing::name_of_job);

/// A matrix by rows. One column takes several packets of some fabrics.
constexpr std::size_t matrix_rows = 300, matrix_columns = 5, used_column = 2;

template <class T>
std::shared_ptr<const layout> one_column() {
  return std::make_shared<const layout>(layout::strided(matrix_rows, sizeof(T), matrix_columns * sizeof(T)));
}

template <class T>
std::vector<T> numbers_from(int first) {
  std::vector<T> made;
  for (std::size_t i = 0; i < matrix_rows; ++i) made.push_back(static_cast<T>(first + static_cast<int>(i % 100)));
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
    ASSERT_EQ(matrix[i], i % matrix_columns == used_column ? values[i / matrix_columns] : T(0)) << i;
}

// A complex number after a real one: its offset is no multiple of its size.
TEST_P(layout_windows, elements_are_aligned_to_their_parts) {
  run([](world& w) {
    auto shared = w.allocate_window<double>(6);
    const auto seconds =
        std::make_shared<const layout>(layout::indexed({{.offset = 8, .bytes = 16}, {.offset = 32, .bytes = 16}}));
    const std::vector<std::complex<double>> added{{1, 2}, {3, 4}};
    shared.fence();
    shared.as<std::complex<double>>().accumulate(sum, next_of(w), 0, seconds, added);
    shared.fence();
    EXPECT_TRUE(std::ranges::equal(shared.local(), std::array<double, 6>{0, 1, 2, 0, 3, 4}));
    w.barrier();
  });
}

/// A matrix of the program whose column has the data of operations.
template <class T>
class own_matrix {
 public:
  explicit own_matrix(const std::vector<T>& column) : elements_(matrix_rows * own_columns, T(-3)) { set(column); }

  /// The layout is given up when the operation has begun.
  layout_span<T> column() {
    return {elements_.data() + own_column,
            std::make_shared<const layout>(
                layout::strided(matrix_rows, sizeof(T), static_cast<std::ptrdiff_t>(own_columns * sizeof(T))))};
  }
  layout_span<const T> operands() { return {elements_.data() + own_column, column().blocks()}; }
  void set(const std::vector<T>& column) {
    for (std::size_t i = 0; i < matrix_rows; ++i) elements_[i * own_columns + own_column] = column[i];
  }
  void expect(const std::vector<T>& column) const {
    for (std::size_t i = 0; i < elements_.size(); ++i)
      ASSERT_EQ(elements_[i], i % own_columns == own_column ? column[i / own_columns] : T(-3)) << i;
  }

 private:
  static constexpr std::size_t own_columns = 3, own_column = 1;
  std::vector<T> elements_;
};

/// The same interface to contiguous data.
template <class T>
class own_column {
 public:
  explicit own_column(const std::vector<T>& column) : elements_(column) {}

  layout_span<T> column() { return std::span(elements_); }
  layout_span<const T> operands() { return std::span<const T>(elements_); }
  void set(const std::vector<T>& column) { std::ranges::copy(column, elements_.begin()); }
  void expect(const std::vector<T>& column) const { EXPECT_EQ(elements_, column); }

 private:
  std::vector<T> elements_;
};

template <template <class> class Own, class T>
void operate_on_columns(world& w) {
  auto shared = w.allocate_window<T>(matrix_rows * matrix_columns);
  const auto column = one_column<T>();
  const rank_t next = next_of(w);
  const std::vector<T> put = numbers_from<T>(1), added = numbers_from<T>(7), nothing(matrix_rows, T(-1));
  const std::vector<T> once = sum_of(put, added), twice = sum_of(once, added);
  Own<T> ours(put), seen(nothing), previous(nothing);

  shared.lock_all();
  shared.rput(next, used_column, column, ours.operands()).wait();
  ours.set(added);  // the buffer may change
  shared.flush(next);
  shared.rget(next, used_column, column, seen.column()).wait();
  seen.expect(put);
  shared.raccumulate(sum, next, used_column, column, ours.operands()).wait();
  window_request combined = shared.rget_accumulate(sum, next, used_column, column, ours.operands(), previous.column());
  while (!combined.test()) {
  }
  previous.expect(once);
  shared.get_accumulate(no_op, next, used_column, column, {}, seen.column());
  shared.flush_local(next);
  seen.expect(twice);
  ours.set(put);
  shared.get_accumulate(replace, next, used_column, column, ours.operands(), previous.column());
  shared.flush_local_all();
  previous.expect(twice);
  seen.set(nothing);
  shared.get(next, used_column, column, seen.column());
  shared.flush_all();
  seen.expect(put);
  seen.set(nothing);
  shared.get(next, used_column, column, seen.column());
  shared.unlock_all();
  seen.expect(put);
  w.barrier();
  expect_column<T>(shared.local(), put);
  w.barrier();
}

// Complex numbers are records to mapped memory, too.
TEST_P(layout_windows, blocks_answer) {
  run([](world& w) {
    operate_on_columns<own_column, std::int64_t>(w);
    operate_on_columns<own_column, std::complex<double>>(w);
  });
}

TEST_P(layout_windows, blocks_at_origin) {
  run([](world& w) {
    operate_on_columns<own_matrix, std::int64_t>(w);
    operate_on_columns<own_matrix, std::complex<double>>(w);
  });
}

// Operations that wait for posts, and results that the ends of all kinds of epochs wait for.
TEST_P(layout_windows, results_are_in_blocks_when_epochs_end) {
  run([](world& w) {
    auto shared = w.allocate_window<std::int64_t>(2 * matrix_rows * matrix_columns);
    constexpr std::size_t half = matrix_rows * matrix_columns;
    const auto column = one_column<std::int64_t>();
    const std::array<rank_t, 1> next{next_of(w)}, previous{testing::previous_of(w)};
    const std::vector<std::int64_t> nothing(matrix_rows, -1), put = numbers_from<std::int64_t>(5);
    const std::vector<std::int64_t> there = numbers_from<std::int64_t>(9);
    own_matrix<std::int64_t> ours(put), seen(nothing), other(nothing);
    for (std::size_t i = 0; i < matrix_rows; ++i) shared.local()[half + i * matrix_columns] = there[i];
    const auto check = [&] {
      seen.expect(there);
      other.expect(there);
      for (own_matrix<std::int64_t>* const each : {&seen, &other}) each->set(nothing);
    };
    bool arrives_early = false;
    const auto operate = [&] {
      shared.put(next[0], used_column, column, ours.operands());
      shared.get(next[0], half, column, seen.column());
      shared.get(next[0], half, column, other.column());
      for (int i = 0; arrives_early && i < 5; ++i) w.barrier();
    };
    const auto expect_put = [&] {
      expect_column<std::int64_t>(shared.local().first(half), put);
      std::ranges::fill(shared.local().first(half), 0);
    };

    for (const bool early : {false, true}) {
      arrives_early = early;
      w.barrier();
      shared.start(next);
      shared.post(previous);
      operate();
      shared.complete();
      check();
      shared.wait();
      expect_put();

      shared.fence(window_assert::no_precede);
      operate();
      shared.fence(window_assert::no_succeed);
      check();
      expect_put();
      w.barrier();

      shared.lock(lock_kind::exclusive, next[0]);
      operate();
      shared.unlock(next[0]);
      check();
      w.barrier();
      expect_put();
      w.barrier();
    }
  });
}

// A request is complete when its blocks have their data, however many others are under way.
TEST_P(layout_windows, requests_wait_for_their_blocks) {
  run([](world& w) {
    constexpr std::size_t count = 300;
    auto shared = w.allocate_window<std::int64_t>(2 * count);
    std::iota(shared.local().begin(), shared.local().end(), 1);
    w.barrier();
    const rank_t next = next_of(w);
    const auto pair = std::make_shared<const layout>(layout::strided(2, 8, 8 * count));
    const auto apart = std::make_shared<const layout>(layout::strided(2, 8, 16));
    std::vector<std::array<std::int64_t, 3>> seen(count);
    std::vector<window_request> requests;
    shared.lock_all();
    for (std::size_t i = 0; i < count; ++i) requests.push_back(shared.rget(next, i, pair, {seen[i].data(), apart}));
    for (std::size_t i = 0; i < count; ++i) {
      if (i % 2 == 0) {
        requests[i].wait();
      } else {
        while (!requests[i].test()) {
        }
      }
      const auto first = static_cast<std::int64_t>(i + 1);
      ASSERT_EQ(seen[i], (std::array<std::int64_t, 3>{first, 0, first + static_cast<std::int64_t>(count)})) << i;
    }
    shared.unlock_all();
    w.barrier();
  });
}

// The answer arrives while another target is flushed.
TEST_P(layout_windows, local_flush_ends_results_that_have_arrived) {
  run([](world& w) {
    auto shared = w.allocate_window<std::int64_t>(4);
    std::iota(shared.local().begin(), shared.local().end(), 1);
    w.barrier();
    const rank_t next = next_of(w), previous = testing::previous_of(w);
    const auto apart = std::make_shared<const layout>(layout::strided(2, 8, 16));
    const auto two = std::make_shared<const layout>(layout::contiguous(16));
    std::array<std::int64_t, 3> seen{};
    std::int64_t other = 0;
    shared.lock_all();
    shared.get(next, 1, two, {seen.data(), apart});
    for (int i = 0; i < 20; ++i) {
      shared.get(previous, 3, other);
      shared.flush(previous);
    }
    shared.flush_local(next);
    EXPECT_EQ(seen, (std::array<std::int64_t, 3>{2, 0, 3}));
    shared.unlock_all();
    w.barrier();
  });
}

// One block at the origin and one at the target take the paths of contiguous data.
TEST_P(layout_windows, single_blocks_arrive) {
  run([](world& w) {
    auto shared = w.allocate_window<std::int64_t>(100);
    const rank_t next = next_of(w);
    std::vector<std::int64_t> ours(60), seen(60);
    std::iota(ours.begin(), ours.end(), 1);
    const auto block = [](std::ptrdiff_t offset) {
      return std::make_shared<const layout>(layout::indexed({{.offset = offset, .bytes = 50 * 8}}));
    };
    shared.fence(window_assert::no_precede);
    shared.put(next, 3, block(0), {ours.data(), block(8)});
    shared.fence();
    shared.get(next, 2, block(8), {seen.data(), block(16)});
    shared.fence(window_assert::no_succeed);
    for (std::size_t i = 0; i < 60; ++i) ASSERT_EQ(seen[i], i < 2 || i >= 52 ? 0 : static_cast<std::int64_t>(i)) << i;
    EXPECT_EQ(shared.local()[2], 0);
    EXPECT_EQ(shared.local()[3], 2);
    EXPECT_EQ(shared.local()[52], 51);
    EXPECT_EQ(shared.local()[53], 0);
  });
}

/// Bytes that rank 0 keeps at most while it puts from blocks in an epoch that starts none before its end.
std::size_t peak_of_packed_puts(const testing::setting_changes& changes) {
  std::size_t peak = 0;
  testing::run_worlds(
      testing::simulated("sim", {}), 2,
      [&](world& w) {
        constexpr std::size_t count = 2000, parts = 64;
        auto shared = w.allocate_window<std::byte>(count * parts);
        const auto there = std::make_shared<const layout>(layout::contiguous(parts));
        const auto apart = std::make_shared<const layout>(layout::strided(parts, 1, 2));
        const std::vector<std::byte> ones(2 * parts, std::byte{1});
        shared.fence(window_assert::no_precede);
        if (w.rank() == 0) {
          for (std::size_t i = 0; i < count; ++i) shared.put(1, i * parts, there, {ones.data(), apart});
          peak = w.endpoint().own_engine().bound().bytes_peak();
        }
        shared.fence(window_assert::no_succeed);
        const std::ptrdiff_t arrived = std::ranges::count(shared.local(), std::byte{1});
        EXPECT_EQ(arrived, w.rank() == 1 ? static_cast<std::ptrdiff_t>(count * parts) : 0);
      },
      testing::configured(changes, testing::configured({{"AMITY_WINDOW_PROTOCOL", "send_recv"}})));
  return peak;
}

TEST(queued_operations, copies_of_blocks_count_in_bound) {
  EXPECT_GE(peak_of_packed_puts({}), 2000u * 64u);
  constexpr std::size_t bound = std::size_t{128} << 10;
  EXPECT_LE(peak_of_packed_puts(
                {{"AMITY_CORE_SPILL_BYTES_HIGH_WATER", "32k"}, {"AMITY_CORE_SPILL_BYTES_MAX", std::to_string(bound)}}),
            bound);
}

// Some put is always under way, so that copies stay. Beyond half of the bound, an operation waits for all of them.
std::size_t peak_of_remote_puts(const testing::setting_changes& changes) {
  std::size_t peak = 0;
  fabric::sim::run(2, {.latency_ns = 1'000'000}, [&](fabric::fabric& whole) {
    fabric::testing::remote_counter own(whole);
    world w(own, testing::configured(changes));
    constexpr std::size_t count = 500, parts = 4096;
    auto shared = w.allocate_window<std::byte>(count * parts, {.protocol = window_protocol::rma});
    const auto there = std::make_shared<const layout>(layout::contiguous(parts));
    const auto apart = std::make_shared<const layout>(layout::strided(parts, 1, 2));
    std::vector<std::byte> ones(2 * parts, std::byte{1});
    shared.lock_all();
    if (w.rank() == 0) {
      for (std::size_t i = 0; i < count; ++i) shared.put(1, i * parts, there, {ones.data(), apart});
      std::ranges::fill(ones, std::byte{2});
      shared.flush(1);
      peak = own.bytes_peak();
    }
    shared.unlock_all();
    w.barrier();
    const std::ptrdiff_t arrived = std::ranges::count(shared.local(), std::byte{1});
    EXPECT_EQ(arrived, w.rank() == 1 ? static_cast<std::ptrdiff_t>(count * parts) : 0);
    w.barrier();
    return 0;
  });
  return peak;
}

TEST(queued_operations, copies_for_remote_memory_are_bounded) {
  EXPECT_GE(peak_of_remote_puts({}), 500u * 4096u);
  constexpr std::size_t bound = std::size_t{128} << 10;
  const std::size_t peak = peak_of_remote_puts(
      {{"AMITY_CORE_SPILL_BYTES_HIGH_WATER", "32k"}, {"AMITY_CORE_SPILL_BYTES_MAX", std::to_string(bound)}});
  EXPECT_GT(peak, bound / 4);
  EXPECT_LE(peak, bound / 2);
}

// The result has arrived; the call would copy it to its blocks.
TEST(window_errors, handlers_take_no_results) {
  const auto failure = [](void (*take)(window_request&)) {
    return testing::failure_in_worlds(2, [take](world& w) {
      auto shared = w.allocate_window<std::int64_t>(2);
      std::array<std::int64_t, 3> seen{};
      const auto two = std::make_shared<const layout>(layout::contiguous(16));
      const auto apart = std::make_shared<const layout>(layout::strided(2, 8, 16));
      std::optional<window_request> request;
      auto ask = w.message<int>([&](const int&) { take(*request); });
      shared.lock_all();
      if (w.rank() == 0) {
        request = shared.rget(1, 0, two, {seen.data(), apart});
        shared.flush(0);
        for (int i = 0; i < 1000; ++i) static_cast<void>(w.poll());
      }
      w.epoch([&] {
        if (w.rank() == 0) ask.send(0, 1);
      });
      shared.unlock_all();
    });
  };
  testing::expect_parts(failure([](window_request& of) { static_cast<void>(of.test()); }),
                        {"window_request::test", "handler"});
  testing::expect_parts(failure([](window_request& of) { of.wait(); }), {"window_request::wait", "handler"});
}

}  // namespace
}  // namespace amity
