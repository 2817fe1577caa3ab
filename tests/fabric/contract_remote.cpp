/// Remote memory: puts and gets of every size, their events, notifications, keys. Fabrics without it pass.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../support/replaced_memory.hpp"
#include "../support/sanitizer.hpp"
#include "amity/base/error.hpp"
#include "contract.hpp"
#include "mailbox.hpp"
#include "payloads.hpp"
#include "remote_user.hpp"

namespace amity::fabric::testing {
namespace {

using amity::testing::replaced_memory;
using amity::testing::replacement;
using amity::testing::replacements;
using amity::testing::sanitized;

/// Whether memory of each rank can be used by all.
bool reaches_all(const fabric& own) { return own.caps().remote.available; }

/// Passes where memory of some rank cannot be used.
rank_body beside_memory_of_all(const std::function<void(fabric&, mailbox&, remote_user&)>& body) {
  return [=](fabric& own) {
    if (!reaches_all(own)) return;
    mailbox mail(own);
    remote_user user(own, mail);
    body(own, mail, user);
  };
}

bool is_all(bytes_view bytes, std::byte value) {
  return std::ranges::all_of(bytes, [&](std::byte each) { return each == value; });
}

TEST_P(contract, remote_memory_is_there_where_the_capabilities_say_so) {
  run([](fabric& own) {
    const remote_capabilities& can = own.remote_to(own.rank());
    EXPECT_EQ(own.remote() != nullptr, can.available);
    if (own.remote() == nullptr) return;
    const segment made = own.remote()->create(100);
    const remote_handle opened = own.remote()->open(own.rank(), made.key);
    EXPECT_EQ(made.bytes, 100u);
    EXPECT_EQ(opened.bytes, 100u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(made.data) % cache_line_bytes, 0u);
    EXPECT_EQ(opened.direct != nullptr, can.mapped);
    EXPECT_LE(can.notify_bits, 32u);
    EXPECT_EQ(opened.id >> 62, 0u);
    own.remote()->close(opened);
    own.remote()->destroy(made);
  });
}

TEST_P(contract, puts_and_gets_reach_what_they_name_and_nothing_else) {
  run(beside_memory_of_all([](fabric& own, mailbox& mail, remote_user& user) {
    const std::vector<std::size_t> sizes{0, 1, 7, 8, 64, 65, 4097, sanitized ? 10'000u : 100'001u};
    constexpr std::size_t gap = 13;
    std::size_t slice = gap;
    for (const std::size_t bytes : sizes) slice += bytes + gap;
    const auto slice_of = [&](rank_t source) { return static_cast<std::size_t>(source) * slice; };

    segments_of_all all(own, mail, slice * static_cast<std::size_t>(own.size()));
    std::deque<std::vector<std::byte>> sources;
    for (rank_t dest = 0; dest < own.size(); ++dest) {
      std::size_t offset = slice_of(own.rank()) + gap;
      for (std::size_t i = 0; i < sizes.size(); offset += sizes[i++] + gap) {
        sources.push_back(make_payload(sizes[i], key_of(own.rank(), dest, i)));
        user.start_put(all.of(dest), offset, sources.back());
      }
    }
    user.finish();
    mail.barrier();
    for (rank_t source = 0; source < own.size(); ++source) {
      bytes_view rest = all.memory().subspan(slice_of(source), slice);
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        EXPECT_TRUE(is_all(rest.first(gap), std::byte{0})) << "in front of " << sizes[i] << " bytes of " << source;
        EXPECT_TRUE(is_payload(rest.subspan(gap, sizes[i]), key_of(source, own.rank(), i))) << sizes[i] << " bytes";
        rest = rest.subspan(gap + sizes[i]);
      }
      EXPECT_TRUE(is_all(rest, std::byte{0}));
    }
    for (rank_t dest = 0; dest < own.size(); ++dest) {
      std::size_t offset = slice_of(own.rank()) + gap;
      for (std::size_t i = 0; i < sizes.size(); offset += sizes[i++] + gap) {
        std::vector<std::byte> back(sizes[i] + 2, std::byte{0x5a});
        user.start_get(all.of(dest), offset, std::span(back).subspan(1, sizes[i]));
        user.finish();
        EXPECT_TRUE(is_payload(bytes_view(back).subspan(1, sizes[i]), key_of(own.rank(), dest, i)));
        EXPECT_EQ(back.front(), std::byte{0x5a});
        EXPECT_EQ(back.back(), std::byte{0x5a});
      }
    }
    mail.barrier();
  }));
}

/// Handles of a segment of each rank, by rank. Collective.
std::vector<remote_handle> open_all(remote_memory& memory, mailbox& mail, const segment& mine) {
  std::vector<remote_handle> all;
  for (const auto& [owner, key] : mail.exchange(mine.key.bytes)) all.push_back(memory.open(owner, key_in(key)));
  return all;
}

// Memory of the program: of every rank, at odd places, and used like a segment of the fabric's own making.
TEST_P(contract, attached_memory_is_put_to_and_got) {
  run(beside_memory_of_all([](fabric& own, mailbox& mail, remote_user& user) {
    remote_memory& memory = *own.remote();
    constexpr std::size_t slice = sanitized ? 3'001 : 70'001;
    const auto ranks = static_cast<std::size_t>(own.size());
    const auto place_of = [](rank_t source) { return static_cast<std::size_t>(source) * slice; };
    std::vector<std::uint64_t> words((ranks * slice + 15) / 8 + 2, 0);
    const mutable_bytes whole = std::as_writable_bytes(std::span(words));
    const mutable_bytes mine = whole.subspan(8, ranks * slice);
    const std::optional<segment> made = memory.attach(mine);
    // All ranks of a job can, or none.
    if (!made) return mail.barrier();
    EXPECT_EQ(made->data, mine.data());
    EXPECT_EQ(made->bytes, mine.size());
    const std::vector<remote_handle> all = open_all(memory, mail, *made);
    for (rank_t owner = 0; owner < own.size(); ++owner) {
      const remote_capabilities& can = own.remote_to(owner);
      if (owner == own.rank() || !own.same_node(owner)) continue;
      EXPECT_EQ(all[static_cast<std::size_t>(owner)].direct != nullptr, can.mapped && can.maps_attached);
    }
    const auto is_reached = [&](const remote_handle& each) { return each.bytes == mine.size(); };
    std::uint8_t reached_all = std::ranges::all_of(all, is_reached) ? 1 : 0;
    for (const auto& [rank, told] : mail.exchange(std::as_bytes(std::span(&reached_all, 1)))) {
      if (told[0] == std::byte{0}) reached_all = 0;
    }
    if (reached_all == 0) {
      const std::string& name = own.caps().name;
      EXPECT_TRUE((name.starts_with("shm") || name.starts_with("composite")) && !may_read_parent())
          << "the system does not keep processes apart";
      for (const remote_handle& each : all) {
        if (each.bytes > 0) memory.close(each);
      }
      memory.destroy(*made);
      return mail.barrier();
    }
    std::deque<std::vector<std::byte>> sources;
    for (rank_t dest = 0; dest < own.size(); ++dest) {
      sources.push_back(make_payload(slice, key_of(own.rank(), dest, 1)));
      user.start_put(all[static_cast<std::size_t>(dest)], place_of(own.rank()), sources.back());
    }
    user.finish();
    mail.barrier();
    for (rank_t source = 0; source < own.size(); ++source) {
      EXPECT_TRUE(is_payload(mine.subspan(place_of(source), slice), key_of(source, own.rank(), 1)));
    }
    EXPECT_EQ(words.front(), 0u);
    EXPECT_EQ(words.back(), 0u);
    for (rank_t dest = 0; dest < own.size(); ++dest) {
      std::vector<std::byte> back(slice);
      user.start_get(all[static_cast<std::size_t>(dest)], place_of(own.rank()), back);
      user.finish();
      EXPECT_TRUE(is_payload(back, key_of(own.rank(), dest, 1)));
    }
    if (own.caps().remote.notify_bits == 32) {
      std::uint32_t told = 0;
      mail.on_notify([&](std::uint32_t bits) {
        EXPECT_EQ(bits, 77u);
        ++told;
      });
      mail.barrier();
      user.start_notify(all[static_cast<std::size_t>((own.rank() + 1) % own.size())], 0, {}, 77);
      user.finish();
      mail.until([&] { return told == 1; });
    }
    mail.barrier();
    for (const remote_handle& each : all) memory.close(each);
    memory.destroy(*made);
    mail.barrier();
  }));
}

// W4: munmap, mmap at the same address, put: the new memory has the data. A registration of the old memory must not be
// used.
TEST_P(contract, replaced_memory_is_put_and_got) {
  run(beside_memory_of_all([](fabric& own, mailbox& mail, remote_user& user) {
    constexpr std::size_t size = 25 * 4096;
    segments_of_all all(own, mail, size * static_cast<std::size_t>(own.size()));
    const std::size_t place = size * static_cast<std::size_t>(own.rank());
    const rank_t next = (own.rank() + 1) % own.size();
    for (const replacement& by : replacements) {
      replaced_memory memory(by.what, size);
      for (const std::size_t bytes : {std::size_t{100}, size - 1}) {
        for (std::uint64_t round = 0; round < 3; ++round) {
          memory.replace();
          const auto source = make_payload(bytes, key_of(own.rank(), next, round));
          std::ranges::copy(source, memory.data());
          user.start_put(all.of(next), place, {memory.data(), bytes});
          user.finish();
          memory.replace();
          user.start_get(all.of(next), place, {memory.data(), bytes});
          user.finish();
          EXPECT_TRUE(std::equal(source.begin(), source.end(), memory.data()))
              << bytes << " bytes in round " << round << " after " << by.name;
        }
      }
    }
    mail.barrier();
  }));
}

// Memory of the program that is attached again after each replacement.
TEST_P(contract, replaced_memory_is_put_to_and_got_from) {
  run(beside_memory_of_all([](fabric& own, mailbox& mail, remote_user& user) {
    constexpr std::size_t size = 25 * 4096;
    const auto ranks = static_cast<std::size_t>(own.size());
    const std::size_t slice = size / ranks;
    const auto place_of = [&](rank_t source) { return static_cast<std::size_t>(source) * slice; };
    remote_memory& memory = *own.remote();
    for (const replacement& by : replacements) {
      replaced_memory pages(by.what, size);
      for (std::uint64_t round = 0; round < 3; ++round) {
        if (round > 0) pages.replace();
        const std::optional<segment> made = memory.attach({pages.data(), size});
        if (!made) return mail.barrier();  // on all ranks
        const std::vector<remote_handle> all = open_all(memory, mail, *made);
        std::vector<std::byte> reached(ranks);
        std::deque<std::vector<std::byte>> sources;
        for (rank_t dest = 0; dest < own.size(); ++dest) {
          sources.push_back(make_payload(slice, key_of(own.rank(), dest, round)));
          const remote_handle& to = all[static_cast<std::size_t>(dest)];
          if (to.bytes == 0) continue;  // the system forbids it
          user.start_put(to, place_of(own.rank()), sources.back());
          reached[static_cast<std::size_t>(dest)] = std::byte{1};
        }
        user.finish();
        for (const auto& [source, has_put] : mail.exchange(reached)) {
          if (has_put[static_cast<std::size_t>(own.rank())] == std::byte{0}) continue;
          EXPECT_TRUE(is_payload({pages.data() + place_of(source), slice}, key_of(source, own.rank(), round)))
              << "round " << round << " after " << by.name;
        }
        for (rank_t dest = 0; dest < own.size(); ++dest) {
          const remote_handle& from = all[static_cast<std::size_t>(dest)];
          if (from.bytes == 0) continue;
          std::vector<std::byte> back(slice);
          user.start_get(from, place_of(own.rank()), back);
          user.finish();
          EXPECT_TRUE(is_payload(back, key_of(own.rank(), dest, round))) << "round " << round << " after " << by.name;
          memory.close(from);
        }
        mail.barrier();
        memory.destroy(*made);
      }
    }
    mail.barrier();
  }));
}

TEST_P(contract, puts_and_gets_of_several_megabytes_arrive_whole) {
  run([](fabric& own) {
    if (!reaches_all(own) || own.size() > 2) return;
    constexpr std::size_t bytes = (std::size_t{5} << 20) + 1;
    mailbox mail(own);
    remote_user user(own, mail);
    segments_of_all all(own, mail, bytes);
    const rank_t next = (own.rank() + 1) % own.size();
    const auto source = make_payload(bytes, key_of(own.rank(), next, 0));
    user.start_put(all.of(next), 0, source);
    user.finish();
    std::vector<std::byte> back(bytes);
    user.start_get(all.of(next), 0, back);
    user.finish();
    EXPECT_EQ(back, source);
    mail.barrier();
    EXPECT_TRUE(is_payload(all.memory(), key_of(next, own.rank(), 0)));  // of two ranks each is next to the other
    mail.barrier();
  });
}

TEST_P(contract, a_source_may_change_once_it_is_free) {
  run(beside_memory_of_all([](fabric& own, mailbox& mail, remote_user& user) {
    constexpr std::size_t puts = 20, bytes_max = 3000;
    const auto per_source = puts * bytes_max;
    segments_of_all all(own, mail, per_source * static_cast<std::size_t>(own.size()));
    const rank_t next = (own.rank() + 1) % own.size();
    const rank_t last = (own.rank() + own.size() - 1) % own.size();
    std::vector<std::byte> source;
    for (std::size_t i = 0; i < puts; ++i) {
      const std::size_t bytes = i * 7919 % bytes_max;
      source = make_payload(bytes, key_of(own.rank(), next, i));
      const events tell{.source_free = user.new_context(), .complete = user.new_context()};
      static_cast<void>(user.start(tell, [&](const events& wanted) {
        return user.memory().put(all.of(next), static_cast<std::size_t>(own.rank()) * per_source + i * bytes_max,
                                 source, wanted);
      }));
      mail.until([&] { return !user.awaits(tell.source_free); });
      std::ranges::fill(source, std::byte{0xee});
    }
    user.finish();
    mail.barrier();
    for (std::size_t i = 0; i < puts; ++i) {
      const bytes_view landed =
          all.memory().subspan(static_cast<std::size_t>(last) * per_source + i * bytes_max, i * 7919 % bytes_max);
      EXPECT_TRUE(is_payload(landed, key_of(last, own.rank(), i))) << "put " << i;
    }
    mail.barrier();
  }));
}

TEST_P(contract, a_notification_comes_once_and_after_its_data) {
  run([](fabric& own) {
    if (own.caps().remote.notify_bits < 32) return;
    constexpr std::uint32_t puts = sanitized ? 30 : 100;  // from each rank to each rank
    constexpr std::size_t bytes_max = 2000;
    const auto ranks = static_cast<std::size_t>(own.size());
    const auto size_of = [](std::uint32_t bits) { return splitmix64::mix(bits) % (bytes_max + 1); };
    mailbox mail(own);
    std::set<std::uint32_t> seen;
    {
      segments_of_all all(own, mail, ranks * puts * bytes_max);
      remote_user user(own, mail);
      mail.on_notify([&](std::uint32_t bits) {
        const auto source = static_cast<rank_t>(bits / puts);
        EXPECT_TRUE(seen.insert(bits).second) << bits << " came twice";
        EXPECT_LT(bits, ranks * puts);
        EXPECT_TRUE(is_payload(all.memory().subspan(bits * bytes_max, size_of(bits)), key_of(source, own.rank(), bits)))
            << bits << " came before its " << size_of(bits) << " bytes";
      });
      mail.barrier();
      std::deque<std::vector<std::byte>> sources;
      for (std::uint32_t i = 0; i < puts; ++i) {
        for (rank_t dest = 0; dest < own.size(); ++dest) {
          const std::uint32_t bits = static_cast<std::uint32_t>(own.rank()) * puts + i;
          sources.push_back(make_payload(size_of(bits), key_of(own.rank(), dest, bits)));
          user.start_notify(all.of(dest), bits * bytes_max, sources.back(), bits);
        }
      }
      user.finish();
      mail.until([&] { return seen.size() == ranks * puts; });
      mail.barrier();
    }
    EXPECT_EQ(seen.size(), ranks * puts);
  });
}

TEST_P(contract, all_bits_of_a_notification_arrive) {
  run([](fabric& own) {
    if (own.caps().remote.notify_bits < 32) return;
    std::multiset<std::uint32_t> sent{0, 0xffff'ffff};
    for (int bit = 0; bit < 32; ++bit) sent.insert(std::uint32_t{1} << bit);
    std::multiset<std::uint32_t> received;
    mailbox mail(own);
    segments_of_all all(own, mail, 1);
    remote_user user(own, mail);
    mail.on_notify([&](std::uint32_t bits) { received.insert(bits); });
    mail.barrier();
    for (const std::uint32_t bits : sent) user.start_notify(all.of((own.rank() + 1) % own.size()), 1, {}, bits);
    user.finish();
    mail.until([&] { return received.size() >= sent.size(); });
    mail.barrier();
    EXPECT_EQ(received, sent);
  });
}

TEST_P(contract, a_packet_comes_after_the_puts_before_it_where_promised) {
  run([](fabric& own) {
    if (!own.caps().remote.puts_before_packets) return;
    constexpr std::uint64_t rounds = 50;
    constexpr std::size_t bytes = 1000;
    const rank_t next = (own.rank() + 1) % own.size();
    const rank_t last = (own.rank() + own.size() - 1) % own.size();
    mailbox mail(own);
    segments_of_all all(own, mail, bytes * rounds);
    remote_user user(own, mail);
    mail.on_data([&](const packet& p) {
      EXPECT_TRUE(is_payload(all.memory().subspan(p.header * bytes, bytes), key_of(last, own.rank(), p.header)));
      return disposition::release;
    });
    mail.barrier();
    std::deque<std::vector<std::byte>> sources;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      sources.push_back(make_payload(bytes, key_of(own.rank(), next, i)));
      user.start_put(all.of(next), i * bytes, sources.back());
      mail.send(next, i);
    }
    user.finish();
    mail.until([&] { return mail.arrived() == rounds; });
    mail.barrier();
  });
}

TEST_P(contract, a_sink_may_start_operations) {
  run([](fabric& own) {
    if (own.caps().remote.notify_bits < 32) return;
    // Each rank serves a notification to its neighbour, which goes from sink to sink around all ranks, many times.
    constexpr std::uint32_t hops = 300;
    const rank_t next = (own.rank() + 1) % own.size();
    mailbox mail(own);
    segments_of_all all(own, mail, sizeof hops);
    mail.on_done([](std::uint64_t) {});
    std::uint32_t passed = 0, ended = 0;
    std::deque<std::uint32_t> refused;
    const auto pass_on = [&](std::uint32_t hop) {
      return own.remote()->put_notify(all.of(next), 0, {}, hop, 0) != stage::refused;
    };
    mail.on_notify([&](std::uint32_t hop) {
      ++passed;
      if (hop == hops) {
        ++ended;
      } else if (!pass_on(hop + 1)) {
        refused.push_back(hop + 1);
      }
    });
    mail.barrier();
    mail.until([&] { return pass_on(1); });
    mail.until([&] {
      while (!refused.empty() && pass_on(refused.front())) refused.pop_front();
      return ended == 1 && refused.empty();
    });
    mail.barrier();
    EXPECT_EQ(passed, hops);  // each rank started one, and each of all has as many hops
  });
}

TEST_P(contract, refused_operations_have_changed_nothing) {
  run([](fabric& own) {
    if (own.caps().remote.notify_bits < 32) return;
    const rank_t next = (own.rank() + 1) % own.size();
    std::uint32_t notified = 0;
    mailbox mail(own);
    segments_of_all all(own, mail, 64);
    remote_user user(own, mail);
    mail.on_notify([&](std::uint32_t) { ++notified; });
    mail.barrier();
    std::uint32_t started = 0, in_flight = 0;
    const std::vector<std::byte> ones(8, std::byte{1});
    const std::size_t bound = own.caps().remote.operations_max;
    // Nothing is polled meanwhile, so whatever there is room for is used up.
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t context = user.new_context();
      bool was_refused = true;
      static_cast<void>(user.start({.source_free = context}, [&](const events& tell) {
        const stage reached = user.memory().put_notify(all.of(next), 0, ones, 7, tell.source_free);
        was_refused = reached == stage::refused;
        if (reached == stage::accepted) ++in_flight;
        return was_refused ? stage::complete : reached;  // no second try
      }));
      if (was_refused) break;
      ++started;
    }
    EXPECT_GT(started, 0u);
    if (bound != 0) {
      EXPECT_LE(in_flight, bound);
    }
    user.finish();
    const auto of_all = mail.exchange(std::as_bytes(std::span(&started, 1)));
    std::uint32_t expected = 0;
    std::memcpy(&expected, of_all.at((own.rank() + own.size() - 1) % own.size()).data(), sizeof expected);
    mail.until([&] { return notified >= expected; });
    mail.barrier();
    EXPECT_EQ(notified, expected);
  });
}

