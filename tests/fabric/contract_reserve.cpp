/// The reserve: packets without an epoch pass while others hold all ordinary credits, and released credits return.

#include <sched.h>

#include <cstdint>
#include <vector>

#include "contract.hpp"
#include "keeper.hpp"
#include "mailbox.hpp"

namespace amity::fabric::testing {
namespace {

constexpr std::uint64_t early = 1u << 16;   // headers of packets that the target keeps
constexpr std::uint64_t urgent = 2u << 16;  // ... and of those that it releases at once
constexpr std::uint64_t let_go = 3u << 16;  // the packet by which a rank lets its peer release what it keeps

bool is_early(const packet& p) { return p.header >= early && p.header < urgent; }

/// Keeps what is early, and notes the rest.
struct early_rank {
  explicit early_rank(fabric& own)
      : held(own), mail(own, [this](const packet& p) {
          if (is_early(p)) return held.keep(p);
          if (p.header == let_go) {
            told_to_let_go = true;
          } else {
            EXPECT_TRUE(is_payload(p.payload, p.header));
            ++urgent_arrived;
          }
          return disposition::release;
        }) {}

  keeper held;
  mailbox mail;
  std::uint64_t urgent_arrived = 0;
  bool told_to_let_go = false;
};

/// Sends ordinary packets that `dest` keeps, until there is no credit. Returns how many.
std::size_t use_ordinary_credits(fabric& own, rank_t dest) {
  std::size_t sent = 0;
  while (own.try_send(dest, early + sent, small_payload(own, early + sent), claim::ordinary) == status::ok) ++sent;
  return sent;
}

TEST_P(contract, reserve_takes_one_packet_of_each_claim) {
  run([](fabric& own) {
    const roles role(own);
    const std::size_t credits = role.allowed.packets;
    early_rank here(own);
    if (role.sends) {
      // While one of its packets is open, the target has not all that it waits for, and releases nothing.
      slot open = here.mail.take_slot(role.target);
      EXPECT_EQ(use_ordinary_credits(own, role.target), credits - 1);
      const auto try_early = [&](std::uint64_t number, claim of) {
        return own.try_send(role.target, early + number, small_payload(own, early + number), of);
      };
      EXPECT_EQ(try_early(credits, claim::no_epoch), status::ok);
      EXPECT_EQ(try_early(credits + 1, claim::no_epoch), status::again);
      EXPECT_EQ(try_early(credits + 1, claim::ordinary), status::again);
      EXPECT_EQ(try_early(credits + 1, claim::answer), status::ok);
      for (const claim of : {claim::ordinary, claim::no_epoch, claim::answer}) {
        EXPECT_EQ(try_early(credits + 2, of), status::again);
        slot none;
        EXPECT_EQ(own.acquire(role.target, none, of), status::again);
      }
      const std::uint64_t header = early + credits + 2;
      fill({open.data, 8}, header);
      own.commit(role.target, header, open, 8);
    }
    if (role.receives) {
      here.mail.until([&] { return here.held.count() == credits + 2; });
      here.held.release_all_shuffled(1);
    }
    if (role.sends) {
      here.mail.send(role.target, urgent, make_payload(0, urgent));  // ordinary credits are back
    }
    if (role.receives) here.mail.until([&] { return here.urgent_arrived == 1; });
    here.mail.barrier();
  });
}

TEST_P(contract, reserve_has_slots_of_its_own) {
  run([](fabric& own) {
    const roles role(own);
    const std::size_t slots_max = role.allowed.slots;
    early_rank here(own);
    for (int round = 0; round < 3; ++round) {
      if (role.sends) {
        std::vector<slot> slots;
        while (slots.size() < slots_max) slots.push_back(here.mail.take_slot(role.target));
        const std::vector<std::byte> large = make_payload(own.caps().packet_bytes_max, early);
        slot none;
        EXPECT_EQ(own.acquire(role.target, none, claim::ordinary), status::again);
        EXPECT_EQ(own.try_send(role.target, early, large, claim::ordinary), status::again);

        // A packet of each claim, one of them from a slot.
        slot filled;
        here.mail.until([&] { return own.acquire(role.target, filled, claim::no_epoch) == status::ok; });
        fill({filled.data, filled.capacity}, early);
        own.commit(role.target, early, filled, filled.capacity);
        EXPECT_EQ(own.acquire(role.target, none, claim::no_epoch), status::again);
        EXPECT_EQ(own.try_send(role.target, early, large, claim::no_epoch), status::again);
        here.mail.until([&] { return own.try_send(role.target, early, large, claim::answer) == status::ok; });
        EXPECT_EQ(own.acquire(role.target, none, claim::answer), status::again);
        EXPECT_EQ(own.try_send(role.target, early, large, claim::answer), status::again);
        for (const slot& each : slots) {
          fill({each.data, each.capacity}, early);
          own.commit(role.target, early, each, each.capacity);
        }
      }
      if (role.receives) {
        here.mail.until([&] { return here.held.count() == slots_max + 2; });
        here.held.release_all_shuffled(static_cast<std::uint64_t>(round));
      }
    }
    here.mail.barrier();
  });
}

// The target never waits, so that it reports credits only because its peer needs them. First it releases fewer packets
// than are worth a report, then it keeps all that come.
TEST_P(contract, released_credits_return_while_all_others_are_kept) {
  run([](fabric& own) {
    const roles role(own);
    const std::size_t credits = role.allowed.packets;
    constexpr std::uint64_t urgent_packets = 40;
    early_rank here(own);
    const auto until_urgent = [&](std::uint64_t count) {
      if (role.receives) here.mail.poll_until([&] { return here.urgent_arrived >= count; });
    };
    if (role.sends) here.mail.send(role.target, urgent, small_payload(own, urgent));
    until_urgent(1);
    if (role.sends) {
      for (std::uint64_t i = 0; i < credits; ++i) here.mail.send(role.target, early + i, small_payload(own, early + i));
    }
    if (role.receives) here.mail.poll_until([&] { return here.held.count() == credits; });

    const auto send_urgent = [&](std::uint64_t i, claim of) {
      const std::uint64_t header = urgent + i % 1000;
      if (role.sends) here.mail.send(role.target, header, small_payload(own, header), of);
    };
    for (std::uint64_t i = 1; i <= urgent_packets; ++i) {
      send_urgent(i, i % 2 == 0 ? claim::no_epoch : claim::answer);
      until_urgent(i + 1);
    }
    if (role.sends) here.mail.send(role.target, let_go, {}, claim::answer);
    if (role.receives) {
      here.mail.poll_until([&] { return here.told_to_let_go; });
      EXPECT_EQ(here.held.count(), credits);
      here.held.release_all_shuffled(1);
    }
    here.mail.barrier();
  });
}

// Ranks 0 and 1 keep all ordinary packets of each other, ask and answer all the same, and rank 2 sends them as much as
// it can.
TEST_P(contract, reserve_carries_requests_and_answers_beside_a_flood) {
  run([](fabric& own) {
    if (own.size() < 3) return;
    constexpr std::uint64_t requests = 100;
    constexpr std::uint64_t request = urgent + 1;
    constexpr std::uint64_t answer = urgent + 2;
    constexpr std::uint64_t flood = urgent + 3;
    keeper held(own);
    std::uint64_t unanswered = 0;
    std::uint64_t answers = 0;
    bool told_to_let_go = false;
    mailbox mail(own, [&](const packet& p) {
      if (is_early(p)) return held.keep(p);
      unanswered += p.header == request;
      answers += p.header == answer;
      told_to_let_go |= p.header == let_go;
      return disposition::release;
    });
    if (own.rank() <= 1) {
      const rank_t peer = 1 - own.rank();
      const std::size_t credits = own.allowance_to(peer).packets;
      for (std::uint64_t i = 0; i < credits; ++i) mail.send(peer, early + i, small_payload(own, early + i));
      mail.until([&] { return held.count() == credits; });
      EXPECT_EQ(own.try_send(peer, early, {}, claim::ordinary), status::again);
      std::uint64_t asked = 0;
      std::uint64_t answered = 0;
      mail.until([&] {
        if (asked < requests && asked == answers) {
          asked += own.try_send(peer, request, make_payload(8, request), claim::no_epoch) == status::ok;
        }
        if (unanswered > 0 && own.try_send(peer, answer, make_payload(8, answer), claim::answer) == status::ok) {
          --unanswered;
          ++answered;
        }
        return answers == requests && answered == requests;
      });
      mail.send(peer, let_go, {}, claim::answer);
      mail.until([&] { return told_to_let_go; });
      EXPECT_EQ(held.count(), credits);
      held.release_all_shuffled(1);
      if (own.rank() == 0) mail.send(2, let_go);
    } else if (own.rank() == 2) {
      for (rank_t peer = 0; !told_to_let_go; peer = 1 - peer) {
        static_cast<void>(own.try_send(peer, flood, {}, claim::ordinary));
        if (own.poll(mail, 16) == 0) ::sched_yield();
      }
    }
    mail.barrier();
  });
}

}  // namespace
}  // namespace amity::fabric::testing
