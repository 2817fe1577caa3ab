#pragma once

/// The four-counter method (Mattern, "Algorithms for distributed termination detection", Distributed Computing 2(3),
/// 1987, section 4): ranks contribute only when passive, and an epoch has ended when as many messages had been sent by
/// the end of a wave as had been handled by the end of the wave before it. Two waves after quiescence; the oracle of
/// the tests.

#include "amity/epoch/detector.hpp"

namespace amity::epoch {

class four_counter final : public detector {
 public:
  using detector::detector;

 private:
  bool terminated(const wave_part& totals) override {
    const bool ended = totals.sent == handled_before_;
    handled_before_ = totals.handled;
    return ended;
  }

  std::uint64_t handled_before_ = ~std::uint64_t{0};  ///< handled by the end of the wave before; none yet
};

}  // namespace amity::epoch