TEST_P(contract, there_may_be_many_segments_and_each_begins_as_zeros) {
  run(beside_memory_of_all([](fabric& own, mailbox& mail, remote_user& user) {
    constexpr std::size_t count = 20;
    const rank_t next = (own.rank() + 1) % own.size();
    for (std::uint64_t round = 0; round < 3; ++round) {
      std::deque<segments_of_all> all;
      std::deque<std::vector<std::byte>> sources;
      for (std::size_t i = 0; i < count; ++i) all.emplace_back(own, mail, 100 * (i + 1));
      for (std::size_t i = 0; i < count; ++i) {
        sources.push_back(make_payload(100 * (i + 1), round * count + i));
        user.start_put(all[i].of(next), 0, sources.back());
      }
      user.finish();
      mail.barrier();
      for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(is_payload(all[i].memory(), round * count + i));
      mail.barrier();
    }
  }));
}

TEST_P(contract, a_key_opens_one_segment_of_its_owner_alone) {
  run([](fabric& own) {
    if (own.remote() == nullptr) return;
    remote_memory& memory = *own.remote();
    const segment made = memory.create(64);
    segment_key damaged = made.key;
    damaged.bytes[9] ^= std::byte{1};
    EXPECT_THROW(memory.open(own.rank(), damaged), error);
    EXPECT_THROW(memory.open(own.rank(), segment_key{}), error);
    if (own.size() > 1) {
      EXPECT_THROW(memory.open((own.rank() + 1) % own.size(), made.key), error);
    }
    EXPECT_THROW(memory.create(0), error);
    EXPECT_THROW(memory.create(std::size_t{1} << 60), error);
    EXPECT_THROW(memory.create(~std::size_t{0}), error);
    memory.destroy(made);
  });
}

TEST_P(contract, an_abort_ends_operations_in_flight) {
  run([](fabric& own) {
    if (own.caps().remote.notify_bits < 32) return;
    const auto doomed = [&] {
      mailbox mail(own);
      constexpr std::size_t bytes = 10'000;
      segments_of_all all(own, mail, bytes * static_cast<std::size_t>(own.size()));
      remote_user user(own, mail);
      mail.on_notify([](std::uint32_t) {});
      mail.barrier();
      const std::vector<std::byte> source(bytes);
      const std::size_t place = bytes * static_cast<std::size_t>(own.rank());
      for (rank_t dest = 0; dest < own.size(); ++dest) {
        user.start_put(all.of(dest), place, source);
        user.start_notify(all.of(dest), place, source, 1);
      }
      if (own.rank() == own.size() - 1) own.abort();
      mail.until([] { return false; });
    };
    EXPECT_THROW(doomed(), job_aborted);
  });
}

}  // namespace
}  // namespace amity::fabric::testing
