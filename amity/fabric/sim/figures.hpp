#pragma once

/// What became of one rank's virtual time, and of its packets.
///
/// A rank's clock is at every moment in one of four states: it computes, it is busy with the network, it is stopped by
/// a fault, or it waits. The first three are added up as they pass; the rest of its time was waiting.

#include <cstdint>

#include "amity/base/types.hpp"

namespace amity::fabric::sim {

struct rank_figures {
  rank_t rank = 0;
  rank_t thread = 0;             ///< of the rank; each has figures of its own
  std::uint64_t end_ns = 0;      ///< when the rank ended
  std::uint64_t busy_ns = 0;     ///< computing, handlers included, as far as computing takes time
  std::uint64_t network_ns = 0;  ///< overheads of what it has sent and received
  std::uint64_t stopped_ns = 0;
  std::uint64_t sent = 0;  ///< packets and operations on remote memory
  std::uint64_t bytes_sent = 0;
  std::uint64_t received = 0;   ///< packets and notifications
  std::uint64_t flight_ns = 0;  ///< what it has sent was under way for so long, added up
  std::uint64_t late_ns = 0;    ///< what it has received had arrived so long before, added up

  std::uint64_t waiting_ns() const noexcept { return end_ns - busy_ns - network_ns - stopped_ns; }
};

}  // namespace amity::fabric::sim
