/// Policies that drop, combine and address messages: each keeps its laws alone and in every order that is legal.

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "amity/base/random.hpp"
#include "offers.hpp"
#include "spreading.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::failure_in_worlds;
using testing::for_all_orders;
using testing::key_of;
using testing::offer;
using testing::run_spreading;
using testing::run_worlds;
using testing::simulated;
using testing::smaller;

class policies : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, policies, testing::every_job(), testing::job_name);

TEST_P(policies, in_every_legal_order_give_the_same_result) {
  run([](world& w) {
    for_all_orders(direct_mapped{16}, w.size(), [&](const auto&... chosen) { run_spreading(w, 1, chosen...); });
    for_all_orders(hash_table{16}, w.size(), [&](const auto&... chosen) { run_spreading(w, 2, chosen...); });
  });
}

TEST(policies_at_random, give_the_same_result_whatever_the_network_does) {
  for (std::uint64_t seed = 1; seed <= testing::cases(200); ++seed) {
    splitmix64 random(splitmix64::mix(seed));
    const fabric::sim::sim_options rough{.seed = seed,
                                         .delay_ns_max = random.below(20'000),
                                         .reorder_percent = static_cast<std::uint32_t>(random.below(50)),
                                         .credits = static_cast<std::uint32_t>(1 + random.below(4)),
                                         .packet_bytes = 528};
    const std::size_t slots = 1 + random.below(64);
    run_worlds(simulated("rough", rough), static_cast<rank_t>(1 + random.below(9)), [&](world& w) {
      run_spreading(w, seed, unique{direct_mapped{slots}}, combine{key_of, smaller, hash_table{slots}}, coalesce{});
    });
  }
}

TEST(unique, drops_what_was_sent_before_until_the_epoch_ends) {
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    std::multiset<int> handled;
    auto visit = w.message<int>([&](int vertex) { handled.insert(vertex); }, unique{}, coalesce{});
    for (int epoch = 1; epoch <= 2; ++epoch) {
      w.epoch([&] {
        if (w.rank() != 0) return;
        for (const int vertex : {1, 2, 1, 1, 3, 2}) visit.send(1, vertex);
        visit.send(0, 1);
      });
      EXPECT_EQ(visit.counters().dropped, w.rank() == 0 ? 3u * static_cast<unsigned>(epoch) : 0u);
    }
    EXPECT_EQ(handled, w.rank() == 1 ? (std::multiset<int>{1, 1, 2, 2, 3, 3}) : (std::multiset<int>{1, 1}));
  });
}

TEST(unique, equal_messages_reach_different_ranks) {
  for (const std::size_t slots : {1, 2, 8}) {
    run_worlds(simulated("sim", {}), 4, [&](world& w) {
      int mapped = 0, hashed = 0;
      auto by_cache = w.message<int>([&](int) { ++mapped; }, unique{direct_mapped{slots}});
      auto by_table = w.message<int>([&](int) { ++hashed; }, unique{hash_table{slots}});
      w.epoch([&] {
        for (rank_t dest = 0; dest < w.size(); ++dest) {
          by_cache.send(dest, 7);
          by_table.send(dest, 7);
        }
      });
      EXPECT_EQ(mapped, w.size()) << slots;
      EXPECT_EQ(hashed, w.size()) << slots;
    });
  }
}

TEST(unique, compares_strings_and_plain_structures) {
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    std::vector<std::string> texts;
    std::vector<std::uint32_t> keys;
    auto text = w.message<std::string>([&](const std::string& s) { texts.push_back(s); }, unique{}, coalesce{});
    auto key = w.message<offer>([&](const offer& o) { keys.push_back(o.key); }, unique{hash_table{}});
    w.epoch([&] {
      if (w.rank() != 0) return;
      for (const char* const each : {"one", "two", "one"}) text.send(1, each);
      for (const std::uint32_t each : {4u, 4u, 5u}) key.send(1, {.key = each, .value = 0});
      key.send(1, {.key = 4, .value = 1});
    });
    if (w.rank() == 0) return;
    EXPECT_EQ(texts, (std::vector<std::string>{"one", "two"}));
    EXPECT_EQ(keys, (std::vector<std::uint32_t>{4, 5, 4}));
  });
}

