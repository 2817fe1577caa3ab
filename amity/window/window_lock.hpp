#pragma once

/// The lock of a window on the rank that owns it: draws tickets for members that do not map it, and tells them when
/// it is their turn.

#include <cstdint>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/window/control_block.hpp"
#include "amity/window/window_service.hpp"

namespace amity::detail {

class window_lock final : private immovable {
 public:
  window_lock(window_service& service, record_window& of, control_block& control, window_identity identity)
      : service_(service), window_(of), control_(control), identity_(identity) {}

  void request(rank_t lane, rank_t member, lock_kind kind);
  /// Members that wait get it in the next round of progress, or by `serve_waiting`.
  void release(lock_kind kind);
  /// Gives the lock to those whose turn it is. False: none waits.
  bool serve_waiting();

 private:
  struct request_of {
    rank_t lane;
    rank_t member;
    lock_kind kind;
    std::uint16_t ticket;
  };
  /// The lock has been taken for that member.
  void grant(const request_of& to);

  window_service& service_;
  record_window& window_;
  control_block& control_;
  window_identity identity_;
  std::vector<request_of> waiting_;
};

}  // namespace amity::detail
