/// Values of every size and alignment arrive as they were sent, where their type wants to lie.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "tests/support/worlds.hpp"

namespace amity {
namespace {

class value_types : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, value_types, ::testing::ValuesIn(testing::some_jobs()), testing::job_name);

/// A value that tells by itself whether it is whole.
template <std::size_t Bytes, std::size_t Align = 1>
struct alignas(Align) block {
  std::array<std::uint8_t, Bytes> content;

  explicit block(std::uint8_t first) {
    for (std::size_t i = 0; i < Bytes; ++i) content[i] = at(first, i);
  }
  std::uint8_t first() const { return content[0]; }
  bool whole() const {
    for (std::size_t i = 0; i < Bytes; ++i) {
      if (content[i] != at(content[0], i)) return false;
    }
    return reinterpret_cast<std::uintptr_t>(this) % Align == 0;
  }

 private:
  static std::uint8_t at(std::uint8_t first, std::size_t i) { return static_cast<std::uint8_t>(first + 37 * i); }
};

/// Trivially copyable, but neither copied nor moved into being by C++.
struct assigned_only : block<24, 8> {
  using block::block;
  assigned_only(const assigned_only&) = delete;
  assigned_only& operator=(const assigned_only&) = default;
};
static_assert(std::is_trivially_copyable_v<assigned_only> && !std::is_default_constructible_v<assigned_only> &&
              !std::is_move_constructible_v<assigned_only>);

struct moved_only : block<20, 4> {
  using block::block;
  moved_only(moved_only&&) = default;
  moved_only& operator=(moved_only&&) = default;
};
static_assert(std::is_trivially_copyable_v<moved_only> && !std::is_copy_constructible_v<moved_only>);

constexpr int copies = 3;
constexpr std::uint8_t to_be_copied = 128;

/// What has arrived; apart from what is compiled for each type.
struct arrivals {
  std::uint64_t values = 0, sum = 0, damaged = 0;

  /// Returns whether the value is to be sent on.
  bool take(std::uint8_t first, bool whole) {
    if (!whole) ++damaged;
    if (first >= to_be_copied) return true;
    ++values;
    sum += first;
    return false;
  }
  void expect_all(world& w, int count) const {
    const auto pairs = static_cast<std::uint64_t>(w.size()) * static_cast<std::uint64_t>(w.size());
    EXPECT_EQ(damaged, 0u);
    EXPECT_EQ(w.sum(values), pairs * static_cast<std::uint64_t>(count * copies));
    EXPECT_EQ(w.sum(sum), pairs * static_cast<std::uint64_t>(copies * count * (count - 1) / 2));
  }
};

/// Every rank sends `count` values to every rank, from where handlers send three of each on: more than there are
/// credits for.
template <class T, class... Policies>
void exchange(world& w, int count, Policies... policies) {
  arrivals seen;
  auto message = w.message<T>(
      [&](const T& value, auto& self) {
        if (!seen.take(value.first(), value.whole())) return;
        const T next(static_cast<std::uint8_t>(value.first() - to_be_copied));
        for (int i = 1; i <= copies; ++i) self.send((w.rank() + i) % w.size(), next);
      },
      policies...);
  w.epoch([&] {
    for (rank_t dest = 0; dest < w.size(); ++dest) {
      for (int i = 0; i < count; ++i) message.send(dest, T(static_cast<std::uint8_t>(to_be_copied + i)));
    }
  });
  seen.expect_all(w, count);
}

template <class T>
void exchange_in_all_ways(world& w, int count) {
  exchange<T>(w, count);
  exchange<T>(w, count, coalesce{});
  exchange<T>(w, count, coalesce{.bytes = 96});
}

TEST_P(value_types, of_small_sizes) {
  run([](world& w) {
    exchange_in_all_ways<block<1>>(w, 100);
    exchange_in_all_ways<block<8, 8>>(w, 100);
    exchange_in_all_ways<block<12, 4>>(w, 100);
    // The short road of shared memory ends at 48 bytes.
    exchange_in_all_ways<block<47>>(w, 30);
    exchange_in_all_ways<block<48>>(w, 30);
    exchange_in_all_ways<block<49>>(w, 30);
  });
}

TEST_P(value_types, of_large_alignment) {
  run([](world& w) {
    exchange_in_all_ways<block<16, 16>>(w, 60);
    exchange_in_all_ways<block<32, 32>>(w, 60);
    exchange_in_all_ways<block<96, 32>>(w, 40);
    exchange_in_all_ways<block<64, 64>>(w, 40);
    exchange_in_all_ways<block<192, 64>>(w, 20);
  });
}

TEST_P(value_types, larger_than_a_coalescing_buffer_or_a_packet) {
  run([](world& w) {
    exchange_in_all_ways<block<500, 4>>(w, 10);
    exchange_in_all_ways<block<5000, 8>>(w, 10);
    exchange_in_all_ways<block<100'000, 32>>(w, 2);
  });
}

TEST_P(value_types, that_cannot_be_constructed_by_copying) {
  run([](world& w) {
    exchange_in_all_ways<assigned_only>(w, 30);
    exchange_in_all_ways<moved_only>(w, 30);
  });
}

struct nothing {};

TEST_P(value_types, without_content) {
  run([](world& w) {
    const auto count_arrivals = [&](auto... policies) {
      std::uint64_t arrived = 0;
      auto message = w.message<nothing>([&](nothing) { ++arrived; }, policies...);
      w.epoch([&] {
        for (int i = 0; i < 100; ++i) message.send((w.rank() + 1) % w.size(), {});
      });
      EXPECT_EQ(arrived, 100u);
    };
    count_arrivals();
    count_arrivals(coalesce{});
    count_arrivals(coalesce{.bytes = 7});
  });
}

// All messages of a packet lie where their type wants to lie, also if the packet had to wait for a credit.
TEST_P(value_types, aligned_in_spans_too) {
  run([](world& w) {
    using wide = block<32, 32>;
    std::uint64_t values = 0, damaged = 0;
    auto message = w.message<wide>(
        [&](std::span<const wide> batch, auto& self) {
          for (const wide& value : batch) {
            if (!value.whole()) ++damaged;
            ++values;
            if (value.first() == 0) continue;
            const wide next(static_cast<std::uint8_t>(value.first() - 1));
            for (int i = 0; i < 2; ++i) self.send((w.rank() + 1) % w.size(), next);
          }
        },
        coalesce{.count = 2});
    w.epoch([&] { message.send((w.rank() + 1) % w.size(), wide(8)); });
    EXPECT_EQ(damaged, 0u);
    EXPECT_EQ(values, 511u);
  });
}

}  // namespace
}  // namespace amity
