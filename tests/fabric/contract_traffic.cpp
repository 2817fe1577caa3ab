/// Many packets at once: storms, sends from handlers, and the bound of a poll.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "amity/fabric/waiter.hpp"
#include "contract.hpp"
#include "mailbox.hpp"
#include "payloads.hpp"

namespace amity::fabric::testing {
namespace {

TEST_P(contract, a_poll_hands_over_no_more_than_asked) {
  run([](fabric& own) {
    struct counting final : sink {
      std::size_t count = 0;
      disposition on_packet(const packet&) noexcept override {
        ++count;
        return disposition::release;
      }
    } sink;
    EXPECT_EQ(own.poll(sink, 0), 0u);
    const rank_t next = (own.rank() + 1) % own.size();
    std::size_t sent = 0;
    while (sent < 10 && own.try_send(next, sent, {}, claim::ordinary) == status::ok) ++sent;
    EXPECT_EQ(sent, std::min<std::size_t>(10, own.allowance_to(next).packets));
    const rank_t previous = (own.rank() + own.size() - 1) % own.size();
    const std::size_t expected = std::min<std::size_t>(10, own.allowance_to(previous).packets);
    while (sink.count < expected) {
      const std::size_t before = sink.count;
      EXPECT_EQ(own.poll(sink, 0), 0u);
      const std::size_t handed = own.poll(sink, 3);
      EXPECT_LE(handed, 3u);
      EXPECT_EQ(sink.count - before, handed);
      if (handed == 0) wait(own, forever);
    }
    EXPECT_EQ(own.poll(sink, 3), 0u);
  });
}

TEST_P(contract, a_sink_may_send) {
  run([](fabric& own) {
    // Each rank serves a ball to its neighbour; each ball is returned from inside the sink, many times. At most two
    // balls pass between two ranks, so that only a fabric with very few credits can refuse.
    constexpr std::uint64_t returns = 200;
    const rank_t next = (own.rank() + 1) % own.size();
    bool back = false;    // our ball has been returned for the last time
    bool served = false;  // the ball that came to us has gone back for the last time
    std::deque<std::pair<rank_t, std::uint64_t>> refused;
    const auto hit = [&](rank_t dest, std::uint64_t hits) {
      const auto payload = make_payload(hits % 65, hits);
      if (hits % 4 != 0) return own.try_send(dest, hits, payload, claim::ordinary);
      slot s;
      const status taken = own.acquire(dest, s, claim::ordinary);
      if (taken == status::ok) {
        std::ranges::copy(payload, s.data);
        own.commit(dest, hits, s, payload.size());
      }
      return taken;
    };
    mailbox mail(own, [&](const packet& p) {
      EXPECT_TRUE(is_payload(p.payload, p.header));
      if (p.header == returns) {
        back = true;
        return disposition::release;
      }
      served = served || p.header + 1 == returns;
      if (hit(p.source, p.header + 1) == status::again) refused.emplace_back(p.source, p.header + 1);
      return disposition::release;
    });
    mail.send(next, 0, {});
    mail.until([&] {
      EXPECT_TRUE(refused.empty() || own.caps().slots_per_peer < 4);
      while (!refused.empty() && hit(refused.front().first, refused.front().second) == status::ok) refused.pop_front();
      return back && served && refused.empty();
    });
    mail.barrier();
  });
}

TEST_P(contract, a_sink_may_release_what_was_kept_before) {
  run([](fabric& own) {
    constexpr std::uint64_t packets = 300;
    const rank_t next = (own.rank() + 1) % own.size();
    if (own.caps().slots_per_peer < 2) return;  // nothing else could arrive while one is kept
    std::deque<packet> kept;
    std::uint64_t arrived = 0;
    mailbox mail(own, [&](const packet& p) {
      ++arrived;
      EXPECT_TRUE(is_payload(p.payload, p.header));
      if (!kept.empty()) {
        EXPECT_TRUE(is_payload(kept.front().payload, kept.front().header));
        own.release(kept.front().token);
        kept.pop_front();
      }
      kept.push_back(p);
      return disposition::keep;
    });
    for (std::uint64_t i = 0; i < packets; ++i)
      mail.send(next, i, make_payload(i % (own.caps().packet_bytes_max + 1), i));
    mail.until([&] { return arrived == packets; });
    for (const packet& p : kept) own.release(p.token);
    mail.barrier();
  });
}

/// One rank of a storm. It sends random packets by random roads to every rank in random order; the sinks answer some of
/// them at once and keep some of them for a while. How many packets must arrive is known beforehand.
class storm {
 public:
  storm(fabric& own, std::uint64_t seed)
      : own_(own),
        mail_(own, [this](const packet& p) { return arrived(p); }),
        random_(seed * 1000 + static_cast<std::uint64_t>(own.rank())),
        seen_(static_cast<std::size_t>(own.size()), std::vector<int>(2 * packets)) {}

