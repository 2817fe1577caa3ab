#pragma once

/// Long messages of mixed sizes from every rank to every rank, each into a place of its own, each answered: half of
/// them by a Long. What arrives is looked at byte by byte.

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/random.hpp"
#include "amity/core/memory_service.hpp"
#include "tests/fabric/payloads.hpp"
#include "tests/support/jobs.hpp"

namespace amity::testing {

class long_storm {
 public:
  explicit long_storm(core::endpoint& own)
      : own_(own),
        memory_(own.memory()),
        bytes_max_(3 * own.packet_bytes_max() + 17),
        mine_(memory_.allocate(3 * area_bytes() + reply_bytes)),
        random_(static_cast<std::uint64_t>(own.rank()) + 1) {
    for (std::size_t i = 0; i < ranks() * spots_each; ++i) spots_.emplace_back();
    fabric::testing::fill({reply_payload(), reply_bytes}, reply_key);
    back_ = own.add_handler("back", [this](core::request& r) {
      const auto index = static_cast<std::size_t>(r.args()[0]);
      EXPECT_FALSE(spots_[index].answered);
      spots_[index].answered = true;
      ++answers;
      if (r.args()[1] == 0) return;
      EXPECT_EQ(r.payload().data(), mine_.data + 2 * area_bytes() + index * bytes_max_);
      wrong += fabric::testing::is_payload(r.payload(), reply_key) && r.payload().size() == reply_bytes ? 0u : 1u;
    });
    landed_ = own.add_handler("landed", [this](core::request& r) { on_long(r); });
    all_ = exchange(own, mine_);
    own.barrier();  // handlers use what all have exchanged
  }
  ~long_storm() {
    for (core::remote_segment& each : all_) memory_.close(each);
    memory_.release(mine_);
    own_.remove_handler(landed_);
    own_.remove_handler(back_);
  }

  /// Sends `count` messages, and returns when all ranks have handled theirs.
  void run(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) send_one();
    own_.wait_until("answers", [&] { return answers == count && memory_.implicit().done(); });
    // The answer to a Long may come before the news that its source is free.
    own_.wait_until("sources", [&] { return std::ranges::all_of(spots_, &spot::free); });
    own_.barrier();
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(own_.own_engine().served().memory().operations.kept(), 0u);
    EXPECT_EQ(own_.own_engine().served().memory().receiver.slots().incomplete(), 0u);
    EXPECT_TRUE(no_slot_leaked());
    EXPECT_EQ(own_.counts().of(landed_, own_.lane()).sent, own_.counts().of(landed_, own_.lane()).handled);
    own_.barrier();
  }

  core::memory& memory() noexcept { return memory_; }

  std::uint64_t answers = 0;
  std::uint64_t wrong = 0;

 private:
  static constexpr std::size_t spots_each = 12;  ///< places of a source at a target
  static constexpr std::uint64_t reply_key = 77;
  static constexpr std::size_t reply_bytes = 300;

  struct spot {
    core::event source_free;
    bool answered = true;
    bool free() const { return answered && source_free.done(); }
  };

  std::size_t ranks() const { return static_cast<std::size_t>(own_.size()); }
  // One area of the segment is for what arrives, one for what is sent, one for replies; behind them is what this rank
  // replies.
  std::size_t area_bytes() const { return ranks() * spots_each * bytes_max_; }
  std::byte* sources() const { return mine_.data + area_bytes(); }
  std::byte* reply_payload() const { return mine_.data + 3 * area_bytes(); }
  core::remote_address place_at(rank_t rank, std::size_t index) const {
    return {.segment = all_[static_cast<std::size_t>(rank)], .offset = index * bytes_max_};
  }

  void send_one() {
    const auto dest = static_cast<rank_t>(random_.below(ranks()));
    const std::size_t first = static_cast<std::size_t>(dest) * spots_each;
    std::size_t index = 0;
    own_.wait_until("a free place", [&] {
      for (index = first; index < first + spots_each; ++index) {
        if (spots_[index].free()) return true;
      }
      return false;
    });
    const std::array<std::size_t, 8> sizes{0, 8, 64, 500, 1000, own_.packet_bytes_max(), bytes_max_, 24};
    const std::size_t bytes = sizes[random_.below(random_.below(4) == 0 ? sizes.size() : 5)];
    const std::uint64_t key = random_();
    const mutable_bytes payload{sources() + index * bytes_max_, bytes};
    fabric::testing::fill(payload, key);
    spots_[index].answered = false;
    // Places of this rank at the target, as it sees them.
    const std::size_t there = static_cast<std::size_t>(own_.rank()) * spots_each + index - first;
    own_.request_long(place_at(dest, there), landed_, payload, {index, key, bytes, there}, spots_[index].source_free);
  }

  void on_long(core::request& r) {
    const std::uint64_t index = r.args()[0], key = r.args()[1];
    const bool right = r.payload().size() == r.args()[2] && fabric::testing::is_payload(r.payload(), key) &&
                       (r.payload().empty() || r.payload().data() == mine_.data + r.args()[3] * bytes_max_);
    wrong += right ? 0u : 1u;
    if (key % 2 == 0) {
      r.reply_short(back_, {index, 0});
    } else {
      r.reply_long(place_at(r.source(), 2 * ranks() * spots_each + index), back_, {reply_payload(), reply_bytes},
                   {index, 1}, memory_.implicit());
    }
  }

  // What is not back yet is kept by the target, or on its way.
  bool no_slot_leaked() {
    for (int tries = 0; tries < 1000; ++tries) {
      const auto& now = own_.own_engine().served().memory();
      const std::uint64_t borrowed = own_.reduce(core::reduction::sum_u64, now.operations.slots().taken());
      const std::uint64_t kept = own_.reduce(core::reduction::sum_u64, now.receiver.slots().kept());
      if (borrowed == kept) return true;
      wait(own_.transport(), 100'000);
      own_.progress();
    }
    return false;
  }

  core::endpoint& own_;
  core::memory& memory_;
  std::size_t bytes_max_;
  core::local_segment mine_;
  splitmix64 random_;
  std::deque<spot> spots_;  ///< by target, then by place
  std::vector<core::remote_segment> all_;
  core::handler_id landed_ = 0;
  core::handler_id back_ = 0;
};

/// Remote memory and packets come in any order, and few are under way.
inline fabric::sim::sim_options unordered(std::uint64_t seed) {
  return {.seed = seed, .delay_ns_max = 4000, .reorder_percent = 40, .remote_delay_ns_max = 20000, .credits = 6};
}

}  // namespace amity::testing
