/// Engines without a world, as OpenSHMEM has them: their records are all that they send.

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "amity/core/engine.hpp"
#include "amity/core/memory_records.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/fabric/decorator.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

using testing::failure_of;
using testing::simulated;

constexpr std::size_t words = 4096;

/// A rank whose words its peers use.
class word_owner final : private record_memory {
 public:
  explicit word_owner(fabric::fabric& transport, engine::threading how = engine::threading::owned)
      : on(transport, {}, 1, how),
        stream(on.served().records()),
        records(on, stream, record_owner::openshmem, fabric::claim::ordinary, *this) {}
  ~word_owner() {
    const engine::entry inside(on);
    on.leave_fabric();
  }

  void progress_until(function_ref<bool()> done) {
    while (!done()) {
      if (!on.progress()) on.wait_in_fabric(1'000'000, 1'000'000);
    }
  }
  void put(rank_t target, std::size_t at, std::span<const std::uint64_t> from, tracking by = tracking::by_flush) {
    std::size_t moved = 0;
    progress_until([&] { return records.put({target, 0, 8 * at}, std::as_bytes(from), moved, by); });
    stream.send(target);
  }
  void put_notify(rank_t target, std::uint64_t number) {
    std::size_t moved = 0;
    progress_until([&] { return records.put_notify({target, 0, 0}, {}, moved, number); });
    stream.send(target);
  }
  void flush() {
    stream.flush_all();
    progress_until([&] { return stream.flushed(); });
  }
  /// Returns when all ranks have called it as often.
  void meet() {
    ++meetings_;
    const rank_t ranks = on.transport().size();
    for (rank_t rank = 0; rank < ranks; ++rank) {
      if (rank != on.rank()) put_notify(rank, 0);
    }
    progress_until([&] { return notices >= meetings_ * static_cast<std::size_t>(ranks - 1); });
  }

  engine on;
  record_stream& stream;
  memory_records records;
  std::array<std::uint64_t, words> own{};
  std::size_t notices = 0;

 private:
  std::byte* place_of(rank_t source, std::uint32_t, std::uint64_t offset, std::uint64_t bytes) const override {
    if (offset > sizeof own || bytes > sizeof own - offset)
      throw on.invalid_packet(source, "a place that is not there");
    return reinterpret_cast<std::byte*>(const_cast<std::uint64_t*>(own.data())) + offset;
  }
  void on_notice(rank_t, std::uint64_t) override { ++notices; }

  std::size_t meetings_ = 0;
};

void simulate(rank_t ranks, const fabric::sim::sim_options& options, const std::function<void(word_owner&)>& body) {
  simulated("sim", options).run(ranks, {}, [&](fabric::fabric& transport) {
    word_owner rank(transport);
    body(rank);
    rank.meet();
  });
}

TEST(engine_without_world, carries_records) {
  simulate(3, {.delay_ns_max = 3000, .reorder_percent = 20, .credits = 2}, [](word_owner& rank) {
    const rank_t next = (rank.on.rank() + 1) % 3;
    std::vector<std::uint64_t> sent(2000, static_cast<std::uint64_t>(next));
    rank.put(next, 8, sent);
    rank.progress_until([&] {
      return rank.records.atomic({next, 0, 0}, {.op = fabric::atomic_op::add, .operand = 5});
    });
    rank.stream.send(next);
    rank.flush();
    rank.meet();
    EXPECT_EQ(rank.own[0], 5u);
    EXPECT_EQ(rank.own[8], static_cast<std::uint64_t>(rank.on.rank()));
    EXPECT_EQ(rank.own[2007], static_cast<std::uint64_t>(rank.on.rank()));
    std::vector<std::uint64_t> got(2000);
    event arrived;
    arrived.expect();
    const auto question = rank.stream.try_expect(next, std::as_writable_bytes(std::span(got)), arrived);
    std::size_t moved = 0;
    rank.progress_until([&] { return rank.records.get({next, 0, 64}, 16000, moved, question.value()); });
    rank.stream.send(next);
    rank.progress_until([&] { return arrived.done(); });
    EXPECT_EQ(got, sent);
  });
}

