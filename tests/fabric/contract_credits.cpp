/// Back-pressure: how many packets may be out, what `again` means, and when credits come back.

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "amity/fabric/waiter.hpp"
#include "contract.hpp"
#include "keeper.hpp"
#include "mailbox.hpp"

namespace amity::fabric::testing {
namespace {

constexpr std::uint64_t go_on = 1u << 20;     // header of the packet by which a rank lets its peer proceed
constexpr std::uint64_t have_all = 2u << 20;  // ... and by which the peer says that it holds all packets

TEST_P(contract, a_source_gets_all_its_credits_and_no_more) {
  run([](fabric& own) {
    const roles role(own);
    const std::size_t credits = role.allowed.packets;
    keeper held(own);
    bool all_held = false;
    bool told_to_go_on = false;
    mailbox mail(own, [&](const packet& p) {
      if (p.header == have_all) all_held = true;
      if (p.header == go_on) told_to_go_on = true;
      return p.header <= go_on ? held.keep(p) : disposition::release;
    });
    const auto payload = [&](std::uint64_t i) { return small_payload(own, i); };

    if (role.sends) {
      // One credit is set aside for the packet that ends the siege.
      slot reserve = mail.take_slot(role.target);
      std::uint64_t sent = 0;
      while (sent < 2 * credits && own.try_send(role.target, sent, payload(sent), claim::ordinary) == status::ok)
        ++sent;
      EXPECT_EQ(sent, credits - 1);

      // The peer holds on to every packet: nothing that either of us does brings a credit back.
      const auto refused = [&] {
        for (int i = 0; i < 3; ++i) {
          EXPECT_EQ(own.try_send(role.target, have_all + 1, {}, claim::ordinary), status::again);
          slot untouched{.data = reserve.data, .capacity = 77, .id = 4711};
          EXPECT_EQ(own.acquire(role.target, untouched, claim::ordinary), status::again);
          EXPECT_EQ(untouched.data, reserve.data);
          EXPECT_EQ(untouched.capacity, 77u);
          EXPECT_EQ(untouched.id, 4711u);
        }
      };
      refused();
      if (!role.receives) mail.until([&] { return all_held; });
      if (role.receives) mail.until([&] { return held.count() == credits - 1; });
      refused();
      own.commit(role.target, go_on, reserve, 0);
    }
    if (role.receives) {
      mail.until([&] { return held.count() == credits - 1; });
      if (!role.sends) mail.send(0, have_all);
      mail.until([&] { return told_to_go_on; });
      EXPECT_EQ(held.count(), credits) << "a packet that was refused arrived";
      held.release_all_shuffled(1);
    }
    if (role.sends) {
      // All credits have come back, and go round several times more.
      for (std::uint64_t i = 0; i < 3 * credits; ++i) {
        mail.send(role.target, i, payload(i));
        if (role.receives) {
          mail.until([&] { return held.count() > 0; });
          held.release_all_shuffled(i);
        }
      }
    } else if (role.receives) {
      for (std::uint64_t i = 0; i < 3 * credits; ++i) {
        mail.until([&] { return held.count() > 0; });
        held.release_one(held.count() - 1);
      }
    }
    mail.barrier();
    EXPECT_EQ(held.count(), 0u);
  });
}

TEST_P(contract, a_source_gets_all_its_slots_and_no_more) {
  run([](fabric& own) {
    const roles role(own);
    const std::size_t slots_max = role.allowed.slots;
    mailbox mail(own, done_with);
    constexpr int rounds = 3;
    if (role.sends) {
      for (int round = 0; round < rounds; ++round) {
        std::vector<slot> slots;
        while (slots.size() < slots_max) slots.push_back(mail.take_slot(role.target));
        slot none;
        EXPECT_EQ(own.acquire(role.target, none, claim::ordinary), status::again);
        EXPECT_EQ(none.data, nullptr);
        for (std::size_t i = 0; i < slots.size(); ++i) {
          for (std::size_t j = 0; j < i; ++j) EXPECT_NE(slots[i].data, slots[j].data);
        }
        for (const slot& s : slots) own.commit(role.target, 0, s, s.capacity);
      }
    }
    if (role.receives) mail.until([&] { return mail.arrived() == rounds * slots_max; });
    mail.barrier();
    EXPECT_EQ(mail.arrived(), role.receives ? rounds * slots_max : 0);
  });
}

// The target never sends: for two ranks, the only thing that can wake the source is the credit.
TEST_P(contract, a_returned_credit_ends_a_wait) {
  run([](fabric& own) {
    const roles role(own);
    const std::uint64_t packets = 20 * role.allowed.packets;
    mailbox mail(own, done_with);
    if (role.sends) {
      for (std::uint64_t i = 0; i < packets; ++i)
        mail.send(role.target, i, make_payload(i % own.caps().packet_bytes_max % 200, i));
    }
    if (role.receives) mail.until([&] { return mail.arrived() == packets; });
    mail.barrier();
  });
}

// The target keeps all packets, and lets go of them when the source can do nothing but wait.
TEST_P(contract, a_credit_of_a_kept_packet_ends_a_wait) {
  run([](fabric& own) {
    const roles role(own);
    if (role.sends && role.receives) return;  // alone, it would wait for itself
    const std::size_t credits = role.allowed.packets;
    keeper held(own);
    mailbox mail(own, [&](const packet& p) { return held.keep(p); });
    if (role.sends) {
      for (std::uint64_t i = 0; i < 2 * credits; ++i) mail.send(role.target, i, small_payload(own, i));
    }
    if (role.receives) {
      for (std::uint64_t round = 0; round < 2; ++round) {
        mail.until([&] { return held.count() == credits; });
        held.release_all_shuffled(round);
      }
    }
    mail.barrier();
  });
}

// Credits for small packets come back while all slots are still held: the wait for a credit must not wait for both.
TEST_P(contract, a_credit_without_a_slot_ends_a_wait) {
  run([](fabric& own) {
    const roles role(own);
    const std::size_t slots = role.allowed.slots;
    const std::size_t small = 2 * role.allowed.packets;
    if (role.sends && role.receives) return;
    const bool applies = slots != role.allowed.packets;
    constexpr std::uint64_t large_mark = 1u << 16;
    keeper held_large(own), held_small(own);
    std::size_t released = 0;
    mailbox mail(own, [&](const packet& p) { return p.header < large_mark ? held_small.keep(p) : held_large.keep(p); });
    if (role.sends && applies) {
      for (std::uint64_t i = 0; i < slots; ++i) {
        const slot s = mail.take_slot(role.target);
        fill({s.data, s.capacity}, large_mark + i);
        own.commit(role.target, large_mark + i, s, s.capacity);
      }
      for (std::uint64_t i = 0; i < small; ++i) mail.send(role.target, i, small_payload(own, i));
    }
    if (role.receives && applies) {
      // A large packet that is kept may hold on to its slot alone, or to a credit as well.
      const std::size_t at_once = role.allowed.packets - slots;
      while (released < small) {
        const std::size_t batch = std::min(at_once, small - released);
        mail.until([&] { return held_large.count() == slots && held_small.count() >= batch; });
        released += held_small.count();
        held_small.release_all_shuffled(released);
      }
      held_large.release_all_shuffled(5);
    }
    mail.barrier();
  });
}

// All credits but one belong to slots that the source still fills: a target that has nothing else to do must not hold
// back the last one, to return it together with others.
TEST_P(contract, a_lone_credit_ends_a_wait) {
  run([](fabric& own) {
    const roles role(own);
    if (role.sends && role.receives) return;
    mailbox mail(own, done_with);
    const std::size_t held = std::min(role.allowed.slots, role.allowed.packets - 1);
    const std::size_t small = 2 * role.allowed.packets;
    if (role.sends) {
      std::vector<slot> slots;
      while (slots.size() < held) slots.push_back(mail.take_slot(role.target));
      for (std::uint64_t i = 0; i < small; ++i) mail.send(role.target, i, small_payload(own, i));
      for (const slot& each : slots) own.commit(role.target, small, each, each.capacity);
    }
    if (role.receives) mail.until([&] { return mail.arrived() == held + small; });
    mail.barrier();
  });
}

// Two peers refuse, and give their credits back one after the other. The caller is content with the first and does not
// ask the second again: its wait for that credit is not over.
TEST_P(contract, a_credit_of_one_peer_is_not_taken_for_that_of_another) {
  run([](fabric& own) {
    if (own.size() < 3) return;
    const std::array<std::size_t, 3> credits{0, own.allowance_to(1).packets, own.allowance_to(2).packets};
    keeper held(own);
    bool told_to_go_on = false;
    mailbox mail(own, [&](const packet& p) {
      if (p.header == go_on) told_to_go_on = true;
      return held.keep(p);
    });
    if (own.rank() == 0) {
      const std::array<slot, 2> reserves{mail.take_slot(1), mail.take_slot(2)};
      for (const rank_t peer : {1, 2}) {
        for (std::uint64_t i = 0; i + 1 < credits[static_cast<std::size_t>(peer)]; ++i) {
          mail.send(peer, i, small_payload(own, i));
        }
        EXPECT_EQ(own.try_send(peer, 0, {}, claim::ordinary), status::again);
      }
      own.commit(1, go_on, reserves[0], 0);
      mail.send(1, 0, small_payload(own, 0));
      own.commit(2, go_on, reserves[1], 0);
      wait(own, forever);
      for (const rank_t peer : {2, 2, 1}) mail.send(peer, 0, small_payload(own, 0));
    } else if (own.rank() <= 2) {
      const std::size_t of_rank_0 = own.allowance_to(0).packets;  // the same both ways
      mail.until([&] { return told_to_go_on && held.count() == of_rank_0; });
      held.release_all_shuffled(1);
      // The second of the last packets comes when all is over: no barrier has woken rank 0.
      for (int last = 0; last < 2; ++last) {
        mail.until([&] { return held.count() > 0; });
        held.release_one(0);
      }
    }
    mail.barrier();
  });
}

TEST_P(contract, a_kept_packet_stays_while_others_pass) {
  run([](fabric& own) {
    // Every other packet is kept, half of all slots at most, while many times as many come and go.
    constexpr std::uint64_t packets = 400;
    const std::size_t kept_max = own.caps().slots_per_peer / 2;
    const rank_t next = (own.rank() + 1) % own.size();
    keeper held(own);
    std::uint64_t arrived = 0;
    mailbox mail(own, [&](const packet& p) {
      ++arrived;
      if (held.count() < kept_max && p.header % 2 == 0) return held.keep(p);
      EXPECT_TRUE(is_payload(p.payload, p.header));
      return disposition::release;
    });
    splitmix64 random(static_cast<std::uint64_t>(own.rank()) + 3);
    for (std::uint64_t i = 0; i < packets; ++i) {
      mail.send(next, i,
                make_payload(random.below(2) == 0 ? i % 65 : random.below(own.caps().packet_bytes_max + 1), i));
      if (held.count() == kept_max && random.below(4) == 0 && kept_max > 0) held.release_one(random.below(kept_max));
    }
    mail.until([&] { return arrived == packets; });
    held.release_all_shuffled(9);
    mail.barrier();
  });
}

}  // namespace
}  // namespace amity::fabric::testing
