#pragma once

/// What the endpoint tells the floor that detects termination.

#include "amity/base/types.hpp"
#include "amity/core/packet_header.hpp"

namespace amity::core {

class control {
 public:
  /// A detector packet of the current epoch has arrived. May call `endpoint::send_control`.
  virtual void on_control(rank_t source, bytes_view payload) = 0;

  /// A message from a rank that has recorded its counters more often than this rank is about to be handled.
  virtual void on_newer_colour(wave_colour colour) = 0;

 protected:
  ~control() = default;
};

}  // namespace amity::core
