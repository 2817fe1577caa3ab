/// Records: their order, credits of answers, forged packets, and segments that are released too early. What
/// waits for one peer's credits holds up no other peer.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amity/core/control.hpp"
#include "amity/core/memory_service.hpp"
#include "tests/core/poorer.hpp"
#include "tests/fabric/payloads.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

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

/// The message of the exception that ends such a job.
std::string failure_in_poorer(rank_t ranks, const fabric::sim::sim_options& options, const testing::endpoint_body& body,
                              bool has_memory = false) {
  return failure_of([&] { simulate_poorer(ranks, has_memory, options, body); });
}

/// A segment of each rank, which all have opened.
struct shared_segments {
  core::memory& memory;
  local_segment mine;
  std::vector<remote_segment> all;
};

shared_segments share_segments(endpoint& own, std::size_t bytes) {
  auto& memory = own.memory();
  const local_segment mine = memory.allocate(bytes);
  auto all = exchange(own, mine);
  own.barrier();
  return {memory, mine, std::move(all)};
}

using bytes_of_records = std::vector<std::byte>;

/// Rank 0 sends rank 1 a packet of a service that no rank sends; returns how the job ends.
std::string end_of_packet(service which, const bytes_of_records& packet, std::uint16_t sequence = 0) {
  return failure_in_poorer(2, {}, [&](endpoint& own) {
    share_segments(own, 64);
    if (own.rank() == 0) own.own_engine().send_control(1, 0, service_header(which, sequence), packet);
    own.barrier();
    own.barrier();
  });
}

bytes_of_records bytes_of(const record& what, std::size_t content_bytes) {
  const bytes_view head = std::as_bytes(std::span(&what, 1));
  bytes_of_records all(head.begin(), head.end());
  all.resize(all.size() + content_bytes);
  return all;
}

TEST(records, invalid_packet_names_peer) {
  const auto refused = [](const bytes_of_records& packet, std::string_view why) {
    testing::expect_parts(end_of_packet(service::records, packet),
                          {std::string("rank 0 sent an invalid packet: ") + std::string(why)});
  };
  refused(bytes_of_records(4), "a record of 4 bytes");
  refused(bytes_of({.bytes = 9}, 8), "a record with 9 bytes of content in a packet that has 8");
  refused(bytes_of({.owner = static_cast<record_owner>(7)}, 0), "a record of owner 7");
  refused(bytes_of({.act = 3}, 0), "flush 0 after flush 0");
  refused(bytes_of({.owner = record_owner::memory, .act = 99}, 0), "operation 99 on memory");
  refused(bytes_of({.owner = record_owner::memory, .act = 2, .bytes = 8}, 8), "operation 2 of 8 bytes");
  refused(bytes_of({.owner = record_owner::memory, .act = 3, .word_bytes = 3, .bytes = 16}, 16),
          "atomic operation 0 on 3 bytes at offset 0");
  // The number of a packet that arrived before: a replay.
  testing::expect_parts(end_of_packet(service::records, bytes_of({.at = 1}, 0), check_mask),
                        {"rank 0 sent an invalid packet: records that arrived before"});
}

TEST(records, invalid_answer_names_peer) {
  const auto refused = [](const std::vector<std::uint64_t>& words, std::string_view why) {
    const bytes_view bytes = std::as_bytes(std::span(words));
    testing::expect_parts(end_of_packet(service::answers, {bytes.begin(), bytes.end()}),
                          {std::string("rank 0 sent an invalid packet: ") + std::string(why)});
  };
  refused({1}, "an answer of 8 bytes");
  refused({std::uint64_t{8} << 32 | 5, 0, 0}, "8 bytes at 0 for question 0x5, which this rank has not asked");
  refused({no_question, 3}, "an answer to flush 3 of 0");
  testing::expect_parts(end_of_packet(static_cast<service>(9), {}), {"a packet of service 9"});
}

