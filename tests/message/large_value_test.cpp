/// Values that take many packets: sent and received in pieces.

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "amity/base/random.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::next_of;

/// Has a codec of its own.
struct titled {
  std::string title;
  std::vector<std::uint32_t> pages;
  bool operator==(const titled&) const = default;
};

/// Says that it is larger than it is.
struct boaster {
  std::vector<int> numbers;
};

}  // namespace

template <>
struct codec<titled> {
  static std::size_t bytes(const titled& value) { return encoded_bytes(value.title) + encoded_bytes(value.pages); }
  static void write(byte_writer& to, const titled& value) {
    encode(to, value.title);
    encode(to, value.pages);
  }
  static titled read(byte_reader& from) {
    return {decode<std::string>(from), decode<std::vector<std::uint32_t>>(from)};
  }
};

template <>
struct codec<boaster> {
  static std::size_t bytes(const boaster& value) { return encoded_bytes(value.numbers) + 1; }
  static void write(byte_writer& to, const boaster& value) { encode(to, value.numbers); }
  static boaster read(byte_reader& from) { return {decode<std::vector<int>>(from)}; }
};

namespace {

// Larger than all credits of every fabric of the tests hold.
constexpr std::uint32_t numbers_many = 300'000;

std::vector<std::uint32_t> make_numbers(std::uint32_t seed, std::uint32_t count = numbers_many) {
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), seed);
  return numbers;
}

class large_values : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, large_values, testing::every_job(), testing::job_name);

class some_large_values : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, some_large_values, ::testing::ValuesIn(testing::some_jobs()), testing::job_name);

