/// The fabric ofi when a rank ends the job, is gone, or only seems to be.

#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "mailbox.hpp"
#include "ofi_pair.hpp"
#include "tests/support/errors.hpp"

namespace amity::fabric::testing {
namespace {

using amity::testing::error_of;

class over_network : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(rxm, over_network, ::testing::Values("tcp;ofi_rxm"), [](const auto&) { return "rxm"; });
INSTANTIATE_TEST_SUITE_P(net, over_network, ::testing::Values("net"), [](const auto&) { return "net"; });

TEST(an_abort, is_told_by_packets_where_no_launcher_tells_it) {
  ofi_pair{.provider = "net"}.run([](fabric& own) {
    mailbox mail(own);
    mail.barrier();
    if (own.rank() == 1) own.abort();
    EXPECT_THROW(mail.until([] { return false; }), job_aborted);
  });
}

/// What the contract's tests of remote memory pass over where it is missing.
void has_remote_memory(const std::string& provider, bool atomics, bool through_sockets) {
  ofi_pair{.provider = provider, .sealed = false}.run([=](fabric& own) {
    EXPECT_NE(own.remote(), nullptr);
    EXPECT_EQ(own.caps().remote.notify_bits, 32u);
    EXPECT_EQ(own.caps().remote.atomics, atomics);
    EXPECT_EQ(own.caps().remote.packed_bytes_max, through_sockets ? own.caps().packet_bytes_max : 2048);
    EXPECT_EQ(own.caps().remote.woken_bytes_max, through_sockets ? own.caps().packet_bytes_max : 0);
  });
}

TEST(remote_memory, is_there_over_rxm) { has_remote_memory("tcp;ofi_rxm", true, true); }
TEST(remote_memory, is_there_over_net) { has_remote_memory("net", false, true); }
TEST(remote_memory, is_there_over_shm) { has_remote_memory("shm", true, false); }

// One-sided operations of a provider carry no seal.
TEST(remote_memory, absent_if_sealed) {
  ofi_pair{.provider = "net"}.run([](fabric& own) {
    EXPECT_EQ(own.remote(), nullptr);
    EXPECT_FALSE(own.caps().remote.available);
  });
}

void a_rank_is_gone(const std::string& provider, rank_t threads = 1) {
  const auto lane_main = [threads](fabric& own) -> int {
    mailbox mail(own);
    mail.barrier();
    if (own.rank() / threads == 1) ::_exit(0);  // as if it had been killed, but a success for whoever runs this test
    mail.until([] { return false; });
    return 0;
  };
  ofi_pair{.provider = provider, .threads = threads}.run_processes([&](lanes& own) {
    const std::string problem = error_of([&] { run_lanes(own, lane_main); });
    EXPECT_TRUE(problem.starts_with("amity: AMITY_FABRIC=ofi (rank 0): rank 1 has vanished: ")) << problem;
  });
}

/// A process that reads nothing stops the data of its peers, and its system then has less and less to acknowledge.
TEST_P(over_network, rank_that_computes_is_not_gone) {
  ofi_pair{.provider = GetParam(), .credits = 256}.run([](fabric& own) {
    mailbox mail(own, done_with);
    mail.barrier();
    if (own.rank() == 1) {
      std::this_thread::sleep_for(std::chrono::seconds(9));
    } else {
      const std::vector<std::byte> large(own.caps().packet_bytes_max);
      while (own.try_send(1, 0, large, claim::ordinary) == status::ok) {
      }
    }
    mail.barrier();
  });
}

/// The peer is well: it is not said to have vanished.
TEST_P(over_network, failed_operation_names_memory_that_is_gone) {
  ofi_pair{.provider = GetParam(), .sealed = false}.run([](fabric& own) {
    mailbox mail(own, done_with);
    const segment made = own.remote()->create(100'000);
    const segment_key key = key_in(mail.exchange(made.key.bytes).at(1));
    if (own.rank() == 1) own.remote()->destroy(made);
    mail.barrier();
    const std::vector<std::byte> bytes(100'000);
    if (own.rank() == 1) {
      EXPECT_ANY_THROW(mail.until([] { return false; }));
      return;
    }
    mail.on_done([](std::uint64_t) {});
    static_cast<void>(own.remote()->put(own.remote()->open(1, key), 0, bytes, {.complete = 1}));
    const std::string problem = error_of([&] { mail.until([] { return false; }); });
    EXPECT_TRUE(
        problem.starts_with("amity: AMITY_FABRIC=ofi (rank 0): an operation in the memory of rank 1 has failed: "))
        << problem;
  });
}

// The packet has a valid seal, so it shows an error of the peer.
TEST(invalid_packet, job_ends_with_name_of_peer) {
  ofi_pair{.provider = "net", .credits = 2}.run([](fabric& own) {
    mailbox mail(own, [](const packet& p) { return p.header == 7 ? disposition::keep : disposition::release; });
    mail.barrier();
    if (own.rank() == 1) {
      for (const claim of : {claim::ordinary, claim::ordinary, claim::no_epoch, claim::answer}) {
        slot filled;
        mail.until([&] { return own.acquire(0, filled, of) == status::ok; });
        own.commit(0, 7, filled, 1000);
        if (of == claim::answer) own.commit(0, 7, filled, 1000);  // without a credit
      }
      EXPECT_THROW(mail.until([] { return false; }), job_aborted);
      return;
    }
    const std::string problem = error_of([&] { mail.until([] { return false; }); });
    EXPECT_EQ(problem,
              "amity: AMITY_FABRIC=ofi (rank 0): rank 1 sent an invalid packet: it was sent without a credit, or "
              "releases more packets than it has received; run the same build of the program with the same AMITY_OFI "
              "settings on all ranks");
  });
}

/// Others learn only later that they, too, may leave.
TEST_P(over_network, rank_that_has_left_takes_all_that_is_sent) {
  constexpr int credits = 4;
  // The one that has left does not give up waiting for the other one's goodbye.
  ofi_pair{.provider = GetParam(), .credits = credits, .peer_seconds = 3600}.run([](fabric& own) {
    mailbox mail(own, done_with);
    mail.barrier();
    if (own.rank() == 1) return;
    const std::vector<std::byte> large(own.caps().packet_bytes_max);
    for (int i = 0; i < 20 * credits; ++i) mail.send(1, 0, large);
  });
}

TEST_P(over_network, rank_that_is_gone_is_missed) { a_rank_is_gone(GetParam()); }
TEST(a_rank_that_is_gone, is_missed_with_all_its_threads) { a_rank_is_gone("net", 2); }

}  // namespace
}  // namespace amity::fabric::testing
