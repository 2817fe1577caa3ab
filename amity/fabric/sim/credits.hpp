#pragma once

/// The credits of one rank: what it has in flight to each peer, and which credits are on their way back.
///
/// Credits that come back are written down in the order in which their targets release them, and looked up only when
/// they matter: when a peer has none left, or when there are many. So neither side touches what it keeps of the other
/// for each packet.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/fabric/sim/schedule.hpp"

namespace amity::fabric::sim {

/// One direction of a pair of ranks, as its source sees it. Small: a rank sends to hundreds, and finds them cold.
struct peer {
  std::uint32_t in_flight : 31 = 0;  ///< credits that are out, and those that are back and were not looked up yet
  std::uint32_t refused : 1 = 0;     ///< `again` was answered, and no credit was seen since
};

class credits {
 public:
  explicit credits(std::uint32_t of_each_peer) : most_(of_each_peer) {}

  /// Takes one for `dest`. False: there is none, and `dest` is one of `refused()` from now on.
  bool take(rank_t dest, std::uint64_t now_ns);

  /// One comes back, later than those of the same peer before it. True: `from` had refused, and is waited for.
  bool come_back(rank_t from, std::uint64_t time_ns) {
    coming_.push_back({time_ns, from});
    next_any_ns_ = std::min(next_any_ns_, time_ns);
    return !refused_.empty() && peers_.find(from)->refused != 0;
  }

  /// Peers whose credits are waited for, who has refused first in front.
  const std::vector<rank_t>& refused() const noexcept { return refused_; }
  /// Whoever has a credit by now is not waited for any more. Returns when the next credit is back of those that are
  /// left, or `never`.
  std::uint64_t forget_refusals(std::uint64_t now_ns);

  /// When the next credit of a peer that has none will be back, or `never`.
  std::uint64_t next_ns(rank_t from) const noexcept;

  /// Peers with packets in flight of late.
  std::size_t known() const noexcept { return peers_.size(); }

 private:
  struct coming {
    std::uint64_t time_ns;
    rank_t from;
  };
  static constexpr std::size_t coming_least = 64;

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
