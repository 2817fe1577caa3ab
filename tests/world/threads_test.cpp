/// Ranks with several threads: who handles what, and that all of an epoch is handled.

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/amity.hpp"
#include "amity/base/random.hpp"
#include "tests/support/programs.hpp"
#include "tests/support/sanitizer.hpp"

namespace amity {
namespace {

using testing::network_is_tested;
using testing::outcome_of;
using testing::program;
using testing::run_job;
using testing::shape;

struct form {
  std::string fabric;
  rank_t ranks;
  rank_t threads;
};
void PrintTo(const form& f, std::ostream* out) { *out << f.fabric << ' ' << f.ranks << " x " << f.threads; }

class threaded : public ::testing::TestWithParam<form> {
 protected:
  rank_t threads() const { return GetParam().threads; }
  void run_program(const program& body, std::vector<std::string> more = {}) const {
    const form& f = GetParam();
    run_job(shape(f.fabric, f.ranks, f.threads, std::move(more)), body);
  }
};

std::vector<form> forms() {
  std::vector<form> all;
  for (const std::string& fabric : testing::fabrics_with_threads()) {
    for (const rank_t ranks : {1, 2, 3, 4, 8}) {
      for (const rank_t threads : {1, 2, 4}) all.push_back({fabric, ranks, threads});
    }
  }
  if (network_is_tested) {
    all.push_back({"ofi", 1, 3});
    if (testing::sanitized) return all;
    all.push_back({"ofi", 2, 2});
    all.push_back({"composite", 2, 2});
    all.push_back({"composite", 3, 2});
  }
  return all;
}

std::string form_name(const ::testing::TestParamInfo<form>& tested) {
  const form& f = tested.param;
  return f.fabric + "_" + std::to_string(f.ranks) + "x" + std::to_string(f.threads);
}
INSTANTIATE_TEST_SUITE_P(all, threaded, ::testing::ValuesIn(forms()), form_name);

struct visit {
  std::uint32_t key;
  std::uint32_t hops;
};

TEST_P(threaded, messages_of_one_key_are_handled_by_one_thread) {
  run_program([](world& w) {
    constexpr std::uint32_t keys = 257;
    EXPECT_EQ(w.config().integer("AMITY_THREADS"), w.threads());
    struct slot {  // no atomics: only one thread may touch it
      std::uint64_t visits = 0;
      rank_t thread = -1;
    };
    std::vector<slot> slots(keys);
    const hash_map owner(w.size());
    auto go = w.message<visit>(
        [&](const visit& v, auto& self) {
          slot& mine = slots[v.key];
          if (mine.visits++ == 0) mine.thread = self.thread_index();
          EXPECT_EQ(mine.thread, self.thread_index());
          EXPECT_EQ(self.thread_index(), static_cast<rank_t>(v.key) % w.threads());
          if (v.hops > 0) self.send({.key = (v.key * 31 + 7) % keys, .hops = v.hops - 1});
        },
        address{[&](const visit& v) { return owner(v.key); }}, parallel{[](const visit& v) { return v.key; }},
        coalesce{});
    for (int round = 0; round < 3; ++round) {
      w.epoch([&](thread& t) {
        auto& mine = go.on(t);
        const auto [first, last] = t.share(200);
        for (auto i = first; i < last; ++i) mine.send({.key = static_cast<std::uint32_t>(i % keys), .hops = 9});
      });
    }
    std::uint64_t visits = 0;
    for (const slot& each : slots) visits += each.visits;
    const auto ranks = static_cast<std::uint64_t>(w.size());
    EXPECT_EQ(w.sum(visits), 3 * 200 * 10 * ranks);
    const message_counters counted = go.counters();
    EXPECT_EQ(w.sum(counted.sent), 3 * 200 * 10 * ranks);
    EXPECT_EQ(counted.handled, visits);
  });
}

TEST_P(threaded, any_thread_handles_what_is_parallel) {
  run_program([](world& w) {
    std::atomic<std::uint64_t> handled = 0;
    std::vector<std::uint64_t> by_thread(static_cast<std::size_t>(w.threads()));
    auto count = w.message<std::uint64_t>(
        [&](std::uint64_t hops, auto& self) {
          handled.fetch_add(1, std::memory_order_relaxed);
          ++by_thread[static_cast<std::size_t>(self.thread_index())];
          if (hops > 0) self.send(static_cast<rank_t>(hops) % w.size(), hops - 1);
        },
        parallel{}, coalesce{.count = 7});
    const std::uint64_t sum = w.epoch(
        [&](thread& t) {
          for (rank_t to = 0; to < w.size(); ++to) {
            for (int i = 0; i < 20; ++i) count.on(t).send(to, 4);
          }
        },
        [&](thread& t) { return by_thread[static_cast<std::size_t>(t.thread_index())]; });
    const auto expected = static_cast<std::uint64_t>(w.size() * w.size() * w.threads()) * 20 * 5;
    EXPECT_EQ(w.sum(handled.load()), expected);
    EXPECT_EQ(sum, expected);
    for (const std::uint64_t each : by_thread) EXPECT_GE(each, 20u);  // from its like on this rank
  });
}

TEST_P(threaded, thread_0_handles_everything_else) {
  run_program([](world& w) {
    std::uint64_t handled = 0;  // no atomic
    auto plain = w.message<std::uint64_t>(
        [&](std::uint64_t hops, auto& self) {
          EXPECT_EQ(self.thread_index(), 0);
          ++handled;
          if (hops > 0) self.send((w.rank() + 1) % w.size(), hops - 1);
        },
        coalesce{});
    auto text = w.message<std::string>([&](const std::string& s) { handled += s.size(); });
    const std::uint64_t sum = w.epoch(
        [&](thread& t) {
          plain.on(t).send(w.size() - 1, 3);
          text.on(t).send(0, "seven..");
        },
        [&] { return handled; });
    const auto senders = static_cast<std::uint64_t>(w.size()) * static_cast<std::uint64_t>(w.threads());
    EXPECT_EQ(w.sum(handled), senders * 11);
    EXPECT_EQ(sum, senders * 11);  // of the whole rank, though other threads contribute to the same wave
  });
}

TEST_P(threaded, a_body_without_a_thread_runs_on_thread_0) {
  run_program([](world& w) {
    std::atomic<int> bodies = 0;
    std::atomic<std::uint64_t> handled = 0;
    auto any = w.message<int>([&](int) { ++handled; }, parallel{[](int key) { return static_cast<unsigned>(key); }});
    w.epoch([&] {
      ++bodies;
      for (int i = 0; i < 12; ++i) any.send((w.rank() + 1) % w.size(), i);
    });
    EXPECT_EQ(bodies.load(), 1);
    EXPECT_EQ(handled.load(), 12u);
    w.epoch([&](thread& t) {
      EXPECT_EQ(t.count(), w.threads());
      ++bodies;
    });
    EXPECT_EQ(bodies.load(), 1 + w.threads());
  });
}

TEST_P(threaded, caches_belong_to_threads) {
  run_program([](world& w) {
    constexpr std::uint32_t keys = 64;
    std::array<std::uint64_t, keys> sums{};
    std::atomic<std::uint64_t> visits = 0;
    const cyclic_map owner(keys, w.size());
    auto key_of = [](const visit& v) { return v.key; };
    auto add = w.message<visit>([&](const visit& v) { sums[v.key] += v.hops; },
                                address{[&](const visit& v) { return owner(v.key); }},
                                combine{key_of,
                                        [](const visit& a, const visit& b) {
                                          return visit{a.key, a.hops + b.hops};
                                        }},
                                parallel{key_of}, coalesce{});
    auto once =
        w.message<std::uint64_t>([&](std::uint64_t) { ++visits; }, unique{hash_table{}}, parallel{}, coalesce{});
    w.epoch([&](thread& t) {
      for (std::uint32_t i = 0; i < 500; ++i) {
        add.on(t).send({.key = i % keys, .hops = i});
        once.on(t).send(0, i % 10);
      }
    });
    std::uint64_t all = 0;
    for (const std::uint64_t each : sums) all += each;
    const auto senders = static_cast<std::uint64_t>(w.size()) * static_cast<std::uint64_t>(w.threads());
    EXPECT_EQ(w.sum(all), senders * (499 * 500 / 2));
    EXPECT_EQ(w.sum(visits.load()), senders * 10);
    EXPECT_EQ(once.counters().dropped, static_cast<std::uint64_t>(w.threads()) * 490);
    const message_counters added = add.counters();
    EXPECT_EQ(added.sent + added.combined, static_cast<std::uint64_t>(w.threads()) * 500);
    EXPECT_GT(added.combined, 0u);
  });
}

TEST_P(threaded, types_come_and_go) {
  run_program([](world& w) {
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> handled = 0;
      auto one = w.message<int>([&](int value) { handled += value; }, parallel{}, coalesce{});
      auto other = w.message<double>([&](double) { ++handled; });
      w.epoch([&](thread& t) {
        one.on(t).send(w.rank(), 10);
        other.on(t).send(w.rank(), 0.5);
      });
      EXPECT_EQ(handled.load(), w.threads() * 11);
    }
  });
}

TEST_P(threaded, calls_and_reductions_are_thread_0s) {
  run_program([](world& w) {
    std::uint64_t calls = 0;
    const auto shared_calls = w.share(calls);
    w.epoch([&] {
      for (rank_t to = 0; to < w.size(); ++to)
        w.async(
            to, [](std::uint64_t& c) { ++c; }, shared_calls);
    });
    EXPECT_EQ(calls, static_cast<std::uint64_t>(w.size()));
    EXPECT_EQ(w.max<std::int64_t>(w.rank()), w.size() - 1);
    w.barrier();
  });
}

// Random programs: visits that spread over random keys, ranks and threads, against the same done one after the other.
TEST_P(threaded, random_programs_handle_every_message_once) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    run_program(
        [seed](world& w) {
          constexpr std::uint32_t keys = 61;
          const auto children = [&](const visit& v) {
            splitmix64 random(splitmix64::mix(seed ^ (v.key * 1000 + v.hops)));
            std::array<visit, 2> all{};
            for (visit& each : all) each = {.key = static_cast<std::uint32_t>(random.below(keys)), .hops = v.hops - 1};
            return all;
          };
          std::vector<std::uint64_t> counts(keys), expected(keys);
          const cyclic_map owner(keys, w.size());
          auto go = w.message<visit>(
              [&](const visit& v, auto& self) {
                ++counts[v.key];
                if (v.hops == 0) return;
                for (const visit& next : children(v)) self.send(next);
              },
              address{[&](const visit& v) { return owner(v.key); }}, parallel{[](const visit& v) { return v.key; }},
              coalesce{.count = 1 + seed % 5});
          w.epoch([&](thread& t) { go.on(t).send({.key = static_cast<std::uint32_t>(t.thread_index()), .hops = 6}); });

          std::vector<visit> open;
          for (rank_t t = 0; t < w.threads() * w.size(); ++t) {
            open.push_back({.key = static_cast<std::uint32_t>(t % w.threads()), .hops = 6});
          }
          while (!open.empty()) {
            const visit v = open.back();
            open.pop_back();
            if (owner(v.key) == w.rank()) ++expected[v.key];
            if (v.hops == 0) continue;
            for (const visit& next : children(v)) open.push_back(next);
          }
          EXPECT_EQ(counts, expected);
        },
        {"AMITY_SIM_SEED=" + std::to_string(seed), "AMITY_SIM_DELAY_NS_MAX=5000", "AMITY_SIM_REORDER_PERCENT=30"});
  }
}

