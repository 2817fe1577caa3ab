#pragma once

/// Counting rounds, for epochs with a declared depth (AM++: Willcock et al., PACT 2010, section 3.3).
///
/// The body's messages are generation 0; a handler's are one generation later than the message that it handles. Packets
/// carry their generation. Once all messages of one generation have been handled, nobody can send any of the next one
/// more: its messages are all counted as sent, and equal sums of sent and handled mean that they have been handled. No
/// consistent cut is needed for that, and no wave fails because a rank had begun to work again.
///
/// A wave decides about two generations, r and r + 1: where it finds that those of r have been handled by the time at
/// which the ranks contributed, those of r + 1 had been sent by then. The number of waves depends on the generations
/// that there are, not on the depth that was declared.
///
/// Messages of several generations may share a packet, or wait together in a policy. Such a packet has the earliest
/// generation that its rank can have sent since it was last passive, which held nothing: the counts of a generation are
/// final all the same when those before have been handled. A message that is deeper than declared may then pass as one
/// that is not; it is counted, so that the epoch does not end before it is handled.

#include <cstdint>
#include <vector>

#include "amity/epoch/detector.hpp"

namespace amity::epoch {

class counting_rounds : public detector {
 public:
  using detector::detector;

 protected:
  /// `sent` and `handled` are messages of generations r and r + 1 that have been sent, less those that have been
  /// handled; `active` tells that there have been messages of generation r + 2 or later.
  bool terminated(const wave_part& totals) override {
    return totals.sent == 0 && totals.handled == 0 && !totals.active;
  }
  std::uint64_t news(const wave_part& totals) override;

 private:
  void on_generation(core::wave_color generation) override;
  void begun(int depth) override;
  void contribute_passive(std::uint64_t value) override;
  void next_wave(std::uint64_t round) override { round_ = static_cast<std::size_t>(round); }

  void count();

  std::vector<std::uint64_t> unhandled_;  ///< by generation: sent here, less handled here, modulo 2^64
  std::size_t round_ = 0;                 ///< r: no earlier generation has a message left
  std::size_t latest_sent_ = 0;           ///< generation
  std::size_t sending_ = 0;               ///< generation of what is sent now
  std::size_t handling_ = 0;              ///< generation of the last message that was handled, or is
  core::message_counts counted_;          ///< what the ledger said when `unhandled_` was brought up to date
};

}  // namespace amity::epoch
