#pragma once

/// Calls that would wait or run handlers do neither.

#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"

namespace amity::core {

/// While it lives, this thread makes no progress, as in a handler of the world.
class no_progress final : private immovable {
 public:
  explicit no_progress(endpoint& in) : running_(in.own_engine().running()), before_(running_.set_world(&in)) {}
  ~no_progress() { running_.set_world(before_); }

 private:
  running_handler& running_;
  const endpoint* before_;
};

}  // namespace amity::core
