/// What waits for one peer's credits holds up no other peer; segments that are released too early.

#include <vector>

#include "amity/core/control.hpp"
#include "amity/core/remote_endpoint.hpp"
#include "tests/core/poorer.hpp"
#include "tests/fabric/payloads.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

using testing::failure_of;
using testing::idle_until;
using testing::simulate;

void simulate_poorer(rank_t ranks, bool has_memory, const fabric::sim::sim_options& options,
                     const testing::endpoint_body& body) {
  fabric::sim::run(ranks, options, [&](fabric::fabric& whole) {
    fabric::testing::poorer transport(whole, has_memory);
    endpoint own(transport, {});
    body(own);
    return 0;
  });
}

/// Rank 0 sends rank 1 an operation on memory that no rank sends; returns how the job ends.
std::string end_of_operation(std::vector<std::byte> packet) {
  return failure_of([&] {
    simulate_poorer(2, false, {}, [&](endpoint& own) {
      remote_endpoint memory(own, {});
      const auto all = memory.exchange(memory.allocate(64));
      own.barrier();
      if (own.rank() == 0) own.send_control(1, packet_kind::remote, packet);
      own.barrier();
      own.barrier();
    });
  });
}

TEST(packet_memory, invalid_operation_names_peer) {
  testing::expect_parts(end_of_operation(std::vector<std::byte>(4)),
                        {"rank 0 sent an invalid packet: an operation on memory in 4 bytes"});
  std::vector<std::byte> packet(48);
  packet[0] = std::byte{99};
  testing::expect_parts(end_of_operation(packet), {"rank 0 sent an invalid packet: operation 99 on memory"});
  packet[0] = std::byte{4};  // an answer
  testing::expect_parts(end_of_operation(packet), {"rank 0 sent an invalid packet: an answer to operation 0"});
  packet[0] = std::byte{2};  // an atomic without its operands
  testing::expect_parts(end_of_operation(packet), {"rank 0 sent an invalid packet: atomic operation"});
}

// Rank 1 does nothing between these two moments, and packets to it use up their credits.
constexpr std::uint64_t stops_ns = 200'000, goes_on_ns = 5'000'000;
const fabric::sim::sim_options rank_1_stops{
    .credits = 2, .packet_bytes = 528, .stopped_ranks = {{.rank = 1, .from_ns = stops_ns, .until_ns = goes_on_ns}}};

struct counter final : control {
  int arrived = 0;
  void on_control(rank_t, bytes_view) override { ++arrived; }
  void on_newer_color(wave_color) override {}
  void on_generation(wave_color) override {}
};

TEST(what_waits_for_one_rank, lets_control_packets_to_others_pass) {
  simulate(3, rank_1_stops, [](endpoint& own) {
    counter count;
    own.set_control(&count);
    own.barrier();
    idle_until(own.transport(), 2 * stops_ns);
    if (own.rank() == 0) {
      for (int i = 0; i < 5; ++i) own.send_control(1, packet_kind::detector, {});
      own.send_control(2, packet_kind::detector, {});
      own.wait_until("credits", [&] { return own.control_sent(); });
    }
    own.wait_until("control packets", [&] { return count.arrived == (own.rank() == 0 ? 0 : own.rank() == 1 ? 5 : 1); });
    if (own.rank() == 2) {
      EXPECT_LT(own.transport().now_ns(), goes_on_ns);
    }
    own.barrier();
    own.set_control(nullptr);
  });
}