// Rank 2 answers what rank 0 has asked rank 1, which has stopped.
TEST(records, answer_of_other_peer_refused) {
  const fabric::sim::sim_options one_stops{.stopped_ranks = {{.rank = 1, .from_ns = 200'000, .until_ns = 5'000'000}}};
  const std::string text = failure_in_poorer(3, one_stops, [](endpoint& own) {
    const auto [memory, mine, all] = share_segments(own, 64);
    idle_until(own.transport(), 300'000);
    std::array<std::byte, 8> got{};
    event complete;
    if (own.rank() == 0) memory.get({all[1], 0}, got, complete);
    const std::array<std::uint64_t, 3> answer{std::uint64_t{8} << 32, 0, 7};
    if (own.rank() == 2) own.own_engine().send(0, service::answers, std::as_bytes(std::span(answer)));
    own.wait_until("the end of the job", [] { return false; });
  });
  testing::expect_parts(text, {"(rank 0)", "rank 2 sent an invalid packet: 8 bytes at 0 for question 0"});
}

// Puts to one word, without an event: the last one stays, whatever order their packets take.
TEST(records, carried_out_in_order) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const fabric::sim::sim_options rough{.seed = seed, .delay_ns_max = 5000, .reorder_percent = 50, .credits = 6};
    simulate_poorer(3, false, rough, [](endpoint& own) {
      const auto [memory, mine, all] = share_segments(own, 64);
      const auto to = static_cast<std::size_t>(own.rank() + 1) % 3;
      constexpr std::uint64_t count = 200;
      std::array<std::uint64_t, count + 1> values{};
      std::uint64_t before = 0;
      for (std::uint64_t i = 1; i <= count; ++i) {
        values[i] = i;
        memory.put({all[to], 8}, std::as_bytes(std::span(&values[i], 1)), {});
        if (i % 50 == 0) {
          EXPECT_EQ(memory.atomic({all[to], 8}, {.op = fabric::atomic_op::add, .operand = 1000}), i);
          memory.get({all[to], 8}, std::as_writable_bytes(std::span(&before, 1)));
          EXPECT_EQ(before, i + 1000);
        }
      }
      own.barrier();  // completes what has no event
      EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(mine.data + 8), count + 1000);
      own.barrier();
    });
  }
}

/// The second owner of records in these tests: it checks the memory when a notice arrives.
struct notice_taker final : record_memory {
  std::byte* place_of(rank_t, std::uint32_t, std::uint64_t, std::uint64_t) const override { return nullptr; }
  void on_notice(rank_t, std::uint64_t number) override {
    EXPECT_GE(*word, number);
    ++taken;
  }
  const std::uint64_t* word = nullptr;
  std::uint64_t taken = 0;
};

// A notice of one owner comes after what another owner has put before it.
TEST(records, owners_share_order) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    simulate_poorer(2, false, {.seed = seed, .delay_ns_max = 5000, .reorder_percent = 50}, [](endpoint& own) {
      auto& memory = own.memory();
      const local_segment mine = memory.allocate(64);
      notice_taker taker;
      taker.word = reinterpret_cast<const std::uint64_t*>(mine.data);
      record_stream& stream = own.own_engine().served().records();
      memory_records notices(own.own_engine(), stream, record_owner::openshmem, fabric::claim::no_epoch, taker);
      const auto all = exchange(own, mine);
      own.barrier();
      const rank_t peer = 1 - own.rank();
      constexpr std::uint64_t count = 100;
      for (std::uint64_t i = 1; i <= count; ++i) {
        event appended;
        memory.put({all[static_cast<std::size_t>(peer)], 0}, std::as_bytes(std::span(&i, 1)),
                   {.source_free = &appended});
        memory.wait(appended);
        std::size_t moved = 0;
        own.wait_until("a credit", [&] { return notices.put_notify({peer, 0, 0}, {}, moved, i); });
        stream.send(peer);
      }
      own.wait_until("the notices", [&] { return taker.taken == count; });
      own.barrier();
    });
  }
}

/// Keeps what arrives.
struct record_keeper final : record_executor {
  explicit record_keeper(std::vector<std::pair<record, std::vector<std::byte>>>& into) : arrived(into) {}
  bool execute(rank_t, const record& what, bytes_view content, answers&) override {
    arrived.emplace_back(what, std::vector<std::byte>(content.begin(), content.end()));
    return true;
  }
  std::vector<std::pair<record, std::vector<std::byte>>>& arrived;
};

