#pragma once

/// Who takes the packets of a service: of no world and no epoch.

#include "amity/core/packet_header.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

class packet_receiver {
 public:
  /// A packet of the service has arrived. What is kept is released later, by the receiver. Not called after a failure;
  /// what it throws fails the job.
  virtual fabric::disposition on_packet(packet_header header, const fabric::packet& arrived) = 0;

 protected:
  ~packet_receiver() = default;
};

}  // namespace amity::core
