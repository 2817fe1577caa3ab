#pragma once

/// A request for a depth of messages, for as long as it lives: `world::request_depth`. Collective, outside epochs; so
/// is its destruction, which sends nothing.

#include "amity/epoch/epoch.hpp"
#include "amity/epoch/thread_epochs.hpp"

namespace amity::epoch {

class depth_request : private immovable {
 public:
  /// `others` are those of the other threads of the rank, which run no epoch now.
  depth_request(epochs& owner, other_threads others, int depth)
      : epochs_(owner), others_(others), depth_(owner.request_depth(depth)) {
    for (const auto& other : others_) other->periods().add_depth(depth_);
  }
  depth_request(epochs& owner, int depth) : depth_request(owner, {}, depth) {}
  ~depth_request() {
    epochs_.release_depth(depth_);
    if (epochs_.inside()) return;  // an error, and the others are at work
    for (const auto& other : others_) other->periods().release_depth(depth_);
  }

  /// The largest depth that a rank has given for this request.
  int depth() const noexcept { return depth_; }

 private:
  epochs& epochs_;
  other_threads others_;
  int depth_;
};

}  // namespace amity::epoch
