/// Long messages: every protocol, on every fabric, whatever comes first.

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "amity/core/long_envelope.hpp"
#include "amity/core/prepared.hpp"
#include "amity/fabric/waiter.hpp"
#include "tests/core/late_events.hpp"
#include "tests/core/long_storm.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity::core {
namespace {

using testing::configured;
using testing::job_kind;
using testing::long_storm;
using testing::simulate;
using testing::unordered;

/// Events come late, by a seed.
job_kind late(job_kind kind) {
  return {.name = "late_" + kind.name, .run = [kind](rank_t ranks, const settings& config, const auto& body) {
            kind.run(ranks, config, [&](fabric::fabric& own) {
              fabric::testing::late_events delayed(own, static_cast<std::uint64_t>(own.rank()) + 5);
              body(delayed);
            });
          }};
}

std::vector<job_kind> kinds() {
  std::vector<job_kind> all = testing::every_job_kind();
  all.push_back(testing::simulated("unordered_sim", unordered(3)));
  all.push_back(late(all.back()));
  return all;
}

class longs : public testing::every_fabric {};
INSTANTIATE_TEST_SUITE_P(core, longs, ::testing::Combine(::testing::ValuesIn(kinds()), ::testing::Values(1, 2, 3)),
                         testing::job_name);

TEST_P(longs, arrive_whole_by_every_protocol) {
  for (const std::string protocol :
       {"auto", "packed", "ordered", "put_sync_send", "chained", "rendezvous", "reassembly"}) {
    const auto storm = [&](endpoint& own) {
      if (protocol == "ordered" && !own.transport().caps().remote.puts_before_packets) return;
      long_storm(own).run(200 / testing::sanitizer_divisor + 20);
    };
    run(storm, configured({{"AMITY_LONG_PROTOCOL", protocol}, {"AMITY_LONG_SLOTS", "4"}}));
  }
}

void send_all_counts_of_arguments(endpoint& own) {
  constexpr std::size_t counts = args_max + 1, bytes = 1000;
  auto& memory = own.memory();
  // A source; a place for each request; a place for each reply.
  const local_segment mine = memory.allocate((1 + 2 * counts) * bytes);
  fabric::testing::fill({mine.data, bytes}, 3);
  std::vector<remote_segment> all;
  std::size_t answers = 0;
  const auto check = [](const request& r) {
    const std::size_t count = r.args().size();
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(r.args()[i], count << 32 | i);
    EXPECT_TRUE(r.payload().size() == bytes && fabric::testing::is_payload(r.payload(), 3));
  };
  const handler_id back = own.add_handler("back", [&](request& r) {
    check(r);
    EXPECT_EQ(r.payload().data(), mine.data + (1 + counts + r.args().size()) * bytes);
    ++answers;
  });
  const handler_id ask = own.add_handler("ask", [&](request& r) {
    check(r);
    const remote_address to{all[static_cast<std::size_t>(r.source())], (1 + counts + r.args().size()) * bytes};
    r.reply_long(to, back, {mine.data, bytes}, r.args(), memory.implicit());
  });
  all = exchange(own, mine);
  own.barrier();
  const remote_segment& next = all[static_cast<std::size_t>(own.rank() + 1) % all.size()];
  for (std::size_t count = 0; count < counts; ++count) {
    std::vector<std::uint64_t> args;
    for (std::size_t i = 0; i < count; ++i) args.push_back(count << 32 | i);
    own.request_long({next, (1 + count) * bytes}, ask, {mine.data, bytes}, args, memory.implicit());
  }
  own.wait_until("answers", [&] { return answers == counts && memory.implicit().done(); });
  own.barrier();
}

TEST_P(longs, carry_up_to_sixteen_words_by_every_protocol) {
  for (const std::string protocol : {"packed", "ordered", "put_sync_send", "chained", "rendezvous", "reassembly"}) {
    const auto body = [&](endpoint& own) {
      if (protocol == "ordered" && !own.transport().caps().remote.puts_before_packets) return;
      send_all_counts_of_arguments(own);
    };
    run(body, configured({{"AMITY_LONG_PROTOCOL", protocol}}));
  }
}

// The same with hardly any room: one slot, one operation that waits, one credit for packets and puts.
TEST_P(longs, need_one_slot_and_one_place) {
  run([](endpoint& own) { long_storm(own).run(30); },
      configured({{"AMITY_LONG_PROTOCOL", "reassembly"}, {"AMITY_LONG_SLOTS", "1"}, {"AMITY_LONG_PENDING", "1"}}));
}

TEST_P(longs, puts_gets_and_atomics) {
  run([](endpoint& own) {
    auto& memory = own.memory();
    const std::size_t area = 3 * own.packet_bytes_max() + 8;
    const local_segment mine = memory.allocate(static_cast<std::size_t>(own.size()) * area + 8);
    auto all = exchange(own, mine);
    const auto me = static_cast<std::size_t>(own.rank());
    const remote_address counter{all[0], static_cast<std::size_t>(own.size()) * area};
    for (std::size_t bytes : {std::size_t{0}, std::size_t{8}, own.packet_bytes_max(), area}) {
      const auto sent = fabric::testing::make_payload(bytes, me + bytes);
      event complete, source_free;
      for (const remote_segment& each : all)
        memory.put({each, me * area}, sent, {.source_free = &source_free, .complete = &complete});
      memory.wait(source_free);
      memory.wait(complete);
      std::vector<std::byte> back(bytes);
      for (const remote_segment& each : all) {
        memory.get({each, me * area}, back);
        EXPECT_EQ(back, sent);
      }
      static_cast<void>(memory.atomic(counter, {.op = fabric::atomic_op::add, .operand = bytes + 1}));
    }
    own.barrier();
    const auto total = static_cast<std::uint64_t>(own.size()) * (4 + 8 + own.packet_bytes_max() + area);
    EXPECT_EQ(memory.atomic(counter, {.op = fabric::atomic_op::fetch}), total);
    own.barrier();
    for (remote_segment& each : all) memory.close(each);
    memory.release(mine);
    own.barrier();
  });
}

// Even ranks offer memory of their own making, odd ranks the runtime's.
TEST_P(longs, puts_gets_and_atomics_reach_memory_of_the_caller) {
  run([](endpoint& own) {
    auto& memory = own.memory();
    constexpr std::size_t area = 20'000;
    const auto size = static_cast<std::size_t>(own.size());
    std::vector<std::uint64_t> words(size * area / 8 + 1);
    const mutable_bytes whole = std::as_writable_bytes(std::span(words));
    const local_segment first = memory.allocate(64);  // both kinds have numbers
    const local_segment mine = own.rank() % 2 == 0 ? memory.attach(whole) : memory.allocate(whole.size());
    EXPECT_EQ(mine.data == whole.data(), own.rank() % 2 == 0);
    std::vector<remote_segment> all;
    std::size_t answers = 0;
    const handler_id back = own.add_handler("back", [&](request&) { ++answers; });
    const handler_id take = own.add_handler("take", [&](request& r) {
      EXPECT_TRUE(r.payload().size() == r.args()[1] && fabric::testing::is_payload(r.payload(), r.args()[0]));
      if (!r.payload().empty()) {
        EXPECT_EQ(r.payload().data(), mine.data + static_cast<std::size_t>(r.source()) * area);
      }
      r.reply_short(back);
    });
    all = exchange(own, mine);
    own.barrier();
    const std::size_t here = static_cast<std::size_t>(own.rank()) * area;
    std::size_t asked = 0;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{24}, std::size_t{1000}, area}) {
      const auto sent = fabric::testing::make_payload(bytes, here + bytes);
      std::vector<std::byte> back_again(bytes);
      for (const remote_segment& each : all) {
        const auto await_answer = [&] {
          ++asked;
          own.wait_until("an answer", [&] { return answers == asked; });
        };
        own.request_long({each, here}, take, sent, {here + bytes, bytes});
        await_answer();  // the next one may be written into the same place at once
        prepared_long written = own.prepare_long({each, here}, bytes, bytes, 2);
        fabric::testing::fill(written.payload(), here + bytes);
        written.commit(take, bytes, {here + bytes, bytes});
        await_answer();
        memory.get({each, here}, back_again);
        EXPECT_EQ(back_again, sent);
        memory.put({each, here}, sent);
        static_cast<void>(memory.atomic({each, size * area}, {.op = fabric::atomic_op::add, .operand = 1}));
      }
    }
    own.barrier();
    EXPECT_EQ(memory.atomic({all[0], size * area}, {.op = fabric::atomic_op::fetch}), 4 * size);
    own.barrier();
    for (remote_segment& each : all) memory.close(each);
    memory.release(mine);
    memory.release(first);
    // It is the caller's again, with what has come.
    if (own.rank() % 2 == 0) {
      EXPECT_EQ(words.back(), 4 * size);
      EXPECT_TRUE(fabric::testing::is_payload(whole.subspan(here, area), here + area));
    }
    own.barrier();
  });
}