// Each rank sends to each rank, itself too, while all others do.
TEST_P(large_values, exchange_arrives_unchanged) {
  run([](world& w) {
    const auto with = [&](auto... policies) {
      std::uint64_t arrived = 0;
      auto numbers = w.message<std::vector<std::uint32_t>>(
          [&](const std::vector<std::uint32_t>& all) {
            EXPECT_EQ(all, make_numbers(all.front(), static_cast<std::uint32_t>(all.size())));
            ++arrived;
          },
          policies...);
      w.epoch([&] {
        for (rank_t to = 0; to < w.size(); ++to) numbers.send(to, make_numbers(static_cast<std::uint32_t>(to), 60'000));
        const auto kept = make_numbers(7, 20'000);
        for (rank_t to = 0; to < w.size(); ++to) numbers.send(to, kept);
      });
      EXPECT_EQ(arrived, 2 * static_cast<std::uint64_t>(w.size()));
      const message_counters counted = numbers.counters();
      EXPECT_EQ(counted.sent, arrived);
      EXPECT_EQ(counted.handled, arrived);
    };
    with();
    with(coalesce{});
  });
}

TEST_P(some_large_values, every_codec_arrives_unchanged) {
  run([](world& w) {
    const auto check = [&](const auto& value) {
      using type = std::remove_cvref_t<decltype(value)>;
      int arrived = 0;
      auto message = w.message<type>([&](const type& seen) {
        EXPECT_TRUE(seen == value);
        ++arrived;
      });
      w.epoch([&] {
        message.send(next_of(w), value);
        message.send(next_of(w), type(value));
      });
      EXPECT_EQ(arrived, 2);
    };
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < 3000; ++i) texts.emplace_back(i % 97, static_cast<char>('a' + i % 26));
    // Each codec once, some within others: each message type takes a second to compile.
    check(std::string(100'003, 's'));
    check(std::vector<std::vector<std::uint32_t>>{make_numbers(1, 5), {}, make_numbers(2, 30'000)});
    check(std::pair<std::vector<std::string>, std::vector<bool>>(texts, std::vector<bool>(70'001, true)));
    check(std::tuple<int, std::string, std::optional<std::vector<std::string>>>(1, std::string(30'000, 't'), texts));
    check(std::array<std::optional<std::string>, 2>{std::string(20'000, 'x'), std::string(30'000, 'y')});
    check(
        std::vector<titled>{{"a", make_numbers(1, 9)}, {"b", make_numbers(2, 20'000)}, {std::string(9'000, 'c'), {}}});
  });
}

// What handlers send without a credit is copied, or kept if it was moved.
TEST_P(large_values, sent_by_handlers_arrive_unchanged) {
  run([](world& w) {
    std::uint64_t ended = 0;
    auto numbers = w.message<std::vector<std::uint32_t>>(
        [&](const std::vector<std::uint32_t>& all, auto& self) {
          EXPECT_EQ(all, make_numbers(all.front(), 40'000));
          const std::uint32_t hops = all.front();
          if (hops == 0) {
            ++ended;
            return;
          }
          auto next = make_numbers(hops - 1, 40'000);
          if (hops % 2 == 0) {
            self.send(next_of(w), next);
            next.assign(next.size(), 0);
          } else {
            self.send(next_of(w), std::move(next));
          }
        },
        coalesce{});
    w.epoch([&] {
      for (int i = 0; i < 3; ++i) numbers.send(next_of(w), make_numbers(4, 40'000));
    });
    EXPECT_EQ(w.sum(ended), 3 * static_cast<std::uint64_t>(w.size()));
  });
}

// A send copies the value before a handler can change it, however large the value is.
TEST_P(large_values, changed_by_handlers_arrive_unchanged) {
  run([](world& w) {
    constexpr std::uint64_t rounds = 12;
    std::vector<std::uint32_t> own(30'000, 1);
    std::uint64_t damaged = 0, small = 0, large = 0;
    auto change = w.message<int>([&](int) {
      ++small;
      own.assign(20'000 + small % 10'000, static_cast<std::uint32_t>(small));
    });
    auto numbers = w.message<std::vector<std::uint32_t>>([&](const std::vector<std::uint32_t>& all) {
      ++large;
      for (const std::uint32_t each : all) {
        if (each != all.front()) {
          ++damaged;
          break;
        }
      }
      own.assign(30'000, all.front() + 1);
    });
    w.epoch([&] {
      for (std::uint64_t i = 0; i < rounds; ++i) {
        for (int k = 0; k < 100; ++k) change.send(next_of(w), k);
        numbers.send(next_of(w), own);
        numbers.send((w.rank() + w.size() - 1) % w.size(), own);
      }
    });
    EXPECT_EQ(damaged, 0u);
    EXPECT_EQ(small, rounds * 100);
    EXPECT_EQ(large, rounds * 2);
  });
}

TEST_P(some_large_values, with_policies_arrive_once) {
  run([](world& w) {
    using record = std::pair<std::uint32_t, std::vector<std::string>>;
    const auto make = [](std::uint32_t key) {
      return record(key, std::vector<std::string>(300, std::string(120, 'p')));
    };
    const auto to_rank = [&](const record& r) { return static_cast<rank_t>(r.first) % w.size(); };
    const auto key_of = [](const record& r) { return r.first; };
    const auto larger = [](const record& a, const record& b) { return a.second.size() < b.second.size() ? b : a; };
    const auto with = [&](auto... policies) {
      std::vector<std::uint32_t> arrived;
      auto records = w.message<record>(
          [&](const record& r) {
            EXPECT_TRUE(r == make(r.first));
            EXPECT_EQ(to_rank(r), w.rank());
            arrived.push_back(r.first);
          },
          policies...);
      constexpr std::uint32_t keys = 10;
      w.epoch([&] {
        if (w.rank() != 0) return;
        for (std::uint32_t key = 0; key < keys; ++key) {
          if constexpr (requires { records.send(make(key)); }) {
            records.send(make(key));
          } else {
            records.send(to_rank(make(key)), make(key));
          }
        }
      });
      std::uint64_t expected = 0;
      for (std::uint32_t key = 0; key < keys; ++key) expected += to_rank(make(key)) == w.rank() ? 1 : 0;
      EXPECT_EQ(arrived.size(), expected);
      const message_counters counted = records.counters();
      EXPECT_EQ(w.sum(counted.sent), keys);
      EXPECT_EQ(w.sum(counted.handled), keys);
    };
    with(address{to_rank});
    with(combine{key_of, larger, hash_table{4}});
    with(deliver_locally{.count = 2}, coalesce{});
    with(route{grid{}}, coalesce{});
    with(route{hypercube{}});
    with(parallel{key_of}, coalesce{});
    with(priority{-1});
    with(address{to_rank}, deliver_locally{}, route{grid{}}, parallel{key_of}, coalesce{}, priority{2});
  });
}

TEST_P(some_large_values, as_arguments_of_async_arrive_unchanged) {
  run([](world& w) {
    struct tally {
      std::uint64_t calls = 0;
    } own;
    const auto shared_own = w.share(own);
    w.epoch([&] {
      for (rank_t to = 0; to < w.size(); ++to) {
        w.async(
            to,
            [](tally& here, const std::vector<std::uint32_t>& numbers, const std::string& text, int count) {
              EXPECT_EQ(numbers, make_numbers(3, 20'000));
              EXPECT_EQ(text, std::string(static_cast<std::size_t>(count), 'a'));
              ++here.calls;
            },
            shared_own, make_numbers(3, 20'000), std::string(25'000, 'a'), 25'000);
      }
    });
    EXPECT_EQ(own.calls, static_cast<std::uint64_t>(w.size()));
  });
}

// Packets of low priority and messages of another type are under way at the same time.
TEST_P(some_large_values, of_low_priority_arrive_beside_others) {
  run([](world& w) {
    std::uint64_t low = 0, high = 0;
    auto numbers = w.message<std::vector<std::uint32_t>>(
        [&](const std::vector<std::uint32_t>& all) {
          EXPECT_EQ(all, make_numbers(1, 50'000));
          ++low;
        },
        priority{-5});
    auto ticks = w.message<int>([&](int) { ++high; });
    w.epoch([&] {
      for (int i = 0; i < 4; ++i) {
        numbers.send(next_of(w), make_numbers(1, 50'000));
        for (int k = 0; k < 200; ++k) ticks.send(next_of(w), k);
      }
    });
    EXPECT_EQ(low, 4u);
    EXPECT_EQ(high, 800u);
  });
}

// All packets of a rank but one are under way to a peer that does the same: none of the two may wait for the other.
TEST(large_value, two_ranks_without_credits_finish) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    testing::run_worlds(
        testing::simulated("sim", {.seed = seed, .delay_ns_max = 3000, .reorder_percent = 30, .credits = 2}), 3,
        [](world& w) {
          std::uint64_t arrived = 0;
          auto numbers = w.message<std::vector<std::uint32_t>>([&](const std::vector<std::uint32_t>& all) {
            EXPECT_EQ(all, make_numbers(2, 20'000));
            ++arrived;
          });
          auto tick = w.message<int>([&](int, auto& self) {
            if (arrived == ~std::uint64_t{0}) self.send(0, 1);
          });
          w.epoch([&] {
            const auto own = make_numbers(2, 20'000);
            for (rank_t to = 0; to < w.size(); ++to) {
              for (int i = 0; i < 5; ++i) tick.send(to, i);
              numbers.send(to, own);
            }
          });
          EXPECT_EQ(arrived, static_cast<std::uint64_t>(w.size()));
        });
  }
}

// A message belongs to the generation of the handler that sent it, whenever its pieces leave.
TEST(large_value, declared_depth_counts_messages_once) {
  constexpr std::uint32_t depth = 3;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    testing::run_worlds(
        testing::simulated("sim", {.seed = seed, .delay_ns_max = 3000, .reorder_percent = 30, .credits = 3}), 3,
        [](world& w) {
          std::uint64_t arrived = 0;
          auto numbers = w.message<std::vector<std::uint32_t>>([&](const std::vector<std::uint32_t>& all, auto& self) {
            ++arrived;
            const std::uint32_t generation = all.front();
            EXPECT_EQ(all, make_numbers(generation, 5000));
            if (generation == depth) return;
            auto next = make_numbers(generation + 1, 5000);
            self.send(next_of(w), next);
            self.send(w.rank(), std::move(next));
          });
          const auto declared = w.request_depth(depth);
          w.epoch([&] { numbers.send(next_of(w), make_numbers(0, 5000)); });
          EXPECT_EQ(w.sum(arrived), 15 * static_cast<std::uint64_t>(w.size()));
        });
  }
}

TEST(large_value, wrong_measure_fails_before_sending) {
  const std::string text = testing::failure_in_worlds(2, [](world& w) {
    auto message = w.message<boaster>([](const boaster&) {});
    w.epoch([&] {
      if (w.rank() == 0) message.send(1, boaster{std::vector<int>(50'000)});
    });
  });
  EXPECT_EQ(text,
            "amity: writing a message of type 'amity::{anonymous}::boaster' (rank 0): 1 bytes were not written; let "
            "codec<T>::bytes return exactly what codec<T>::write writes");
}

// What a handler cannot send is copied, within the bound of memory.
TEST(large_value, copy_beyond_bound_fails) {
  const settings config = testing::configured({{"AMITY_CORE_SPILL_BYTES_MAX", "1m"}});
  const auto failure = [&](bool moved) {
    return testing::failure_in_worlds(
        2,
        [&](world& w) {
          std::uint64_t arrived = 0;
          auto numbers = w.message<std::vector<std::uint32_t>>([&](const auto&) { ++arrived; });
          auto start = w.message<int>([&](int) {
            auto large = make_numbers(0, 1'000'000);
            if (moved) return numbers.send(1, std::move(large));
            numbers.send(1, large);
          });
          w.epoch([&] {
            if (w.rank() == 0) start.send(0, 1);
          });
          EXPECT_EQ(arrived, w.rank() == 1 ? 1u : 0u);
        },
        config);
  };
  EXPECT_EQ(failure(true), "");
  testing::expect_parts(
      failure(false), {"of type 'std::vector<unsigned int>' to rank 1, would exceed AMITY_CORE_SPILL_BYTES_MAX=1048576",
                       "move large values into their sends"});
}

// Each half is below the bound, and their sum is not.
TEST(large_value, copies_and_small_messages_share_bound) {
  struct small {
    std::byte content[200];
  };
  const settings config = testing::configured({{"AMITY_CORE_SPILL_BYTES_MAX", "1m"}});
  const auto failure = [&](bool send_large) {
    return testing::failure_in_worlds(
        2,
        [&](world& w) {
          auto numbers = w.message<std::vector<std::uint32_t>>([](const auto&) {});
          auto others = w.message<small>([](const small&) {});
          auto start = w.message<int>([&](int) {
            const auto large = make_numbers(0, 200'000);
            if (send_large) numbers.send(1, large);
            for (int i = 0; i < 2'500; ++i) others.send(1, {});
          });
          w.epoch([&] {
            if (w.rank() == 0) start.send(0, 1);
          });
        },
        config);
  };
  EXPECT_EQ(failure(false), "");
  testing::expect_parts(failure(true), {"and 328 more, of type"});
}

// The bound is about handlers. A send outside them that must let handlers run copies its rest, however large.
TEST(large_value, send_to_slow_rank_exceeds_bound) {
  const settings config = testing::configured(
      {{"AMITY_CORE_SPILL_BYTES_MAX", "64k"}, {"AMITY_SIM_FAULTS", "stop:rank=1,at=50us,for=60ms"}});
  testing::run_worlds(
      testing::simulated("sim", {}), 2,
      [&](world& w) {
        std::uint64_t arrived = 0;
        auto numbers = w.message<std::vector<std::uint32_t>>([&](const auto& each) { arrived += each.size(); });
        auto small = w.message<int>([](int) {});
        const auto large = make_numbers(0, 1'000'000);
        w.epoch([&] {
          if (w.rank() == 1) small.send(0, 1);
          if (w.rank() == 0) numbers.send(1, large);
        });
        EXPECT_EQ(arrived, w.rank() == 1 ? large.size() : 0);
      },
      config);
}

}  // namespace
}  // namespace amity
