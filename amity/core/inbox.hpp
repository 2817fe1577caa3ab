#pragma once

/// Packets that have arrived at one thread of a rank and are not due, in all worlds.
///
/// They lie in the memory of the fabric and hold their credits, which bounds them; answers and packets of termination
/// detection, which must not hold credits, are copied. A packet waits for its epoch, for the next round of progress, or
/// behind packets of a higher priority. By priority at most half of a peer's credits are held, so that the peer can
/// always send what is more urgent.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

/// Packets are as the fabric has handed them over: their headers name the world.
class inbox {
 public:
  struct arrival {
    fabric::packet packet;
    std::unique_ptr<std::byte[]> copy;  ///< null: the packet lies in the fabric's memory, and must be released
  };

  /// A packet is kept in memory of the fabric, or copied; then the caller releases it.
  enum class storage { fabric, copy };

  /// Keeps a packet of an epoch that its world has not begun.
  void keep_early(const fabric::packet& arrived, storage where) { early_.push_back(kept(arrived, where)); }
  /// The early packets of this world are due.
  void epoch_begins(world_number world);
  std::size_t early_of(world_number world) const noexcept;
  /// Returns a world other than this one that has early packets, or nothing.
  std::optional<world_number> early_beside(world_number world) const noexcept;

  /// Keeps a packet for the next round of progress. An answer, which must not hold the credits that are reserved for
  /// answers, is copied. Other packets are not: their source is slowed down.
  fabric::disposition keep_due(const fabric::packet& arrived);
  bool has_due() const noexcept { return !due_.empty(); }
  /// All that are due, in the order of their arrival. The caller handles or keeps each, and then releases it.
  std::vector<arrival> take_due() noexcept { return std::exchange(due_, {}); }
  /// Whether any packet of this world is due, or waits behind others.
  bool holds(world_number world) const noexcept;
  bool holds_due(world_number world) const noexcept;

  /// Keeps a packet behind those of a higher priority. False: half of its peer's credits are held by such packets.
  bool keep_behind(const fabric::packet& arrived, int priority, const fabric::fabric& transport);
  bool has_behind() const noexcept { return !behind_.empty(); }
  /// The packet of the highest priority, and of these the one that came first.
  fabric::packet take_most_urgent();

  /// Releases all packets, or those of one world.
  void release(fabric::fabric& transport) noexcept;
  void release(fabric::fabric& transport, world_number world) noexcept;

 private:
  struct prioritized {
    fabric::packet packet;
    int priority;
    std::uint64_t arrival;
  };
  static bool later(const prioritized& a, const prioritized& b) noexcept {
    return a.priority != b.priority ? a.priority < b.priority : a.arrival > b.arrival;
  }
  static arrival kept(const fabric::packet& arrived, storage where);
  template <class Which>
  void release_if(fabric::fabric& transport, Which&& which) noexcept;

  std::vector<arrival> early_;
  std::vector<std::uint32_t> behind_of_;  ///< by peer; empty until any packet waits behind others
  std::size_t behind_of_peer_max_ = 0;
  std::uint64_t arrivals_ = 0;
  // What every round of progress looks at comes last, and what follows in the engine begins with the like.
  std::vector<arrival> due_;
  std::vector<prioritized> behind_;  ///< a heap
};

}  // namespace amity::core