TEST(unique, a_hash_table_remembers_what_a_direct_mapped_cache_has_lost) {
  const auto dropped_with = [](auto cache) {
    std::uint64_t dropped = 0;
    run_worlds(simulated("sim", {}), 1, [&](world& w) {
      auto visit = w.message<int>([](int) {}, unique{cache}, coalesce{});
      w.epoch([&] {
        for (int round = 0; round < 2; ++round) {
          for (int vertex = 0; vertex < 40; ++vertex) visit.send(0, vertex);
        }
      });
      dropped = visit.counters().dropped;
    });
    return dropped;
  };
  EXPECT_LT(dropped_with(direct_mapped{64}), 40u);
  EXPECT_EQ(dropped_with(hash_table{64}), 40u);
  EXPECT_EQ(dropped_with(direct_mapped{1 << 16}), 40u);
}

constexpr auto added_up = [](const offer& a, const offer& b) {
  return offer{.key = a.key, .value = a.value + b.value};
};

TEST(combine, makes_one_message_of_several_with_one_key) {
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    std::vector<offer> handled;
    auto add = w.message<offer>([&](const offer& o) { handled.push_back(o); }, combine{key_of, added_up}, coalesce{});
    w.epoch([&] {
      if (w.rank() != 0) return;
      for (std::uint32_t i = 0; i < 100; ++i) add.send(1, {.key = i % 2, .value = i});
    });
    if (w.rank() == 0) {
      EXPECT_EQ(add.counters().combined, 98u);
      EXPECT_EQ(add.counters().sent, 2u);
    } else {
      ASSERT_EQ(handled.size(), 2u);
      EXPECT_EQ(handled[0].value + handled[1].value, 99u * 100 / 2);
    }
  });
}

// Where keys are all different the cache is only in the way; it is looked at again later, and finds what repeats then.
TEST(combine, lets_messages_pass_while_there_is_nothing_to_combine) {
  run_worlds(simulated("sim", {}), 1, [](world& w) {
    constexpr std::uint32_t slots = 64, passing = 64 * slots;
    std::uint64_t sum = 0;
    auto add = w.message<offer>([&](const offer& o) { sum += o.value; },
                                combine{key_of, added_up, direct_mapped{slots}}, coalesce{});
    w.epoch([&] {
      for (std::uint32_t key = 0; key < 2 * slots; ++key) add.send(0, {.key = key, .value = 1});
      for (std::uint32_t i = 0; i < passing; ++i) add.send(0, {.key = 7, .value = 1});
      EXPECT_EQ(add.counters().combined, 0u);
      for (std::uint32_t i = 0; i < passing; ++i) add.send(0, {.key = 7, .value = 1});
      EXPECT_GE(add.counters().combined, passing - 2);
    });
    EXPECT_EQ(sum, 2 * slots + 2 * passing);
  });
}

TEST(combine, keeps_destinations_apart) {
  run_worlds(simulated("sim", {}), 3, [](world& w) {
    std::uint64_t sum = 0;
    auto add = w.message<offer>([&](const offer& o) { sum += o.value; }, combine{key_of, added_up});
    w.epoch([&] {
      for (rank_t dest = 0; dest < w.size(); ++dest) {
        for (std::uint32_t i = 0; i < 10; ++i) add.send(dest, {.key = 7, .value = static_cast<std::uint32_t>(dest)});
      }
    });
    EXPECT_EQ(sum, 30u * static_cast<unsigned>(w.rank()));
  });
}

TEST(combine, what_is_flushed_leaves_at_once) {
  run_worlds(simulated("sim", {}), 2, [](world& w) {
    int handled = 0;
    auto add = w.message<offer>([&](const offer&) { ++handled; }, combine{key_of, smaller}, coalesce{});
    w.epoch([&] {
      if (w.rank() != 0) return;
      add.send(1, {.key = 1, .value = 1});
      EXPECT_EQ(add.counters().sent, 0u);
      add.flush(0);
      EXPECT_EQ(add.counters().sent, 0u) << "it was for the other rank";
      add.flush(1);
      EXPECT_EQ(add.counters().sent, 1u);
      add.send(1, {.key = 1, .value = 1});
      add.flush();
      EXPECT_EQ(add.counters().sent, 2u);
    });
    EXPECT_EQ(handled, w.rank() == 1 ? 2 : 0);
  });
}

TEST(combine, more_than_the_credits_can_carry_waits_in_the_outbox) {
  // The end of the epoch sends off a whole cache at once, where no send may wait.
  const fabric::sim::sim_options tight{.credits = 1, .packet_bytes = 528};
  run_worlds(simulated("tight", tight), 2, [](world& w) {
    std::uint64_t sum = 0;
    auto add = w.message<offer>([&](const offer& o) { sum += o.value; }, combine{key_of, smaller, hash_table{4096}});
    w.epoch([&] {
      for (std::uint32_t key = 0; key < 3000; ++key) add.send(1 - w.rank(), {.key = key, .value = 1});
    });
    EXPECT_EQ(sum, 3000u);
  });
}

