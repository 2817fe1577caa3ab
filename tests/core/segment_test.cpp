/// Names of segments, and what is said of wrong ones; numbers serve again.

#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "amity/core/memory_service.hpp"
#include "amity/core/numbered.hpp"
#include "amity/core/prepared.hpp"
#include "tests/core/partly_reached.hpp"
#include "tests/core/poorer.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity::core {
namespace {

using testing::configured;
using testing::expect_error;
using testing::expect_parts;
using testing::failure_in_simulation;
using testing::failure_of;
using testing::simulate;

TEST(numbered, finds_what_is_there_and_nothing_that_has_gone) {
  numbered<int> all;
  EXPECT_EQ(all.find(0), nullptr);
  const std::uint32_t first = all.add(10), second = all.add(20);
  EXPECT_EQ(*all.find(first), 10);
  EXPECT_TRUE(all.remove(first));
  EXPECT_FALSE(all.remove(first));
  EXPECT_EQ(all.find(first), nullptr);
  const std::uint32_t again = all.add(30);
  EXPECT_NE(again, first);
  EXPECT_EQ(numbered<int>::index(again), numbered<int>::index(first));
  EXPECT_EQ(all.find(first), nullptr);
  EXPECT_EQ(*all.find(again), 30);
  EXPECT_EQ(*all.find_if([](int value) { return value < 30; }), 20);
  EXPECT_EQ(all.find_if([](int value) { return value < 20; }), nullptr);
  EXPECT_TRUE(all.remove(second));
  // Not that of the next generation either, before it is given.
  EXPECT_EQ(all.find(second + static_cast<std::uint32_t>(all.count_max)), nullptr);
}

TEST(segments, have_numbers_that_serve_again) {
  simulate(1, {}, [](endpoint& own) {
    auto& memory = own.memory();
    std::vector<std::uint64_t> words(8);
    for (int i = 0; i < 5000; ++i) {
      const local_segment mine = memory.attach(std::as_writable_bytes(std::span(words)));
      remote_segment opened = memory.open(mine.descriptor);
      memory.put({opened, 8}, std::as_bytes(std::span(&words[0], 1)));
      memory.close(opened);
      memory.release(mine);
      EXPECT_EQ(numbered<int>::index(mine.descriptor.number), 0u);
    }
  });
}

TEST(segments, are_closed_once) {
  simulate(1, {}, [](endpoint& own) {
    auto& memory = own.memory();
    const local_segment mine = memory.allocate(64);
    remote_segment opened = memory.open(mine.descriptor), copy = opened;
    memory.close(opened);
    expect_error([&] { memory.close(opened); }, {"memory::close", "the segment is not open"});
    expect_error([&] { memory.close(copy); }, {"memory::close", "the segment was closed before"});
    memory.release(mine);
  });
}

TEST(segments, are_as_many_as_there_are_numbers) {
  simulate(1, {}, [](endpoint& own) {
    auto& memory = own.memory();
    std::uint64_t word = 0;
    const mutable_bytes bytes = std::as_writable_bytes(std::span(&word, 1));
    const local_segment first = memory.attach(bytes);
    for (std::size_t i = 1; i < numbered<int>::count_max; ++i) memory.attach(bytes);
    expect_error([&] { memory.attach(bytes); }, {"memory::attach", "as it can number", "release some"});
    expect_error([&] { memory.allocate(8); }, {"memory::allocate", "as it can number", "release some"});
    memory.release(first);
    memory.attach(bytes);
  });
}

TEST(segments, are_released_by_their_name_once) {
  simulate(1, {}, [](endpoint& own) {
    auto& memory = own.memory();
    std::vector<std::uint64_t> words(8);
    const mutable_bytes bytes = std::as_writable_bytes(std::span(words));
    const local_segment first = memory.allocate(64), attached = memory.attach(bytes), again = memory.attach(bytes);
    remote_segment opened = memory.open(first.descriptor);
    const auto refused = [&](const local_segment& wrong) {
      const std::string_view remedy = "what memory::allocate or attach returned, before its release";
      expect_error([&] { memory.release(wrong); },
                   {"memory::release (rank 0)", "does not belong to this rank", remedy});
      expect_error([&] { exchange(own, wrong); }, {"exchange (rank 0)", "does not belong to this rank"});
    };
    refused({});
    local_segment forged = attached;
    forged.descriptor.number = first.descriptor.number;
    refused(forged);
    memory.release(attached);
    refused(attached);  // though its memory is still that of another one
    // Neither has taken the first one along.
    memory.put({opened, 0}, bytes.first(8));
    memory.close(opened);
    memory.release(first);
    refused(first);
    const local_segment second = memory.allocate(64);
    refused(first);
    memory.release(second);
    memory.release(again);
  });
}

class peer_segments : public testing::every_fabric {};
INSTANTIATE_TEST_SUITE_P(core, peer_segments, testing::every_job(), testing::job_name);

TEST_P(peer_segments, are_of_no_use_once_they_are_closed) {
  run([](endpoint& own) {
    auto& memory = own.memory();
    const handler_id take = own.add_handler("take", [](request&) { ADD_FAILURE() << "a Long was handled"; });
    const local_segment mine = memory.allocate(64);
    std::vector<remote_segment> all = exchange(own, mine);
    own.barrier();
    std::array<std::byte, 8> word{};
    for (remote_segment& each : all) {
      expect_error(
          [&] {
            memory.atomic({each, 0}, {.op = static_cast<fabric::atomic_op>(99)});
          },
          {"memory::atomic", "99 is not an atomic_op", "fetch to bit_xor"});
      memory.close(each);
      const std::string_view problem = "the segment is not open", remedy = "what exchange returned";
      expect_error([&] { memory.close(each); }, {"memory::close", problem, remedy});
      expect_error([&] { memory.put({each, 0}, word); }, {"memory::put", problem, remedy});
      expect_error([&] { memory.get({each, 0}, word); }, {"memory::get", problem, remedy});
      expect_error([&] { memory.atomic({each, 0}, {}); }, {"memory::atomic", problem, remedy});
      expect_error([&] { own.request_long({each, 0}, take, word); }, {"request_long", problem, remedy});
      expect_error([&] { own.prepare_long({each, 0}, 0, 8); }, {"prepare_long", problem, remedy});
    }
    own.barrier();
    memory.release(mine);
    own.barrier();
    own.remove_handler(take);
  });
}

/// Rank 1 uses memory of rank 0 by packets; rank 0 makes progress meanwhile. Returns how the job ends.
template <class Use>
std::string end_of_use(Use&& use) {
  return failure_of([&] {
    fabric::sim::run(2, {}, [&](fabric::fabric& whole) {
      fabric::testing::poorer transport(whole, false);
      endpoint own(transport, {});
      auto& memory = own.memory();
      std::vector<std::uint64_t> words(16);
      use(own, memory, std::as_writable_bytes(std::span(words)));
      own.wait_until("the end of the job", [] { return false; });
      return 0;
    });
  });
}

TEST(descriptors, found_wrong_by_their_owner) {
  const auto use = [](std::uint32_t number, std::uint64_t bytes, std::size_t offset) {
    return end_of_use([=](endpoint& own, core::memory& memory, mutable_bytes words) {
      segment_descriptor forged = exchange_descriptors(own, memory.attach(words).descriptor)[0];
      forged.number = number;
      forged.bytes = bytes;
      own.barrier();
      if (own.rank() == 1) memory.get({memory.open(forged), offset}, words.first(8));
    });
  };
  expect_parts(use(7, 128, 16), {"rank 1 uses 8 bytes at offset 16 of segment 7 of this rank", "or never existed"});
  expect_parts(use(0, 1000, 136), {"rank 1 uses 8 bytes at offset 136 of segment 0 of this rank, which has 128 bytes",
                                   "without a change, to those who open it"});
}

TEST(descriptors, hold_in_their_own_generation) {
  const std::string text = end_of_use([](endpoint& own, core::memory& memory, mutable_bytes words) {
    local_segment mine = memory.attach(words);
    const auto all = exchange(own, mine);
    own.barrier();
    memory.release(mine);
    mine = memory.attach(words);
    own.barrier();
    if (own.rank() == 1) memory.get({all[0], 0}, words.first(8));
  });
  expect_parts(text, {"rank 1 uses 8 bytes at offset 0 of segment 0 of this rank", "has been released"});
}

// Memory is the rank's; Long messages need a world of both ranks.
TEST(descriptors, hold_in_every_world) {
  testing::run_worlds(testing::simulated("sim", {}), 3, [](world& w) {
    const auto copy = w.duplicate(), part = w.split({.color = w.rank() % 2});
    endpoint& own = copy->endpoint();
    auto& memory = own.memory();
    EXPECT_EQ(&memory, &part->endpoint().memory());
    const auto all = exchange_descriptors(own, memory.allocate(64).descriptor);
    const auto next = static_cast<std::size_t>(w.rank() + 1) % 3;
    const remote_segment opened = memory.open(all[next]);
    memory.put({opened, 8}, std::as_bytes(std::span("0123456", 1)));
    const handler_id take = part->endpoint().add_handler("take", [](request&) {});
    const remote_address at{opened, 0};
    const auto send = [&] { part->endpoint().request_long(at, take, {}); };
    part->barrier();
    if (w.rank() != 2) {  // rank 2 and its next one, 0, are in one part
      expect_error(send, {"endpoint::request_long",
                          "of rank " + std::to_string(next) + " of the job, which is not in this world"});
    } else {
      send();
    }
    segment_descriptor forged = all[next];
    forged.lane = w.rank();
    expect_error([&] { memory.open(forged); },
                 {"remote_memory::open", "the key is none of rank " + std::to_string(w.rank())});
    w.barrier();
    part->barrier();
    w.barrier();
  });
}

// Whichever way the payload takes.
TEST(descriptors, released_end_the_job_by_each_protocol) {
  for (const char* protocol : {"packed", "ordered", "put_sync_send", "chained", "rendezvous", "reassembly"}) {
    const auto body = [](endpoint& own) {
      auto& memory = own.memory();
      const handler_id take = own.add_handler("take", [](request&) {});
      const local_segment mine = memory.allocate(100'000);
      const auto all = exchange(own, mine);
      if (own.rank() == 0) memory.release(mine);
      own.barrier();
      if (own.rank() == 1) own.request_long({all[0], 0}, take, {mine.data, 100'000}, {}, memory.implicit());
      own.wait_until("the end of the job", [] { return false; });
    };
    expect_parts(failure_in_simulation(2, {}, body, configured({{"AMITY_LONG_PROTOCOL", protocol}})),
                 {"(rank 0): rank 1", "segment", "release a segment after"});
  }
}

TEST(exchange, failure_leaves_nothing_open) {
  testing::simulated("sim", {}).run(3, {}, [](fabric::fabric& whole) {
    fabric::testing::partly_reached reached(whole);
    endpoint own(reached, {});
    auto& memory = own.memory();
    const local_segment mine = memory.allocate(64);
    expect_error([&] { exchange(own, mine); }, {"the last rank's memory is far"});
    EXPECT_EQ(reached.open_now(), 0);
    own.barrier();
    memory.release(mine);
  });
}

// The target gets the payload in a round of progress: what it meets there ends the job as in a handler.
TEST(round_of_progress, failure_ends_job) {
  const auto body = [](endpoint& own) {
    auto& memory = own.memory();
    const handler_id take = own.add_handler("take", [](request&) {});
    const local_segment mine = memory.allocate(4000);
    const auto all = exchange(own, mine);
    own.barrier();
    if (own.rank() == 1) own.request_long({all[0], 0}, take, {mine.data, 4000}, {}, memory.implicit());
    if (own.rank() == 0) {
      while (own.own_engine().served().memory().receiver.slots().incomplete() == 0) own.progress();
      memory.release(mine);
      expect_error([&] { own.progress(); }, {"segment 0 of this rank, which has been released"});
    }
    own.wait_until("the end of the job", [] { return false; });
  };
  expect_parts(failure_in_simulation(2, {}, body, configured({{"AMITY_LONG_PROTOCOL", "rendezvous"}})),
               {"rank 1 uses 4000 bytes at offset 0 of segment 0 of this rank, which has been released"});
}

// Attached memory is read by its owner, whose answer comes when who has asked does not wait for it any more.
TEST(answer, late_changes_nothing) {
  std::atomic<int> phase = 0;
  std::atomic<bool> left_barrier = false;  // of rank 1, which answers in the barrier otherwise
  const auto reach = [&](int wanted) {
    while (phase < wanted) std::this_thread::yield();
  };
  std::vector<std::uint64_t> got(8);
  const std::string told = failure_of([&] {
    testing::threads("threads").run(3, {}, [&](fabric::fabric& whole) {
      fabric::testing::poorer transport(whole, false);
      endpoint own(transport, {});
      auto& memory = own.memory();
      std::vector<std::uint64_t> words(8, 7);
      const local_segment mine = memory.attach(std::as_writable_bytes(std::span(words)));
      const auto all = exchange(own, mine);
      own.barrier();
      const auto look_again = [&] {
        for (int i = 0; i < 50; ++i) {
          try {
            own.progress();
          } catch (const job_aborted&) {
          }
        }
      };
      if (own.rank() == 1) left_barrier = true;
      if (own.rank() == 0) {
        while (!left_barrier) std::this_thread::yield();
        phase = 1;
        EXPECT_THROW(memory.get({all[1], 0}, std::as_writable_bytes(std::span(got))), job_aborted);
        phase = 2;
        reach(3);
        look_again();
        phase = 4;
      } else if (own.rank() == 1) {
        reach(2);
        look_again();
        phase = 3;
        reach(4);
      } else {
        reach(1);
        own.transport().abort();
      }
      own.wait_until("the end of the job", [] { return false; });
    });
  });
  EXPECT_NE(told.find("ended the job"), std::string::npos) << told;
  EXPECT_EQ(got, std::vector<std::uint64_t>(8));
}

}  // namespace
}  // namespace amity::core
