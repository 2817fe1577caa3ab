/// The channels of a pair of ranks under random schedules of a weak memory.
///
/// Each rank works on its own copy of the shared region. What one writes becomes visible to the other later, word by
/// word, in any order but one: a word that is published by a release store (a stamp, a credit) never before what was
/// written earlier. So a schedule shows what processors and compilers may do, and that one word is never written by
/// both ranks at a time, without a second thread; one seed makes all its choices. SEED=n replays a single one.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/random.hpp"
#include "amity/fabric/shm/channel.hpp"
#include "tests/support/cases.hpp"

namespace amity::fabric::shm {
namespace {

constexpr geometry sizes{.ranks = 2, .ring_slots = 4, .buffers = 2, .packet_bytes = 64};
const std::size_t region_words = sizes.total_bytes() / sizeof(std::uint64_t);

/// One rank's copy of the region, and what it has written that the other one does not see yet.
class replica {
 public:
  replica() : slots_(sizes.total_bytes() / sizeof(ring_slot)), known_(region_words) {}

  std::byte* base() { return reinterpret_cast<std::byte*>(slots_.data()); }
  region_map map() { return {base(), sizes}; }

  /// Finds what the rank has written since the last call.
  void collect(const std::set<std::size_t>& published) {
    const auto note = [&](std::size_t word) {
      if (at(word) != known_[word]) pending_.push_back({word, known_[word] = at(word), published.contains(word)});
    };
    for (std::size_t word = 0; word < region_words; ++word) {
      if (!published.contains(word)) note(word);
    }
    for (const std::size_t word : published) note(word);  // last, as the rank has written them
  }

  bool anything_pending() const { return !pending_.empty(); }
  /// Makes one of the pending words visible to `other`, or tries to.
  void deliver_one(replica& other, splitmix64& random) {
    const auto chosen = static_cast<std::size_t>(random.below(pending_.size()));
    const store one = pending_[chosen];
    for (std::size_t i = 0; i < chosen; ++i) {
      if (one.is_published || pending_[i].word == one.word) return;
    }
    for (const store& theirs : other.pending_) {
      ASSERT_NE(theirs.word, one.word) << "both ranks write word " << one.word << " at a time";
    }
    std::memcpy(other.base() + one.word * sizeof one.value, &one.value, sizeof one.value);
    other.known_[one.word] = one.value;
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(chosen));
  }

 private:
  struct store {
    std::size_t word;
    std::uint64_t value;
    bool is_published;
  };

  std::uint64_t at(std::size_t word) {
    std::uint64_t value;
    std::memcpy(&value, base() + word * sizeof value, sizeof value);
    return value;
  }

  std::vector<ring_slot> slots_;
  std::vector<std::uint64_t> known_;
  std::deque<store> pending_;
};

std::size_t word_of(replica& memory, const void* address) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(address) - memory.base()) / sizeof(std::uint64_t);
}

/// The words that release stores write.
std::set<std::size_t> published_words(replica& memory) {
  std::set<std::size_t> words;
  for (const rank_t target : {0, 1}) {
    const channel_memory channel = memory.map().channel(target, 1 - target);
    for (std::size_t i = 0; i < sizes.ring_slots; ++i) words.insert(word_of(memory, &channel.ring[i].stamp));
    words.insert(word_of(memory, &channel.lane->stamp));
    words.insert(word_of(memory, &channel.credits->packets_released));
    words.insert(word_of(memory, &channel.credits->buffers_returned));
  }
  return words;
}

/// The words of a packet, told from its source and number.
std::vector<std::uint64_t> content_of(rank_t source, std::uint64_t number, std::size_t words) {
  splitmix64 random(number * 2 + static_cast<std::uint64_t>(source));
  std::vector<std::uint64_t> content(words);
  for (auto& word : content) word = random();
  return content;
}

class rank_of_pair {
 public:
  rank_of_pair(replica& memory, rank_t own) : map_(memory.map()), own_(own), link_(map_, sizes, own, 1 - own) {}

  /// Does one thing that its rank may do now, if it happens to be chosen.
  void act(splitmix64& random) {
    switch (random.below(7)) {
      case 0:
      case 1:
        return send_inline(random);
      case 2:
        if (link_.out.has_credit(claim::answer) && link_.out.has_buffer(claim::answer))
          open_.push_back(link_.out.take_buffer());
        return;
      case 3:
        return commit();
      case 4:
        return take(random);
      case 5:
        return release();
      case 6:
        static_cast<void>(link_.in.publish_pending());
        return;
    }
  }
  void take_all(splitmix64& random) {
    while (link_.in.has_arrived()) take(random);
  }