// Each handler sends the next Long, without waiting, until a number of them have run.
TEST_P(longs, are_sent_by_handlers) {
  run(
      [](endpoint& own) {
        auto& memory = own.memory();
        constexpr std::size_t bytes = 3000;
        constexpr std::size_t places = 130;  // of each source: each Long has a place to itself
        const auto size = static_cast<std::size_t>(own.size());
        const local_segment mine = memory.allocate(size * places * bytes);
        const auto payload = fabric::testing::make_payload(bytes, 1);
        std::uint64_t handled = 0;
        std::size_t next = static_cast<std::size_t>(own.rank()) * places;
        std::vector<remote_segment> all;
        handler_id pass = 0;
        pass = own.add_handler("pass", [&](request& r) {
          ++handled;
          const std::uint64_t left = r.args()[0];
          EXPECT_TRUE(fabric::testing::is_payload(r.payload(), 1));
          if (left == 0) return;
          const std::size_t offset = bytes * next++;
          for (const remote_segment& each : all) {
            own.request_long({each, offset}, pass, payload, {left - 1}, memory.implicit());
          }
        });
        all = exchange(own, mine);
        own.barrier();
        own.request_long({all[0], bytes * next++}, pass, payload, {4});
        const std::uint64_t expected = 1 + size + size * size + size * size * size + size * size * size * size;
        while (own.reduce(reduction::sum_u64, handled) < size * expected) {
          wait(own.transport(), 10'000);
          own.progress();
        }
        memory.wait(memory.implicit());
        EXPECT_EQ(own.reduce(reduction::sum_u64, handled), size * expected);
        for (remote_segment& each : all) memory.close(each);
        memory.release(mine);
        own.barrier();
      },
      configured({{"AMITY_LONG_PENDING", "1"}, {"AMITY_LONG_SLOTS", "2"}}));
}

// Hundreds of thousands of Longs, with both orders of their parts, many times each.
TEST(long_reassembly, matches_whatever_comes_first) {
  fabric::sim::run(4, unordered(17), [](fabric::fabric& whole) {
    fabric::testing::late_events delayed(whole, static_cast<std::uint64_t>(whole.rank()) + 5);
    endpoint own(delayed, configured({{"AMITY_LONG_PROTOCOL", "reassembly"}}));
    long_storm storm(own);
    storm.run(50'000 / testing::sanitizer_divisor);  // of each of the four ranks
    const long_receiver& seen = own.own_engine().served().memory().receiver;
    EXPECT_GT(seen.payload_last(), 500u / testing::sanitizer_divisor);
    EXPECT_GT(seen.envelope_last(), 500u / testing::sanitizer_divisor);
    return 0;
  });
}

// Also in a further world.
TEST(long_epochs, end_after_the_longs_that_were_sent_in_them) {
  testing::run_worlds(testing::simulated("sim", unordered(5)), 3, [](world& w) {
    const auto other = w.duplicate();
    for (world* const each : {&w, other.get()}) {
      endpoint& own = each->endpoint();
      auto& memory = own.memory();
      const local_segment mine = memory.allocate(6000);
      int handled = 0;
      const handler_id take = own.add_handler("take", [&](request& r) {
        EXPECT_TRUE(fabric::testing::is_payload(r.payload(), 9));
        ++handled;
      });
      auto all = exchange(own, mine);
      const auto payload = fabric::testing::make_payload(6000, 9);
      for (int round = 1; round <= 3; ++round) {
        each->epoch([&] {
          for (int i = 0; i < 20; ++i) {
            for (const remote_segment& to : all) own.request_long({to, 0}, take, payload, {}, memory.implicit());
          }
        });
        EXPECT_EQ(handled, round * 20 * each->size());
      }
      memory.wait(memory.implicit());
      own.barrier();
      for (remote_segment& to : all) memory.close(to);
      own.remove_handler(take);
    }
  });
}

TEST(long_protocols, are_chosen_by_what_the_fabric_can_do) {
  const auto chosen = [](const fabric::sim::sim_options& options, std::size_t bytes) {
    long_protocol protocol{};
    simulate(2, options, [&](endpoint& own) {
      auto& memory = own.memory();
      const local_segment mine = memory.allocate(64);
      protocol =
          own.own_engine().served().memory().sender.protocol_for(exchange(own, mine)[0], std::vector<std::byte>(bytes));
      own.barrier();
    });
    return protocol;
  };
  EXPECT_EQ(chosen({}, 2048), long_protocol::packed);
  EXPECT_EQ(chosen({}, 2049), long_protocol::ordered);
  EXPECT_EQ(chosen(unordered(1), 2049), long_protocol::reassembly);
  EXPECT_EQ(chosen({.packet_bytes = 576}, 576), long_protocol::ordered);
}

TEST(long_protocols, pack_what_the_fabric_says_as_far_as_a_packet_has_room) {
  fabric::remote_capabilities can{.available = true, .notify_bits = 32};
  fabric::capabilities packets;
  packets.packet_bytes_max = 8192;
  const std::size_t room = packets.packet_bytes_max - envelope_bytes_max;
  const auto most_packed = [&](const std::string& setting, auto&& protocol_of) {
    const long_choice choice(setting, 0, can, packets);
    std::size_t bytes = packets.packet_bytes_max;
    while (bytes > 0 && protocol_of(choice, bytes) != long_protocol::packed) --bytes;
    return bytes;
  };
  const auto by_puts = [](const long_choice& choice, std::size_t bytes) {
    return choice.of(bytes, false, [] { return false; });
  };
  const auto by_packets = [](const long_choice& choice, std::size_t bytes) { return choice.over_packets(bytes); };
  EXPECT_EQ(most_packed("auto", by_puts), 2048u);
  can.packed_bytes_max = 5000;
  EXPECT_EQ(most_packed("auto", by_puts), 5000u);
  can.packed_bytes_max = packets.packet_bytes_max;
  EXPECT_EQ(most_packed("auto", by_puts), room);
  can.packed_bytes_max = 0;
  EXPECT_EQ(most_packed("auto", by_packets), room) << "a put is packets, too";
  EXPECT_EQ(most_packed("packed", by_puts), room);
  EXPECT_EQ(most_packed("reassembly", by_packets), 0u);
}

/// Rank 0 puts so many into rank 1; also, while rank 2 lies still, more into that one than may wait. By how many that
/// were begun later the Longs to rank 1 have been overtaken at most.
std::uint64_t most_overtaken_by(const std::string& protocol, bool another_lies_still) {
  constexpr std::uint64_t sent = 5000, to_the_still = 100;
  fabric::sim::sim_options options{.credits = 2};
  if (another_lies_still) options.stopped_ranks = {{.rank = 2, .from_ns = 100'000, .until_ns = 100'000'000}};
  std::uint64_t arrived = 0, most = 0, at_the_still = 0;
  simulate(
      3, options,
      [&](endpoint& own) {
        auto& memory = own.memory();
        const local_segment mine = memory.allocate(4096);
        const handler_id take = own.add_handler("take", [&](request& r) {
          if (own.rank() == 2) {
            ++at_the_still;
            return;
          }
          most = std::max(most, arrived - std::min(arrived, r.args()[0]));
          ++arrived;
        });
        const auto all = exchange(own, mine);
        own.barrier();
        if (own.rank() == 0) {
          while (own.transport().now_ns() < 200'000) own.progress(), wait(own.transport(), 1000);
          const std::vector<std::byte> payload(4096);
          const auto put = [&](std::size_t rank, std::uint64_t i) {
            own.request_long({all[rank], 0}, take, payload, {i}, memory.implicit());
          };
          for (std::uint64_t i = 0; another_lies_still && i < to_the_still; ++i) put(2, i);
          for (std::uint64_t i = 0; i < sent; ++i) put(1, i);
          memory.wait(memory.implicit());
        }
        own.wait_until("Longs", [&] {
          return own.rank() == 1 ? arrived == sent
                                 : own.rank() == 0 || !another_lies_still || at_the_still == to_the_still;
        });
        own.barrier();
      },
      configured({{"AMITY_LONG_PROTOCOL", protocol}, {"AMITY_LONG_SLOTS", "4"}}));
  return most;
}

TEST(longs_that_wait, go_before_those_that_are_begun_later) {
  for (const std::string protocol : {"auto", "packed", "reassembly", "put_sync_send", "chained", "rendezvous"}) {
    // With slots, those that may wait at a time can pass each other: a put here, an envelope there.
    const std::uint64_t passed_at_most = protocol == "reassembly" ? 256 : 0;
    for (const bool another_lies_still : {false, true}) {
      EXPECT_LE(most_overtaken_by(protocol, another_lies_still), passed_at_most) << protocol << another_lies_still;
    }
  }
}

// A collective begins when this rank's own operations have all been sent, although few may be in flight.
TEST(longs_that_wait, leave_before_collective) {
  for (const std::string protocol : {"packed", "reassembly", "chained", "rendezvous"}) {
    simulate(
        2, {.credits = 2},
        [&](endpoint& own) {
          auto& memory = own.memory();
          constexpr int sent = 30;
          const local_segment mine = memory.allocate(2000);
          int handled = 0;
          const handler_id take = own.add_handler("take", [&](request&) { ++handled; });
          auto all = exchange(own, mine);
          own.barrier();
          for (int i = 0; own.rank() == 0 && i < sent; ++i) {
            own.request_long({all[1], 1000}, take, {mine.data, 1000}, {}, memory.implicit());
          }
          EXPECT_EQ(own.own_engine().served().memory().operations.kept() > 0, own.rank() == 0) << protocol;
          own.barrier();
          EXPECT_EQ(own.own_engine().served().memory().operations.kept(), 0u) << protocol;
          own.wait_until("Longs", [&] { return memory.implicit().done() && (own.rank() == 0 || handled == sent); });
          own.barrier();
          for (remote_segment& each : all) memory.close(each);
          memory.release(mine);
          own.remove_handler(take);
        },
        configured({{"AMITY_LONG_PROTOCOL", protocol}, {"AMITY_LONG_PENDING", "64"}, {"AMITY_LONG_SLOTS", "2"}}));
  }
}

// Its world ends while a Long waits for a slot or a credit: it never leaves, and the job continues.
TEST(longs_that_wait, end_with_their_world) {
  for (const std::string protocol : {"packed", "reassembly", "chained"}) {
    const auto body = [](world& w) {
      endpoint& own = w.endpoint();
      const local_segment mine = own.memory().allocate(4000);
      const auto all = exchange(own, mine);
      auto part = w.duplicate();
      const handler_id take = part->endpoint().add_handler("take", [](request&) {});
      w.barrier();
      const std::vector<std::byte> content(4000);
      event source_free;
      if (w.rank() == 0) {
        try {
          for (int i = 0; i < 20; ++i) part->endpoint().request_long({all[1], 0}, take, content, {}, source_free);
          EXPECT_GT(own.own_engine().served().memory().operations.kept(), 0u);
          throw std::runtime_error("left");
        } catch (const std::runtime_error&) {
          part.reset();
        }
        for (int i = 0; i < 50; ++i) {
          own.progress();
          testing::idle_until(own.transport(), own.transport().now_ns() + 10'000);
        }
        EXPECT_EQ(own.own_engine().served().memory().operations.kept(), 0u);
      } else {
        testing::idle_until(own.transport(), own.transport().now_ns() + 400'000);
      }
      w.barrier();
    };
    testing::run_worlds(
        testing::simulated("sim",
                           {.credits = 2, .stopped_ranks = {{.rank = 1, .from_ns = 60'000, .until_ns = 400'000}}}),
        2, body, configured({{"AMITY_LONG_PROTOCOL", protocol}, {"AMITY_LONG_SLOTS", "2"}}));
  }
}

// Numbers of segments repeat sooner than their keys.
TEST(long_rendezvous, takes_from_the_segment_that_there_is) {
  simulate(
      2, {},
      [](endpoint& own) {
        auto& memory = own.memory();
        const local_segment mine = memory.allocate(64);
        const auto all = exchange(own, mine);
        std::vector<std::byte> seen;
        const handler_id take = own.add_handler("take", [&](request& r) { seen.push_back(r.payload()[0]); });
        own.barrier();
        for (const std::byte each : {std::byte{1}, std::byte{2}}) {
          if (own.rank() == 0) {
            for (int i = 0; each == std::byte{2} && i < 4095; ++i) memory.release(memory.allocate(64));
            const local_segment source = memory.allocate(64);
            source.data[0] = each;
            own.request_long({all[1], 0}, take, bytes_view(source.data, source.bytes));
            memory.release(source);
          }
          own.barrier();
        }
        const std::vector<std::byte> both{std::byte{1}, std::byte{2}};
        EXPECT_EQ(seen, own.rank() == 1 ? both : std::vector<std::byte>());
        memory.release(mine);
      },
      configured({{"AMITY_LONG_PROTOCOL", "rendezvous"}}));
}

// All of them are there when the first one fails, and what is taken from mapped memory is there at once.
TEST(longs_behind_one_that_fails, are_not_handled) {
  for (const std::string protocol : {"packed", "ordered", "put_sync_send", "chained", "rendezvous", "reassembly"}) {
    const settings config = configured({{"AMITY_LONG_PROTOCOL", protocol}});
    std::atomic<bool> sent = false;
    std::uint64_t handled = 0;
    const std::string told = testing::failure_of([&] {
      testing::threads("threads").run(2, config, [&](fabric::fabric& ours) {
        endpoint own(ours, config);
        auto& memory = own.memory();
        const local_segment mine = memory.allocate(8 * 64);
        const handler_id fail = own.add_handler("fail", [&](request& r) {
          ++handled;
          throw std::runtime_error("the Long with " + std::to_string(r.args()[0]));
        });
        const auto all = exchange(own, mine);
        own.barrier();
        if (own.rank() == 0) {
          for (std::uint64_t i = 0; i < 8; ++i) {
            own.request_long({all[1], i * 64}, fail, bytes_view(mine.data, 64), {i}, memory.implicit());
          }
          sent = true;
        } else {
          while (!sent) std::this_thread::yield();
        }
        own.wait_until("the end of the job", [] { return false; });
      });
    });
    EXPECT_NE(told.find("the Long with 0"), std::string::npos) << protocol << ": " << told;
    EXPECT_EQ(handled, 1u) << protocol;
  }
}

}  // namespace
}  // namespace amity::core