// Where threads are real ones, a message is handled though its rank's program calls nothing of amity.
TEST_P(threaded, a_progress_thread_handles_while_the_program_computes) {
  if (GetParam().fabric == "sim") {
    run_program(
        [](world& w) {
          std::uint64_t handled = 0;
          auto plain = w.message<int>([&](int, auto& self) { handled += self.thread_index() == w.threads() ? 1 : 0; });
          w.epoch([&](thread& t) { plain.on(t).send(0, t.thread_index()); });
          EXPECT_EQ(w.sum(handled), static_cast<std::uint64_t>(w.size() * w.threads()));
        },
        {"AMITY_PROGRESS_THREAD=1"});
    return;
  }
  run_program(
      [](world& w) {
        std::atomic<int> handled = 0;
        auto ring = w.message<int>([&](int) { ++handled; });
        w.epoch([&] {
          ring.send((w.rank() + 1) % w.size(), 1);
          while (handled.load() == 0) std::this_thread::yield();  // no call of amity
        });
      },
      {"AMITY_PROGRESS_THREAD=1"});
}

TEST(threads, count_for_their_rank) {
  run_job(shape("threads", 2, 3), [](world& w) {
    auto message = w.message<int>([](int) {});
    const core::traffic before = w.counters();
    w.epoch([&](thread& t) {
      for (int i = 0; i < 10; ++i) message.on(t).send(1 - w.rank(), i);
    });
    EXPECT_EQ(w.counters().messages_sent - before.messages_sent, 30u);
    EXPECT_EQ(w.counters().messages_handled - before.messages_handled, 30u);
  });
}

