#pragma once

/// The credits of one rank: what it has in flight to each peer, and which credits are on their way back.
///
/// Credits that come back are written down in the order in which their targets release them, and looked up only when
/// they matter: when a peer has none left, or when there are many. So neither side touches what it keeps of the other
/// for each packet.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/fabric/reserve.hpp"
#include "amity/fabric/sim/schedule.hpp"

namespace amity::fabric::sim {

/// One direction of a pair of ranks, as its source sees it. Small: a rank sends to hundreds, and finds them cold.
struct peer {
  std::uint32_t in_flight : 29 = 0;  ///< credits in use; some may be back, which `look_up` finds
  std::uint32_t refused : 3 = 0;     ///< a bit for each claim that was answered `again`, with no credit seen since
};

class credits {
 public:
  /// With the reserve.
  explicit credits(std::uint32_t of_each_peer) : most_(of_each_peer) {}

  /// Takes one for `dest`. False: there is none for this claim, and `dest` is one of `refused()` from now on.
  bool take(rank_t dest, claim of, std::uint64_t now_ns);

  /// A credit returns, later than earlier ones of the same peer. True: it ends a refusal of `from`.
  bool come_back(rank_t from, std::uint64_t time_ns) {
    coming_.push_back({time_ns, from});
    next_any_ns_ = std::min(next_any_ns_, time_ns);
    return !refused_.empty() && ends_refusal(from);
  }

  /// Peers whose credits are waited for, who has refused first in front.
  const std::vector<rank_t>& refused() const noexcept { return refused_; }
  /// Whoever has a credit by now is not waited for any more. Returns when the next credit is back of those that are
  /// left, or `never`.
  std::uint64_t forget_refusals(std::uint64_t now_ns);

  /// When a peer that has refused will have a credit for what it refused, or `never`.
  std::uint64_t next_ns(rank_t from) const noexcept;

  /// Peers with packets in flight of late.
  std::size_t known() const noexcept { return peers_.size(); }

 private:
  struct coming {
    std::uint64_t time_ns;
    rank_t from;
  };
  static constexpr std::size_t coming_least = 64;

  /// Packets of this claim are taken while fewer are in flight.
  std::uint32_t limit(claim of) const noexcept { return most_ - static_cast<std::uint32_t>(withheld_from(of)); }
  /// The claim that is served soonest among those that were refused.
  static claim refused_claim(const peer& by) noexcept {
    return static_cast<claim>(std::bit_width(by.refused + 0u) - 1);
  }
  /// How many credits are needed for what was refused.
  std::size_t missing(const peer& by) const noexcept;
  bool ends_refusal(rank_t from) const noexcept;
  peer& record_of(rank_t rank, std::uint64_t now_ns);
  void look_up(std::uint64_t now_ns);
  peer& at(rank_t known) noexcept { return const_cast<peer&>(*peers_.find(known)); }

  // What peers touch comes first, on one cache line.
  std::vector<coming> coming_;
  std::vector<rank_t> refused_;        ///< peers whose `refused` is set
  std::uint64_t next_any_ns_ = never;  ///< the least of `coming_`
  rank_map<peer> peers_;
  std::size_t coming_max_ = coming_least;  ///< so many are worth a look
  std::uint32_t most_;
};

}  // namespace amity::fabric::sim