// Where the last record ends, in the same packet, and with all else equal.
TEST(records, neighboring_contents_join) {
  simulate_poorer(2, false, {}, [](endpoint& own) {
    std::vector<std::pair<record, std::vector<std::byte>>> arrived;
    own.own_engine().served().set_windows(std::make_unique<record_keeper>(arrived));
    record_stream& stream = own.own_engine().served().records();
    own.barrier();
    if (own.rank() == 0) {
      const auto next = [](std::uint64_t at, std::uint8_t act, std::uint32_t object = 7) {
        return record{.owner = record_owner::windows, .act = act, .bytes = 5, .object = object, .at = at};
      };
      std::uint8_t filled = 0;
      const auto fill = [&](std::byte* content) {
        for (int i = 0; i < 5; ++i) content[i] = static_cast<std::byte>(filled++);
      };
      EXPECT_EQ(stream.tail(1).try_extend(next(100, 1)), nullptr) << "no packet is open";
      fill(stream.try_append(1, next(100, 1), tracking::otherwise, fabric::claim::ordinary));
      for (const std::uint64_t at : {105, 110, 115}) fill(stream.tail(1).try_extend(next(at, 1)));
      EXPECT_EQ(stream.tail(1).try_extend(next(121, 1)), nullptr);
      EXPECT_EQ(stream.tail(1).try_extend(next(120, 2)), nullptr);
      EXPECT_EQ(stream.tail(1).try_extend(next(120, 1, 8)), nullptr);
      record asks = next(120, 1);
      asks.question = 3;
      EXPECT_EQ(stream.tail(1).try_extend(asks), nullptr);
      fill(stream.try_append(1, next(120, 2), tracking::otherwise, fabric::claim::ordinary));
      stream.send(1);
      EXPECT_EQ(stream.tail(1).try_extend(next(125, 2)), nullptr) << "the packet has left";
    } else {
      own.wait_until("the records", [&] { return arrived.size() == 2; });
      EXPECT_EQ(arrived[0].first.at, 100u);
      ASSERT_EQ(arrived[0].second.size(), 20u);
      for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(arrived[0].second[i], static_cast<std::byte>(i));
      EXPECT_EQ(arrived[1].first.at, 120u);
      EXPECT_EQ(arrived[1].second.size(), 5u);
    }
    own.barrier();
  });
}

// A get is answered by many packets, more than there are credits; the records behind it wait for it.
TEST(records, wait_for_credits_of_answers) {
  constexpr std::size_t bytes = 100'000;
  simulate_poorer(3, false, {.delay_ns_max = 3000, .reorder_percent = 30, .credits = 2}, [](endpoint& own) {
    auto& memory = own.memory();
    const local_segment mine = memory.allocate(bytes);
    fabric::testing::fill({mine.data, bytes}, static_cast<std::uint64_t>(own.rank()));
    const auto all = exchange(own, mine);
    own.barrier();
    std::vector<std::vector<std::byte>> got(all.size(), std::vector<std::byte>(bytes));
    event complete;
    for (std::size_t i = 0; i < all.size(); ++i) memory.get({all[i], 0}, got[i], complete);
    memory.wait(complete);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(fabric::testing::is_payload(got[i], i));
    own.barrier();
  });
}

