#pragma once

/// Slots of Long messages: places at the target where an envelope waits for its payload, or a payload for its envelope.
///
/// The target lends slots to a source that asks for some, up to 64, and the source gives each message one of them: its
/// number travels with both parts, so that the target finds the place by an index. A source without a slot waits: what
/// the target keeps is bounded. Slots go back to their source many at a time, as soon as half of them have been used.

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

#include "amity/base/assert.hpp"
#include "amity/base/rank_map.hpp"
#include "amity/core/event.hpp"
#include "amity/core/kept_arguments.hpp"
#include "amity/core/long_envelope.hpp"
#include "amity/core/packet_header.hpp"

namespace amity::core {

inline constexpr std::uint32_t slots_per_peer_max = 64;
/// Numbers of slots are smaller: notifications have no more bits for them.
inline constexpr std::uint32_t slots_max = std::uint32_t{1} << 24;

/// A packet about slots `first` + i, for each bit i of `which`: they may be used, again or for the first time. No bits:
/// some are asked for.
struct slot_news {
  std::uint64_t which = 0;
  std::uint32_t first = 0;
};

/// The source's side: which slots of which target it may use.
class borrowed_slots {
 public:
  /// A slot of the peer, or `no_slot`. `ask(news)` is called when none was ever asked for.
  template <class Ask>
  std::uint32_t take(rank_t lane, Ask&& ask) {
    lender& from = lenders_[lane];
    if (from.free == 0) {
      if (!from.asked) {
        from.asked = true;
        ask(slot_news{});
      }
      return no_slot;
    }
    const auto bit = static_cast<std::uint32_t>(std::countr_zero(from.free));
    from.free &= from.free - 1;
    ++taken_;
    return from.first + bit;
  }

  /// A slot that was taken and not used may be taken again.
  void give_back(rank_t lane, std::uint32_t slot) noexcept {
    lender& from = lenders_[lane];
    from.free |= std::uint64_t{1} << (slot - from.first);
    --taken_;
  }

  /// `told` is reached when the slot is returned.
  void await(rank_t lane, std::uint32_t slot, awaited* told) {
    lender& from = lenders_[lane];
    from.told[slot - from.first] = told;
  }

  /// Whether `take_back` may be called: the news names slots that the lane was asked for, or that were used.
  bool expects(rank_t lane, const slot_news& news) const noexcept;

  /// Returns how many slots may be used that could not be before.
  int take_back(rank_t lane, const slot_news& news);

  /// Slots that have not been returned.
  std::size_t taken() const noexcept { return taken_; }

 private:
  struct lender {
    std::uint64_t lent = 0;  ///< all that were lent
    std::uint64_t free = 0;
    std::uint32_t first = 0;
    bool asked = false;
    std::unique_ptr<awaited*[]> told;  ///< by slot; there when slots are
  };

  rank_map<lender> lenders_;
  std::size_t taken_ = 0;
};

/// A message of which a part has arrived. As `awaited`, it awaits a payload that the target itself gets.
class lent_slot final : public awaited {
 public:
  enum part : std::uint8_t { nothing = 0, payload = 1, head = 2, both = 3 };

  rank_t lane = no_rank;  ///< of the job, that the slot was lent to
  std::uint32_t number = 0;
  std::uint8_t parts = nothing;
  world_number world = 0;  ///< of the message
  class long_receiver* owner = nullptr;
  packet_header header;
  envelope about;
  kept_arguments args;
  offer from;  ///< where the payload is got
  bool offered = false;

  void reached() noexcept override;
};

/// The target's side.
class lent_slots {
 public:
  explicit lent_slots(std::uint32_t each) : each_(each) {}

  /// Lends slots to a lane that has asked for some; `owner` runs the messages whose parts are both there. Throws
  /// `std::length_error` if all numbers have been used.
  slot_news lend(rank_t lane, long_receiver& owner);

  /// Null: no slot has this number, which comes from a peer.
  lent_slot* find(std::uint32_t number) noexcept {
    const std::size_t lender = number / slots_per_peer_max;
    const std::uint32_t index = number % slots_per_peer_max;
    return lender < loans_.size() && index < each_ ? &loans_[lender].slots[index] : nullptr;
  }

  /// The slot has served. Calls send(lane, news) if it is time to give slots back; `at_once`: it is.
  template <class Send>
  void give_back(lent_slot& served, bool at_once, Send&& send) {
    loan& of = loans_[served.number / slots_per_peer_max];
    of.served |= std::uint64_t{1} << served.number % slots_per_peer_max;
    served.parts = lent_slot::nothing;
    served.offered = false;
    ++kept_;
    const auto count = static_cast<std::uint32_t>(std::popcount(of.served));
    if (!at_once && 2 * count < each_) return;
    kept_ -= count;
    const slot_news news{.which = of.served, .first = served.number / slots_per_peer_max * slots_per_peer_max};
    of.served = 0;
    send(served.lane, news);
  }

  /// Slots that have served and were not given back yet.
  std::size_t kept() const noexcept { return kept_; }
  /// Messages of which one part has arrived.
  std::size_t incomplete() const noexcept;

 private:
  struct loan {
    std::unique_ptr<lent_slot[]> slots;
    std::uint64_t served = 0;
  };

  std::uint32_t each_;
  std::vector<loan> loans_;  ///< slot n is slot n % 64 of loan n / 64
  std::size_t kept_ = 0;
};

}  // namespace amity::core
