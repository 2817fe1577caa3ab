/// What arrives is what was sent: every size, every road, every pair, once, and in order where that is promised.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "contract.hpp"
#include "mailbox.hpp"
#include "payloads.hpp"

namespace amity::fabric::testing {
namespace {

bool aligned(const std::byte* data, std::size_t bytes) { return reinterpret_cast<std::uintptr_t>(data) % bytes == 0; }

TEST_P(contract, describes_itself) {
  run([&](fabric& own) {
    EXPECT_EQ(own.size(), ranks());
    EXPECT_GE(own.rank(), 0);
    EXPECT_LT(own.rank(), own.size());
    EXPECT_TRUE(own.same_node(own.rank()));
    for (rank_t peer = 0; peer < own.size(); ++peer) {
      const rank_t node = own.node_of(peer);
      ASSERT_GE(node, 0);
      ASSERT_LE(node, peer) << "a node has the name of its lowest rank";
      EXPECT_EQ(own.node_of(node), node);
      EXPECT_EQ(own.same_node(peer), node == own.node_of(own.rank()));
      EXPECT_GE(own.allowance_to(peer).packets, own.caps().credits_per_peer);
      EXPECT_GE(own.allowance_to(peer).slots, own.caps().slots_per_peer);
    }

    const capabilities& caps = own.caps();
    EXPECT_FALSE(caps.name.empty());
    EXPECT_FALSE(caps.description.empty());
    EXPECT_GE(caps.packet_bytes_max, 64u);
    EXPECT_LE(caps.inline_bytes_max, caps.packet_bytes_max);
    EXPECT_GE(caps.credits_per_peer, 1u);
    EXPECT_GE(caps.slots_per_peer, 1u);
    EXPECT_LE(caps.slots_per_peer, caps.credits_per_peer);
  });
}

TEST_P(contract, payloads_of_every_size_arrive_unchanged) {
  run([](fabric& own) {
    const auto sizes = interesting_sizes(own.caps().packet_bytes_max);
    const std::size_t packets = 2 * sizes.size();  // each size by try_send, then each from a slot
    std::map<std::pair<rank_t, std::size_t>, int> arrivals;

    mailbox mail(own, [&](const packet& p) {
      const auto index = static_cast<std::size_t>(p.header);
      EXPECT_LT(index, packets);
      EXPECT_EQ(p.payload.size(), sizes[index % sizes.size()]);
      EXPECT_TRUE(is_payload(p.payload, key_of(p.source, own.rank(), index))) << p.payload.size() << " bytes";
      const bool from_slot = index >= sizes.size();
      EXPECT_TRUE(p.payload.empty() || aligned(p.payload.data(), from_slot ? cache_line_bytes : 16));
      ++arrivals[{p.source, index}];
      return disposition::release;
    });

    for (rank_t dest = 0; dest < own.size(); ++dest) {
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        auto payload = make_payload(sizes[i], key_of(own.rank(), dest, i));
        mail.send(dest, i, payload);
        std::ranges::fill(payload, std::byte{0xee});  // it was copied
      }
      for (std::size_t i = sizes.size(); i < packets; ++i) {
        const slot s = mail.take_slot(dest);
        EXPECT_EQ(s.capacity, own.caps().packet_bytes_max);
        EXPECT_TRUE(aligned(s.data, cache_line_bytes));
        const std::size_t bytes = sizes[i - sizes.size()];
        fill({s.data, bytes}, key_of(own.rank(), dest, i));
        own.commit(dest, i, s, bytes);
      }
    }
    const std::size_t expected = packets * static_cast<std::size_t>(own.size());
    mail.until([&] { return arrivals.size() >= expected; });
    mail.barrier();
    for (const auto& [who, count] : arrivals) EXPECT_EQ(count, 1) << "packet " << who.second << " of " << who.first;
  });
}

TEST_P(contract, every_header_word_arrives_unchanged) {
  run([](fabric& own) {
    std::multiset<std::uint64_t> sent{0, 1, 0xff, 0x8000'0000'0000'0000u, std::numeric_limits<std::uint64_t>::max()};
    for (int bit = 2; bit < 63; ++bit) sent.insert(std::uint64_t{1} << bit);
    sent.merge(std::multiset(sent));  // each comes twice in a row
    std::multiset<std::uint64_t> received;
    mailbox mail(own, [&](const packet& p) {
      received.insert(p.header);
      return disposition::release;
    });
    const rank_t next = (own.rank() + 1) % own.size();
    bool from_slot = false;
    for (const std::uint64_t header : sent) {
      if (std::exchange(from_slot, !from_slot)) {
        own.commit(next, header, mail.take_slot(next), 0);
      } else {
        mail.send(next, header);
      }
    }
    mail.until([&] { return received.size() >= sent.size(); });
    EXPECT_EQ(received, sent);
  });
}

TEST_P(contract, packets_of_a_source_keep_their_order_where_promised) {
  run([](fabric& own) {
    constexpr std::uint64_t packets = 600;
    const std::size_t bytes_max = own.caps().packet_bytes_max;
    const auto all = static_cast<std::size_t>(own.size());
    std::vector<std::uint64_t> next(all);
    std::vector<std::set<std::uint64_t>> seen(all);
    mailbox mail(own, [&](const packet& p) {
      const auto source = static_cast<std::size_t>(p.source);
      if (own.caps().ordered) {
        EXPECT_EQ(p.header, next[source]) << "from rank " << source;
      }
      next[source] = p.header + 1;
      EXPECT_TRUE(seen[source].insert(p.header).second) << p.header << " from rank " << source << " came twice";
      return disposition::release;
    });
    splitmix64 random(static_cast<std::uint64_t>(own.rank()) + 1);
    for (std::uint64_t i = 0; i < packets; ++i) {
      // Small and large packets travel by different roads.
      const std::size_t bytes = random.below(2) == 0 ? random.below(64) : random.below(bytes_max + 1);
      for (rank_t dest = 0; dest < own.size(); ++dest) {
        if (random.below(2) == 0) {
          mail.send(dest, i, std::vector<std::byte>(bytes));
        } else {
          own.commit(dest, i, mail.take_slot(dest), bytes);
        }
      }
    }
    mail.until([&] { return mail.arrived() >= packets * all; });
    for (const auto& headers : seen) EXPECT_EQ(headers.size(), packets);
  });
}

TEST_P(contract, slots_are_filled_and_committed_in_any_order) {
  run([](fabric& own) {
    constexpr std::size_t rounds = 20;
    const std::size_t together = std::min<std::size_t>(own.caps().slots_per_peer, 4);
    const auto bytes_of = [&](std::size_t which) { return std::min(100 * which, own.caps().packet_bytes_max); };
    std::map<std::uint64_t, int> arrivals;
    std::uint64_t last_round = 0;
    std::uint64_t position = 0;  // within the round
    mailbox mail(own, [&](const packet& p) {
      // The header says when it was committed, and which slot it is.
      const std::uint64_t round = p.header >> 16, place = p.header >> 8 & 0xff, which = p.header & 0xff;
      if (own.caps().ordered) {
        position = round == last_round ? position : 0;
        EXPECT_EQ(place, position) << "round " << round;
        last_round = round;
        ++position;
      }
      EXPECT_TRUE(is_payload(p.payload, round * 100 + which));
      EXPECT_EQ(p.payload.size(), bytes_of(which));
      ++arrivals[p.header];
      return disposition::release;
    });

    const rank_t next = (own.rank() + 1) % own.size();
    splitmix64 random(static_cast<std::uint64_t>(own.rank()) + 7);
    for (std::size_t round = 0; round < rounds; ++round) {
      std::vector<std::pair<std::size_t, slot>> slots;
      for (std::size_t i = 0; i < together; ++i) slots.emplace_back(i, mail.take_slot(next));
      const auto shuffle = [&] {
        for (std::size_t i = slots.size(); i > 1; --i) std::swap(slots[i - 1], slots[random.below(i)]);
      };
      shuffle();
      for (const auto& [which, s] : slots) {
        fill({s.data, bytes_of(which)}, round * 100 + which);
      }
      shuffle();
      std::uint64_t place = 0;
      for (const auto& [which, s] : slots) own.commit(next, round << 16 | place++ << 8 | which, s, bytes_of(which));
    }
    mail.until([&] { return arrivals.size() >= rounds * together; });
    for (const auto& [header, count] : arrivals) EXPECT_EQ(count, 1) << std::hex << header;
  });
}

TEST_P(contract, slots_to_several_ranks_are_open_at_once) {
  run([](fabric& own) {
    std::vector<slot> slots;
    mailbox mail(own, [&](const packet& p) {
      EXPECT_EQ(p.payload.size(), 64u);
      EXPECT_TRUE(is_payload(p.payload, key_of(p.source, own.rank(), 0)));
      return disposition::release;
    });
    for (rank_t dest = 0; dest < own.size(); ++dest) slots.push_back(mail.take_slot(dest));
    for (rank_t dest = 0; dest < own.size(); ++dest) {
      fill({slots[static_cast<std::size_t>(dest)].data, 64}, key_of(own.rank(), dest, 0));
    }
    for (rank_t dest = own.size(); dest-- > 0;) own.commit(dest, 0, slots[static_cast<std::size_t>(dest)], 64);
    mail.until([&] { return mail.arrived() >= slots.size(); });
    mail.barrier();
    EXPECT_EQ(mail.arrived(), slots.size());
  });
}

}  // namespace
}  // namespace amity::fabric::testing