TEST(what_waits_for_one_rank, lets_answers_to_others_pass) {
  simulate_poorer(4, false, rank_1_stops, [](endpoint& own) {
    remote_endpoint memory(own, {});
    const auto all = memory.exchange(memory.allocate(4000));
    own.barrier();
    std::vector<std::byte> got(4000);
    // Rank 0 finds all requests at once, that of rank 1 between the other two.
    const std::uint64_t earlier_ns[] = {0, 10'000, 20'000, 5'000};
    idle_until(own.transport(), stops_ns - earlier_ns[own.rank()]);
    if (own.rank() != 0) memory.get({all[0], 0}, got);
    if (own.rank() > 1) {
      EXPECT_LT(own.transport().now_ns(), goes_on_ns);
    }
    own.barrier();
  });
}

/// Rank 0 ends its segment while rank 1 uses it; returns how the job ends.
std::string end_of_release(bool has_memory, const std::function<void(remote_endpoint&, const peer_segment&)>& use) {
  return failure_of([&] {
    simulate_poorer(2, has_memory, {}, [&](endpoint& own) {
      remote_endpoint memory(own, {});
      const own_segment mine = memory.allocate(100);
      const auto all = memory.exchange(mine);
      own.barrier();
      if (own.rank() == 0) memory.release(mine);
      own.barrier();
      if (own.rank() == 1) use(memory, all[0]);
      own.wait_until("the end of the job", [] { return false; });
    });
  });
}

TEST(a_segment_that_is_gone, is_named_to_who_uses_it_by_packets) {
  const std::initializer_list<std::string_view> parts{"rank 1 uses 8 bytes at offset 16 of segment 0 of this rank",
                                                      "release a segment after"};
  std::vector<std::byte> bytes(8);
  const auto put = [&](remote_endpoint& memory, const peer_segment& at) { memory.put({at, 16}, bytes); };
  const auto get = [&](remote_endpoint& memory, const peer_segment& at) { memory.get({at, 16}, bytes); };
  const auto atomic = [](remote_endpoint& memory, const peer_segment& at) { memory.atomic({at, 16}, {}); };
  testing::expect_parts(end_of_release(false, put), parts);
  testing::expect_parts(end_of_release(false, get), parts);
  testing::expect_parts(end_of_release(false, atomic), parts);
  // Where only atomics need packets, on memory of the fabric's.
  testing::expect_parts(end_of_release(true, atomic), parts);
}

TEST(a_segment_that_is_gone, is_not_read_for_an_answer_that_waits) {
  const std::string text = failure_of([] {
    simulate_poorer(2, false, rank_1_stops, [](endpoint& own) {
      remote_endpoint memory(own, {});
      const own_segment mine = memory.allocate(4000);
      const auto all = memory.exchange(mine);
      own.barrier();
      std::vector<std::byte> got(4000);
      idle_until(own.transport(), own.rank() == 0 ? stops_ns : stops_ns - 10'000);
      if (own.rank() == 1) memory.get({all[0], 0}, got);
      own.progress();
      memory.release(mine);
      own.wait_until("the end of the job", [] { return false; });
    });
  });
  testing::expect_parts(text, {"rank 1 uses 4000 bytes at offset 0 of segment 0", "release a segment after"});
}

// A rank that waits in a large send runs no handlers. Meanwhile puts to it hold their credits: it copies none of them.
TEST(puts_to_rank_in_large_send, hold_their_credits) {
  constexpr std::size_t put_bytes = 2'000'000, send_bytes = 200'000;
  constexpr std::uint64_t resume_ns = 5'000'000;  // before the sender lets handlers run
  simulate_poorer(3, false, {.credits = 8, .stopped_ranks = {{.rank = 2, .from_ns = 100'000, .until_ns = resume_ns}}},
                  [&](endpoint& own) {
                    remote_endpoint memory(own, {});
                    std::vector<std::byte> offered(put_bytes), content(put_bytes);
                    const own_segment mine = memory.attach(offered);
                    const std::vector<peer_segment> all = memory.exchange(mine);
                    bool taken = false;
                    const handler_id take = own.add_handler("take", [&](request&) { taken = true; });
                    own.barrier();
                    idle_until(own.transport(), 150'000);
                    if (own.rank() == 1) {  // its target has stopped
                      memory_stream pieces(bytes_view(content).first(send_bytes));
                      own.send_stream(2, take, pieces, send_bytes, endpoint::stream_target::whole);
                    }
                    if (own.rank() == 0) {
                      event sent, complete;
                      fabric::testing::fill(content, 3);
                      memory.put({all[1], 0}, content, {.source_free = &sent, .complete = &complete});
                      while (own.transport().now_ns() < resume_ns - 1'000'000) {
                        own.progress();
                        idle_until(own.transport(), own.transport().now_ns() + 10'000);
                      }
                      EXPECT_FALSE(sent.done());
                      memory.wait(complete);
                    }
                    own.wait_until("the message", [&] { return own.rank() != 2 || taken; });
                    own.barrier();
                    EXPECT_EQ(fabric::testing::is_payload(offered, 3), own.rank() == 1);
                  });
}

}  // namespace
}  // namespace amity::core