TEST(threads, that_are_never_idle_learn_that_the_job_has_ended) {
  for (const std::string progress : {"0", "1"}) {
    for (const rank_t ranks : {1, 2}) {
      if (progress == "0" && ranks == 1) continue;
      const auto [status, errors] =
          outcome_of(shape("threads", ranks, 1, {"AMITY_PROGRESS_THREAD=" + progress}), [](world& w) {
            auto round = w.message<int>([&](int, auto& self) { self.send(w.rank(), 1); });
            w.epoch([&] {
              if (w.rank() == 0) round.send(0, 1);
              if (w.rank() == w.size() - 1) throw std::runtime_error("no more");
            });
          });
      EXPECT_EQ(status, 1);
      EXPECT_EQ(errors,
                "amity: the program ended with an exception on rank " + std::to_string(ranks - 1) + ": no more\n");
    }
  }
}

TEST(threads, share_out_numbers) {
  for (const rank_t threads : {1, 2, 3, 4}) {
    run_job(shape("sim", 1, threads), [](world& w) {
      for (const std::uint64_t numbers : {0, 1, 7, 12}) {
        std::vector<int> taken(numbers);
        w.epoch([&](thread& t) {
          const auto [first, last] = t.share(numbers);
          EXPECT_LE(last - first, numbers / static_cast<std::uint64_t>(t.count()) + 1);
          for (auto i = first; i < last; ++i) ++taken[i];
        });
        for (const int each : taken) EXPECT_EQ(each, 1);
      }
    });
  }
}

}  // namespace
}  // namespace amity