// The message was accepted before the one whose send fails: a handler that catches the error would hide its loss.
TEST(combine, evicted_message_beyond_bound_ends_job) {
  const std::string text = failure_in_worlds(
      2,
      [](world& w) {
        auto add = w.message<offer>([](const offer&) {}, combine{key_of, smaller, direct_mapped{1}});
        auto start = w.message<int>([&](int) {
          try {
            for (std::uint32_t key = 0; key < 10'000; ++key) add.send(1, {.key = key, .value = 1});
          } catch (const error&) {
          }
        });
        w.epoch([&] {
          if (w.rank() == 0) start.send(0, 1);
        });
      },
      testing::configured({{"AMITY_CORE_SPILL_BYTES_MAX", "64k"}}));
  testing::expect_parts(text, {"sending from a handler (rank 0)", "AMITY_CORE_SPILL_BYTES_MAX=65536"});
}

// A send of the flush waits for the credit, and flushes the same cache while it waits.
TEST(combine, flush_without_credits_sends_each_once) {
  constexpr std::uint32_t keys = 64;
  const auto flush_all_keys = [&](world& w, auto... policies) {
    std::uint32_t handled = 0, sum = 0;
    auto add = w.message<offer>(
        [&](const offer& o) {
          ++handled;
          sum += o.value;
        },
        combine{key_of, smaller, direct_mapped{4 * keys}}, policies...);
    w.epoch([&] {
      for (std::uint32_t key = 0; key < keys; ++key) add.send(1 - w.rank(), {.key = key, .value = key});
      add.flush();
    });
    EXPECT_EQ(handled, keys);
    EXPECT_EQ(sum, keys * (keys - 1) / 2);
  };
  run_worlds(simulated("one_credit", {.credits = 1}), 2, [&](world& w) {
    flush_all_keys(w);
    flush_all_keys(w, coalesce{.count = 2});
  });
}

template <class Map>
void expect_partition(std::uint64_t count, rank_t ranks) {
  const Map map(count, ranks);
  std::vector<std::uint64_t> owned(static_cast<std::size_t>(ranks));
  for (std::uint64_t item = 0; item < count; ++item) {
    const rank_t owner = map.owner(item);
    ASSERT_GE(owner, 0);
    ASSERT_LT(owner, ranks);
    ASSERT_LT(map.local(item), map.items_of(owner));
    ASSERT_EQ(map.global(owner, map.local(item)), item);
    ++owned[static_cast<std::size_t>(owner)];
  }
  const auto [least, most] = std::ranges::minmax(owned);
  EXPECT_LE(most - least, 1u);
  for (rank_t rank = 0; rank < ranks; ++rank) EXPECT_EQ(map.items_of(rank), owned[static_cast<std::size_t>(rank)]);
}

TEST(owner_maps, deal_each_item_to_one_rank_evenly) {
  for (const std::uint64_t count : {0, 1, 2, 3, 7, 8, 9, 100}) {
    for (const rank_t ranks : {1, 2, 3, 8, 11}) {
      expect_partition<block_map>(count, ranks);
      expect_partition<cyclic_map>(count, ranks);
    }
  }
}

TEST(owner_maps, blocks_are_contiguous) {
  const block_map map(10, 4);
  std::vector<rank_t> owners;
  for (std::uint64_t item = 0; item < 10; ++item) owners.push_back(map(item));
  EXPECT_EQ(owners, (std::vector<rank_t>{0, 0, 0, 1, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(map.first_of(2), 6u);
  EXPECT_EQ(block_map(3, 4)(2), 2);
  EXPECT_EQ(block_map(3, 4)(3), 4) << "no rank";
  testing::expect_error([] { block_map(10, 0); }, {"block_map", "0 ranks"});
}

TEST(owner_maps, hashing_spreads_keys_that_lie_close_together) {
  const hash_map map(7);
  std::map<rank_t, int> owned;
  for (int key = 0; key < 7000; ++key) ++owned[map(key * 64)];
  ASSERT_EQ(owned.size(), 7u);
  for (const auto& [rank, keys] : owned) EXPECT_NEAR(keys, 1000, 150) << rank;
  const char* const text = "gnome";
  EXPECT_EQ(map(text), map(std::string("gnome")));
  EXPECT_EQ(map(std::string("gnome").c_str()), map(std::string_view("gnome"))) << "wherever it lies";
}

}  // namespace
}  // namespace amity