  std::uint64_t sent() const { return sent_; }
  std::uint64_t taken() const { return taken_; }

 private:
  struct kept_packet {
    std::uint64_t number;
    const std::byte* content;
    std::size_t words;
    std::optional<std::uint32_t> buffer;  ///< or a place
    std::uint32_t place;
  };

  void send_inline(splitmix64& random) {
    if (!link_.out.has_credit(claim::answer)) return;
    const auto content = content_of(own_, sent_, random.below(7));
    link_.out.write_inline(sent_++, std::as_bytes(std::span(content)));
  }

  void commit() {
    if (open_.empty()) return;
    const std::uint32_t buffer = open_.front();
    open_.pop_front();
    const auto content = content_of(own_, sent_, 8);
    std::memcpy(link_.out.buffer(buffer), content.data(), 64);
    link_.out.commit_buffer(sent_++, buffer, 64);
  }

  void take(splitmix64& random) {
    taken_packet packet{};
    if (!link_.in.take(packet)) return;
    ASSERT_EQ(packet.header, taken_) << "lost, repeated or out of order";
    kept_packet one{.number = taken_++,
                    .content = link_.in.payload(),
                    .words = packet.bytes / sizeof(std::uint64_t),
                    .buffer = std::nullopt,
                    .place = link_.in.place()};
    if (packet.buffer_plus_one != 0) {
      one.buffer = packet.buffer_plus_one - 1;
      one.content = link_.in.buffer(*one.buffer);
    }
    expect_content(one);
    if (one.buffer || random.below(2) == 0) {
      if (!one.buffer) link_.in.keep();
      kept_.push_back(one);
    } else {
      link_.in.return_credit();
    }
  }

  void release() {
    if (kept_.empty()) return;
    const kept_packet one = kept_.front();
    kept_.pop_front();
    expect_content(one);  // nobody has touched it meanwhile
    if (one.buffer) {
      link_.in.return_credit();
      link_.in.return_buffer(*one.buffer);
    } else {
      link_.in.drop(one.place);
      link_.in.return_credit();
    }
  }

  void expect_content(const kept_packet& one) const {
    if (one.words == 0) return;
    const auto expected = content_of(1 - own_, one.number, one.words);
    ASSERT_EQ(std::memcmp(one.content, expected.data(), one.words * sizeof(std::uint64_t)), 0)
        << "packet " << one.number << " of rank " << 1 - own_;
  }

  region_map map_;
  rank_t own_;
  link link_;
  std::deque<std::uint32_t> open_;
  std::deque<kept_packet> kept_;
  std::uint64_t sent_ = 0;
  std::uint64_t taken_ = 0;
};

void run_schedule(std::uint64_t seed) {
  splitmix64 random(seed);
  replica memories[2];
  const auto published = published_words(memories[0]);
  rank_of_pair ranks[2]{{memories[0], 0}, {memories[1], 1}};
  // How fast words become visible differs between schedules.
  const std::uint64_t deliveries = 1 + random.below(20);
  for (int step = 0; step < 300 && !::testing::Test::HasFatalFailure(); ++step) {
    const auto who = static_cast<std::size_t>(random.below(2));
    ranks[who].act(random);
    memories[who].collect(published);
    for (std::uint64_t i = random.below(deliveries); i > 0; --i) {
      const auto from = static_cast<std::size_t>(random.below(2));
      if (memories[from].anything_pending()) memories[from].deliver_one(memories[1 - from], random);
    }
  }
  for (const std::size_t from : {0, 1}) {
    while (memories[from].anything_pending() && !::testing::Test::HasFatalFailure()) {
      memories[from].deliver_one(memories[1 - from], random);
    }
  }
  for (auto& rank : ranks) rank.take_all(random);
  for (const std::size_t from : {0, 1}) EXPECT_EQ(ranks[1 - from].taken(), ranks[from].sent());
}

TEST(shm_schedules, channels_keep_their_word_in_any_order_of_memory) {
  const char* const replayed = std::getenv("SEED");
  const std::uint64_t first = replayed != nullptr ? std::stoull(replayed) : 1;
  const std::uint64_t last = replayed != nullptr ? first : amity::testing::cases(3000);
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    run_schedule(seed);
    if (HasFailure()) FAIL() << "replay it with SEED=" << seed;
  }
}

}  // namespace
}  // namespace amity::fabric::shm
