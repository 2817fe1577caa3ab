/// When a wait ends: by an arrival, by its timeout, by the end of the job. (By a credit: see contract_credits.cpp.)
/// What attention promises to peers, where a fabric has it.

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/error.hpp"
#include "amity/fabric/waiter.hpp"
#include "contract.hpp"
#include "mailbox.hpp"

namespace amity::fabric::testing {
namespace {

TEST_P(contract, an_arrival_ends_a_wait) {
  run([](fabric& own) {
    // A token goes round: whoever does not have it waits without a timeout.
    constexpr std::uint64_t rounds = 100;
    mailbox mail(own, done_with);
    const rank_t next = (own.rank() + 1) % own.size();
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      if (own.rank() == 0) mail.send(next, round);
      mail.until([&] { return mail.arrived() == round; });
      if (own.rank() != 0) mail.send(next, round);
    }
  });
}

TEST_P(contract, a_timeout_ends_a_wait) {
  run([](fabric& own) {
    mailbox mail(own);
    const std::uint64_t start_ns = own.now_ns();
    own.check();
    constexpr std::uint64_t timeout_ns = 3'000'000;
    for (;;) {
      const std::uint64_t waited_ns = own.now_ns() - start_ns;
      if (waited_ns >= timeout_ns) break;
      wait(own, timeout_ns - waited_ns);
    }
    // A long one ends late enough for others to wake us, and a barrier still works.
    mail.barrier();
  });
}

TEST_P(contract, time_does_not_run_backwards) {
  run([](fabric& own) {
    mailbox mail(own);
    std::uint64_t last_ns = own.now_ns();
    for (int i = 0; i < 100; ++i) {
      mail.barrier();
      const std::uint64_t now_ns = own.now_ns();
      EXPECT_GE(now_ns, last_ns);
      last_ns = now_ns;
    }
  });
}

TEST_P(contract, an_abort_ends_every_wait) {
  run([](fabric& own) {
    mailbox mail(own, done_with);
    EXPECT_THROW(
        {
          mail.barrier();
          if (own.rank() == own.size() - 1) own.abort();
          mail.until([] { return false; });  // nobody sends
        },
        job_aborted);
    EXPECT_THROW(mail.until([] { return false; }), job_aborted);
    own.abort();  // once more is legal, and changes nothing
    EXPECT_THROW(wait(own, 1'000'000'000), job_aborted);
  });
}

TEST_P(contract, an_abort_ends_the_wait_for_a_credit) {
  run([](fabric& own) {
    // The last rank lets nobody have a credit back, and gives up.
    const rank_t last = own.size() - 1;
    if (own.rank() == last) {
      mailbox mail(own, done_with);
      own.abort();
      EXPECT_THROW(wait(own, forever), job_aborted);
      return;
    }
    EXPECT_THROW(
        {
          for (;;) {
            if (own.try_send(last, 0, {}, claim::ordinary) == status::again) wait(own, forever);
          }
        },
        job_aborted);
  });
}

// Each rank in its turn polls, and then does not. A fabric may say that it has not polled at all: then nothing is sent.
TEST_P(contract, engaged_packets_are_polled) {
  run([](fabric& own) {
    if (own.attention() == nullptr) return;
    constexpr std::uint64_t sent = 1, all_sent = 2;
    std::vector<std::uint64_t> packets(static_cast<std::size_t>(own.size())), expected = packets;
    rank_t reports = 0;
    mailbox mail(own, [&](const packet& arrived) {
      const auto source = static_cast<std::size_t>(arrived.source);
      if (arrived.header == sent) ++packets[source];
      if (arrived.header == all_sent) {
        std::memcpy(&expected[source], arrived.payload.data(), sizeof expected[source]);
        ++reports;
      }
      return disposition::release;
    });
    for (rank_t turn = 0; turn < own.size(); ++turn) {
      mail.barrier();
      if (own.rank() == turn) {
        own.attention()->begin();
        for (int i = 0; i < 2000; ++i) own.poll(mail, 16);
        if (own.attention()->end()) {
          while (own.poll(mail, 16) == 16) continue;
        }
        const std::vector<std::uint64_t> polled = packets;
        mail.until([&] { return reports == own.size() - 1; });
        EXPECT_EQ(polled, expected);
      } else {
        std::uint64_t count = 0;
        for (int i = 0; i < 2000; ++i) {
          if (!own.attention()->engage(turn)) continue;
          EXPECT_TRUE(own.same_node(turn));
          if (own.try_send(turn, sent, {}, claim::ordinary) == status::ok) ++count;
          own.attention()->disengage(turn);
        }
        mail.send(turn, all_sent, std::as_bytes(std::span(&count, 1)));
      }
      mail.barrier();
    }
  });
}

}  // namespace
}  // namespace amity::fabric::testing
