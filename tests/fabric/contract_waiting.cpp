/// When a wait ends: by an arrival, by its timeout, by the end of the job. (By a credit: see contract_credits.cpp.)

#include <cstdint>

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
    std::uint64_t tokens = 0;
    mailbox mail(own, [&](const packet&) {
      ++tokens;
      return disposition::release;
    });
    const rank_t next = (own.rank() + 1) % own.size();
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      if (own.rank() == 0) mail.send(next, round);
      mail.until([&] { return tokens == round; });
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
    mailbox mail(own, [](const packet&) { return disposition::release; });
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
      mailbox mail(own, [](const packet&) { return disposition::release; });
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

}  // namespace
}  // namespace amity::fabric::testing