  void run() {
    std::vector<request> requests;
    for (rank_t dest = 0; dest < own_.size(); ++dest) {
      for (std::uint64_t index = 0; index < packets; ++index) requests.push_back({dest, index});
    }
    for (std::size_t i = requests.size(); i > 1; --i) std::swap(requests[i - 1], requests[random_.below(i)]);
    for (const request& r : requests) {
      mail_.until([&] { return try_random_road(r); });
      if (random_.below(8) == 0) own_.poll(mail_, 1 + random_.below(8));
      send_answers();
    }
    const std::size_t expected = static_cast<std::size_t>(own_.size()) * (packets + packets / answered_every);
    mail_.until([&] {
      send_answers();
      return arrived_ >= expected && answers_.empty();
    });
    while (!kept_.empty()) let_go();
    mail_.barrier();
    for (const auto& source : seen_) {
      for (std::uint64_t index = 0; index < packets; ++index) {
        EXPECT_EQ(source[index], 1);
        EXPECT_EQ(source[packets + index], index % answered_every == 0 ? 1 : 0);
      }
    }
  }

 private:
  static constexpr std::uint64_t packets = 100;  // from each rank to each rank
  static constexpr std::uint64_t answered_every = 4;

  struct request {
    rank_t dest;
    std::uint64_t index;  // `packets` and above: an answer
  };

  disposition arrived(const packet& p) {
    const std::uint64_t index = p.header >> 32;
    EXPECT_EQ(p.payload.size(), static_cast<std::uint32_t>(p.header));
    EXPECT_TRUE(is_payload(p.payload, p.header));
    ++seen_[static_cast<std::size_t>(p.source)][index];
    ++arrived_;
    if (index < packets && index % answered_every == 0) {
      const request answer{p.source, packets + index};
      if (!try_random_road(answer)) answers_.push_back(answer);
    }
    if (kept_.size() < own_.caps().slots_per_peer / 2 && random_.below(3) == 0) {
      kept_.push_back(p);
      return disposition::keep;
    }
    if (!kept_.empty() && random_.below(2) == 0) let_go();
    return disposition::release;
  }

  void let_go() {
    std::swap(kept_[random_.below(kept_.size())], kept_.back());
    const packet& p = kept_.back();
    EXPECT_TRUE(is_payload(p.payload, p.header));
    own_.release(p.token);
    kept_.pop_back();
  }

  bool try_random_road(const request& r) {
    const std::size_t bytes_max = random_.below(2) == 0 ? 64 : own_.caps().packet_bytes_max;
    const std::size_t bytes = random_.below(bytes_max + 1);
    const std::uint64_t header = r.index << 32 | bytes;
    if (random_.below(2) == 0)
      return own_.try_send(r.dest, header, make_payload(bytes, header), claim::ordinary) == status::ok;
    slot s;
    if (own_.acquire(r.dest, s, claim::ordinary) != status::ok) return false;
    fill({s.data, bytes}, header);
    own_.commit(r.dest, header, s, bytes);
    return true;
  }

  void send_answers() {
    while (!answers_.empty() && try_random_road(answers_.front())) answers_.pop_front();
  }

  fabric& own_;
  mailbox mail_;
  splitmix64 random_;
  std::vector<std::vector<int>> seen_;  // by source and index
  std::size_t arrived_ = 0;
  std::deque<request> answers_;
  std::vector<packet> kept_;
};

TEST_P(contract, storms_of_all_kinds_of_packets_arrive_complete) {
  for (const std::uint64_t seed : {1u, 2u}) {
    run([&](fabric& own) { storm(own, seed).run(); });
  }
}

}  // namespace
}  // namespace amity::fabric::testing
