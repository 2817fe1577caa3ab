#pragma once

/// What the endpoint tells the floor that detects termination.

#include <limits>

#include "amity/base/types.hpp"
#include "amity/core/packet_header.hpp"

namespace amity::core {

/// Handlers may send to any depth. A depth of 0 means that they do not send, a depth of 1 that they send messages whose
/// handlers do not, and so on.
inline constexpr int any_depth = std::numeric_limits<int>::max();

class control {
 public:
  /// A detector packet of the current epoch has arrived. May call `endpoint::send_control`.
  virtual void on_control(rank_t source, bytes_view payload) = 0;

  /// A message from a rank that has recorded its counters more often than this rank is about to be handled.
  virtual void on_newer_color(wave_color color) = 0;

  /// In an epoch with a declared depth, where the color of a packet is its generation: a message of it is about to be
  /// handled.
  virtual void on_generation(wave_color generation) = 0;

 protected:
  ~control() = default;
};

}  // namespace amity::core