TEST(engine_without_world, flushes_ask_tracked_puts) {
  simulate(2, {}, [](word_owner& rank) {
    const rank_t other = 1 - rank.on.rank();
    const std::array<std::uint64_t, 1> one{1};
    rank.put(other, 0, one, tracking::otherwise);
    rank.stream.flush_all();
    EXPECT_TRUE(rank.stream.flushed());
    rank.put(other, 0, one);
    rank.stream.flush_all(other);
    EXPECT_TRUE(rank.stream.flushed());
    rank.stream.flush_all();
    EXPECT_FALSE(rank.stream.flushed());
    rank.progress_until([&] { return rank.stream.flushed(); });
  });
}

/// Rank 0 begins a put to rank 1 that needs more credits than there are, calls `during`, and ends the put.
void put_beside(const std::function<void(word_owner&)>& during, const std::function<void(word_owner&)>& afterwards) {
  simulate(2, {.credits = 2}, [&](word_owner& rank) {
    if (rank.on.rank() != 0) return;
    const std::vector<std::uint64_t> sent(words, 7);
    std::size_t moved = 0;
    const auto put = [&] {
      return rank.records.put({1, 0, 0}, std::as_bytes(std::span(sent)), moved, tracking::by_flush);
    };
    ASSERT_FALSE(put());
    ASSERT_GT(moved, 0u);
    during(rank);
    rank.progress_until(put);
    afterwards(rank);
  });
}

// A thread that flushes does not wait for the put of another thread that has not ended.
TEST(engine_without_world, flushes_ignore_unfinished_puts) {
  const auto flush = [](word_owner& rank) {
    rank.stream.flush_all();
    EXPECT_TRUE(rank.stream.flushed());
  };
  put_beside(flush, [](word_owner& rank) {
    rank.stream.flush_all();
    EXPECT_FALSE(rank.stream.flushed());
    rank.progress_until([&] { return rank.stream.flushed(); });
  });
}

// Records that may be collected leave the reserve to what a rank waits for.
TEST(engine_without_world, records_leave_reserve_free) {
  const auto wake = [](word_owner& rank) {
    EXPECT_EQ(rank.on.transport().try_send(1, service_header(service::wake).word(), {}, fabric::claim::no_epoch),
              status::ok);
  };
  put_beside(wake, [](word_owner& rank) { rank.stream.send(1); });
}

TEST(engine_without_world, open_packets_are_filled) {
  simulate(2, {}, [](word_owner& rank) {
    if (rank.on.rank() != 0) return;
    const std::size_t most = record_bytes_max(rank.on.transport().caps().packet_bytes_max);
    constexpr std::size_t any = 100'000;
    const auto append = [&](std::size_t bytes) {
      const std::vector<std::byte> content(bytes);
      std::size_t moved = 0;
      EXPECT_TRUE(rank.records.put({1, 0, 0}, content, moved, tracking::otherwise));
    };
    EXPECT_EQ(rank.stream.room(1, any), most);
    append(64);
    EXPECT_EQ(rank.stream.room(1, any), most - 64 - sizeof(record));
    // What is left for 128 bytes would be a small part of a larger content, which takes a new packet.
    append(most - 64 - 128 - 2 * sizeof(record));
    EXPECT_EQ(rank.stream.room(1, 128), 128u);
    EXPECT_EQ(rank.stream.room(1, 129), most);
    EXPECT_EQ(rank.stream.room(1, any), most);
    rank.stream.send(1);
  });
}

/// A job ends with this error if rank 0 does this and rank 1 makes progress.
void expect_end(const std::string& problem, const std::function<void(word_owner&)>& attack) {
  const std::string text = failure_of([&] {
    simulate(2, {}, [&](word_owner& rank) {
      if (rank.on.rank() == 0) attack(rank);
      rank.progress_until([] { return false; });
    });
  });
  testing::expect_parts(text, {"(rank 1)", problem});
}

