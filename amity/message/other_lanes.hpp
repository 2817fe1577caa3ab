#pragma once

/// The lanes of a message type on the threads 1, 2, ... of its rank: each is made and ended on its own thread.
///
/// Compiled once for all message types; a type says only how a lane of its own is made.

#include <memory>
#include <vector>

#include "amity/base/function_ref.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/team.hpp"

namespace amity::detail {

class other_lanes : private immovable {
 public:
  /// A lane whose type only its maker knows.
  using any_lane = std::unique_ptr<void, void (*)(void*)>;
  template <class Lane>
  static any_lane own(Lane* lane) {
    return {lane, [](void* old) { delete static_cast<Lane*>(old); }};
  }

  /// Thread 0; `make` runs on each of the others, with its endpoint.
  other_lanes(core::team& threads, function_ref<any_lane(core::endpoint&)> make);
  ~other_lanes();

  rank_t threads() const noexcept { return static_cast<rank_t>(lanes_.size()) + 1; }
  /// Of the thread 1, 2, ...
  void* of(rank_t thread) const noexcept { return lanes_[static_cast<std::size_t>(thread) - 1].get(); }

 private:
  core::team& team_;
  std::vector<any_lane> lanes_;
};

}  // namespace amity::detail
