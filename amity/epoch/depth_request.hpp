#pragma once

/// A request for a depth of messages, for as long as it lives: `world::request_depth`. Collective, outside epochs; so
/// is its destruction, which sends nothing.

#include "amity/epoch/epoch.hpp"

namespace amity::epoch {

class depth_request {
 public:
  depth_request(epochs& owner, int depth) : epochs_(owner), depth_(owner.request_depth(depth)) {}
  ~depth_request() { epochs_.release_depth(depth_); }
  depth_request(const depth_request&) = delete;
  depth_request& operator=(const depth_request&) = delete;

  /// The largest depth that a rank has given for this request.
  int depth() const noexcept { return depth_; }

 private:
  epochs& epochs_;
  int depth_;
};

}  // namespace amity::epoch