TEST(engine_without_world, names_sender_of_invalid_packet) {
  expect_end("rank 0 sent a message in world 0", [](word_owner& rank) {
    static_cast<void>(
        rank.on.transport().try_send(1, packet_header({.handler = 3}).word(), {}, fabric::claim::ordinary));
  });
  expect_end("rank 0 sent an invalid packet: a place that is not there",
             [](word_owner& rank) { rank.put(1, words, std::array<std::uint64_t, 1>{1}); });
  expect_end("rank 0 sent an invalid packet: atomic operation", [](word_owner& rank) {
    static_cast<void>(rank.records.atomic({1, 0, 4}, {.op = fabric::atomic_op::add, .operand = 1}));
    rank.stream.send(1);
  });
}

/// A fabric that counts calls of `publish`, and shows when a thread sleeps.
class observed_fabric final : public fabric::decorator {
 public:
  explicit observed_fabric(amity::fabric::fabric& inner) : decorator(inner) {}
  void publish() override {
    ++published;
    decorator::publish();
  }
  void sleep(const amity::fabric::alarm& by, std::uint64_t timeout_ns) noexcept override {
    asleep = true;
    decorator::sleep(by, timeout_ns);
  }
  std::atomic<int> published = 0;
  std::atomic<bool> asleep = false;
};

// The thread that takes the place of another one in the fabric may sleep at once: what was held back has been told.
TEST(engine_without_world, leaving_waiter_publishes) {
  testing::threads("threads").run(1, {}, [](fabric::fabric& inner) {
    constexpr std::uint64_t minute_ns = 60'000'000'000;
    observed_fabric transport(inner);
    word_owner rank(transport, engine::threading::serialized);
    const auto wait = [&] {
      const engine::entry inside(rank.on);
      rank.on.wait_in_fabric(minute_ns, minute_ns);
    };
    std::thread first(wait);
    while (!transport.asleep) std::this_thread::yield();
    const int before = transport.published;
    // It ends the sleep of the first one, and waits on a seat until that leaves.
    std::thread(wait).join();
    first.join();
    EXPECT_EQ(transport.published, before + 1);
  });
}

/// One thread waits for it; any thread may poll.
struct flag final : awaited {
  void reached() noexcept override { there.store(true, std::memory_order_release); }
  std::atomic<bool> there = false;
};

// As threads of an OpenSHMEM program: each enters for a moment, and polls if no other thread does.
TEST(engine_without_world, serves_threads) {
  static constexpr std::uint64_t threads = 4, rounds = 300;
  testing::threads("threads").run(2, {}, [](fabric::fabric& transport) {
    word_owner rank(transport, engine::threading::serialized);
    const rank_t other = 1 - transport.rank();
    const auto poll_until = [&](function_ref<bool()> done) {
      while (!done()) {
        const engine::entry inside(rank.on, std::try_to_lock);
        if (!inside.entered() || !rank.on.progress()) std::this_thread::yield();
      }
    };
    const auto inside = [&](function_ref<bool()> attempt) {
      poll_until([&] {
        const engine::entry alone(rank.on);
        return attempt();
      });
    };
    {
      std::vector<std::jthread> program;
      for (std::uint64_t thread = 0; thread < threads; ++thread) {
        program.emplace_back([&, thread] {
          for (std::uint64_t round = 1; round <= rounds; ++round) {
            const std::array<std::uint64_t, 1> sent{round};
            std::size_t moved = 0;
            inside([&] {
              return rank.records.put({other, 0, 8 * (thread + 1)}, std::as_bytes(std::span(sent)), moved,
                                      tracking::by_flush);
            });
            std::uint64_t before = 0;
            flag told;
            std::optional<std::uint32_t> question;
            inside([&] {
              if (!question)
                question = rank.stream.try_expect(other, {reinterpret_cast<std::byte*>(&before), sizeof before}, told);
              return question &&
                     rank.records.atomic({other, 0, 8 * (thread + 1)}, {.op = fabric::atomic_op::fetch}, *question);
            });
            inside([&] { return rank.stream.send(other), true; });
            poll_until([&] { return told.there.load(std::memory_order_acquire); });
            EXPECT_EQ(before, round);
          }
        });
      }
    }
    const engine::entry alone(rank.on);
    rank.flush();
    rank.meet();
    for (std::uint64_t thread = 0; thread < threads; ++thread) EXPECT_EQ(rank.own[thread + 1], rounds);
  });
}

}  // namespace
}  // namespace amity::core