// The answers of a large get use up the credits, so a flush waits behind it at the target.
TEST(records, answer_flush_behind_kept_ones) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    simulate_poorer(2, false, {.seed = seed, .delay_ns_max = 3000, .credits = 4}, [](endpoint& own) {
      const auto [memory, mine, all] = share_segments(own, 100'000);
      if (own.rank() == 0) {
        std::vector<std::byte> got(100'000);
        event gets, puts;
        memory.get({all[1], 0}, got, gets);
        memory.put({all[1], 0}, std::as_bytes(std::span("flush")), {.complete = &puts});
        idle_until(own.transport(), own.transport().now_ns() + 100'000);
        memory.wait(puts);
        memory.wait(gets);
      }
      own.barrier();
    });
  }
}

// A put of many packets, for which credits return one by one: rounds that send parts of it are progress.
TEST(records, large_put_advances) {
  simulate_poorer(2, false, {.credits = 2}, [](endpoint& own) {
    const auto [memory, mine, all] = share_segments(own, 200'000);
    if (own.rank() == 0) {
      std::vector<std::byte> content(200'000);
      fabric::testing::fill(content, 5);
      event complete;
      memory.put({all[1], 0}, content, {.complete = &complete});
      // Without an arrival but credits, which are no events.
      std::uint64_t advanced = 0, rounds = 0;
      for (; own.own_engine().served().memory().operations.kept() > 0; ++rounds) {
        if (own.progress()) ++advanced;
        idle_until(own.transport(), own.transport().now_ns() + 5000);
      }
      EXPECT_GT(advanced, rounds / 2);
      memory.wait(complete);
    }
    own.barrier();
    if (own.rank() == 1) {
      EXPECT_TRUE(fabric::testing::is_payload({mine.data, 200'000}, 5));
    }
    own.barrier();
  });
}

/// Rank 2 takes no answers of its gets, so rank 0 keeps records of rank 2 that it cannot answer.
TEST(records, barrier_beside_peer_that_takes_no_answers) {
  constexpr std::uint64_t idle_ns = 10'000'000;
  testing::job_kind records = testing::simulated("records", {.credits = 4, .packet_bytes = 528});
  const auto whole_job = records.run;
  records.run = [&](rank_t ranks, const settings& config, const std::function<void(fabric::fabric&)>& body) {
    return whole_job(ranks, config, [&](fabric::fabric& whole) {
      fabric::testing::poorer transport(whole, false);
      body(transport);
    });
  };
  testing::run_worlds(records, 3, [](world& w) {
    endpoint& own = w.endpoint();
    auto& memory = own.memory();
    std::vector<std::byte> bytes(8000);
    const local_segment mine = memory.attach(bytes);
    const auto all = exchange(own, mine);
    const auto part = w.split({.color = w.rank() / 2});
    own.barrier();
    const std::uint64_t begin_ns = w.now_ns();
    event complete;
    std::vector<std::byte> got(8000);
    if (w.rank() == 2) {
      for (int i = 0; i < 4; ++i) memory.get({all[0], 0}, got, complete);
      own.progress();
      testing::idle_until(own.transport(), begin_ns + idle_ns);
      memory.wait(complete);
    } else {
      testing::idle_until(own.transport(), begin_ns + idle_ns / 4);
      own.progress();
      part->barrier();
      EXPECT_LT(w.now_ns(), begin_ns + idle_ns);
    }
    own.barrier();
  });
}

// Ranks 2 and 3 use memory of rank 0 all the time, which is in a barrier with rank 1 alone.
TEST(records, barrier_beside_flood_of_gets) {
  testing::run_worlds(testing::simulated("sim", {.credits = 16, .packet_bytes = 528}), 4, [](world& w) {
    endpoint& own = w.endpoint();
    auto& memory = own.memory();
    std::vector<std::uint64_t> words(500);
    const local_segment mine = memory.attach(std::as_writable_bytes(std::span(words)));
    const auto all = exchange(own, mine);
    const auto part = w.split({.color = w.rank() / 2});
    bool stop = false;
    const handler_id end = own.add_handler("end", [&](request&) { stop = true; });
    own.barrier();
    if (w.rank() == 0) memory.put({all[1], 0}, std::as_bytes(std::span(words)).first(8), {});
    if (w.rank() < 2) {
      for (int i = 0; i < 20; ++i) part->barrier();
      if (w.rank() == 0) own.request_short(2, end), own.request_short(3, end);
    } else {
      std::vector<std::byte> got(8 * 4000);
      while (!stop) {
        event complete;
        for (std::size_t i = 0; i < 8; ++i)
          memory.get({all[0], 0}, mutable_bytes(got).subspan(i * 4000, 4000), complete);
        memory.wait(complete);
      }
    }
    own.barrier();
  });
}

/// Packets of records to rank 1 leave twice.
TEST(records, replay_of_stalled_packet_refused) {
  const std::string text = failure_in_poorer(2, {.credits = 2}, [](endpoint& own) {
    const auto [memory, mine, all] = share_segments(own, 100'000);
    std::vector<std::byte> got(100'000);
    event complete;
    if (own.rank() == 0) {
      // More answers than there are credits, which this rank does not take: the records wait at rank 1.
      fabric::fabric& transport = own.transport();
      memory.get({all[1], 0}, got, complete);
      idle_until(transport, transport.now_ns() + 100'000);
      record again{.owner = record_owner::memory, .act = 0};
      for (std::uint16_t number = 0; number < 8; ++number) {
        if (transport.try_send(1, service_header(service::records, number).word(), std::as_bytes(std::span(&again, 1)),
                               fabric::claim::answer) == status::ok)
          idle_until(transport, transport.now_ns() + 100'000);
      }
    }
    own.wait_until("the end of the job", [] { return false; });
  });
  testing::expect_parts(text, {"(rank 1)", "rank 0 sent an invalid packet: records that arrived before"});
}

TEST(records, replace_small_transfers_that_wake_nobody) {
  constexpr std::size_t small = 64;
  fabric::sim::run(2, {}, [](fabric::fabric& whole) {
    fabric::testing::drowsy transport(whole, small);
    endpoint own(transport, {});
    const auto [memory, mine, all] = share_segments(own, 2 * small);
    if (own.rank() == 0) {
      std::vector<std::byte> from(small + 1, std::byte{7}), into(small + 1);
      const auto packets_of = [&](std::size_t bytes) {
        const int before = transport.packets();
        memory.put({all[1], 0}, bytes_view(from).first(bytes));
        memory.get({all[1], 0}, mutable_bytes(into).first(bytes));
        EXPECT_EQ(into[bytes - 1], std::byte{7});
        return transport.packets() - before;
      };
      EXPECT_GE(packets_of(small), 2);
      EXPECT_EQ(packets_of(small + 1), 0);
    }
    own.barrier();
    return 0;
  });
}

// Sequence numbers return after 2^15 packets.
TEST(records, number_packets_in_circle) {
  simulate_poorer(2, false, {.reorder_percent = 20}, [](endpoint& own) {
    const auto [memory, mine, all] = share_segments(own, 64);
    event complete;
    for (int i = 0; own.rank() == 0 && i < 35'000; ++i)
      memory.atomic({all[1], 0}, {.op = fabric::atomic_op::add, .operand = 1}, nullptr, complete);
    memory.wait(complete);
    own.barrier();
    EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(mine.data), own.rank() == 1 ? 35'000u : 0u);
    own.barrier();
  });
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
    const auto [memory, mine, all] = share_segments(own, 4000);
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
std::string end_of_release(bool has_memory, const std::function<void(core::memory&, const remote_segment&)>& use) {
  const auto body = [&](endpoint& own) {
    const auto [memory, mine, all] = share_segments(own, 100);
    if (own.rank() == 0) memory.release(mine);
    own.barrier();
    if (own.rank() == 1) use(memory, all[0]);
    own.wait_until("the end of the job", [] { return false; });
  };
  return failure_in_poorer(2, {}, body, has_memory);
}

TEST(released_segment, named_to_its_users) {
  const std::initializer_list<std::string_view> parts{"rank 1 uses 8 bytes at offset 16 of segment 0 of this rank",
                                                      "release a segment after"};
  std::vector<std::byte> bytes(8);
  const auto put = [&](core::memory& memory, const remote_segment& at) { memory.put({at, 16}, bytes); };
  const auto get = [&](core::memory& memory, const remote_segment& at) { memory.get({at, 16}, bytes); };
  const auto atomic = [](core::memory& memory, const remote_segment& at) { memory.atomic({at, 16}, {}); };
  testing::expect_parts(end_of_release(false, put), parts);
  testing::expect_parts(end_of_release(false, get), parts);
  testing::expect_parts(end_of_release(false, atomic), parts);
  // Where only atomics need packets, on memory of the fabric's.
  testing::expect_parts(end_of_release(true, atomic), parts);
}

TEST(released_segment, not_read_for_late_answer) {
  const std::string text = failure_in_poorer(2, rank_1_stops, [](endpoint& own) {
    const auto [memory, mine, all] = share_segments(own, 4000);
    std::vector<std::byte> got(4000);
    idle_until(own.transport(), own.rank() == 0 ? stops_ns : stops_ns - 10'000);
    if (own.rank() == 1) memory.get({all[0], 0}, got);
    own.progress();
    memory.release(mine);
    own.wait_until("the end of the job", [] { return false; });
  });
  testing::expect_parts(text, {"of segment 0 of this rank, which has been released", "release a segment after"});
}

// A rank that waits in a large send runs no handlers. Meanwhile puts to it hold their credits: it copies none of them.
TEST(puts_to_rank_in_large_send, hold_their_credits) {
  constexpr std::size_t put_bytes = 2'000'000, send_bytes = 200'000;
  constexpr std::uint64_t resume_ns = 5'000'000;  // before the sender lets handlers run
  simulate_poorer(3, false, {.credits = 8, .stopped_ranks = {{.rank = 2, .from_ns = 100'000, .until_ns = resume_ns}}},
                  [&](endpoint& own) {
                    auto& memory = own.memory();
                    std::vector<std::byte> offered(put_bytes), content(put_bytes);
                    const local_segment mine = memory.attach(offered);
                    const std::vector<remote_segment> all = exchange(own, mine);
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
