#pragma once

/// The colored single wave: one wave after quiescence.
///
/// A rank's color is the number of waves for which it has recorded its counters; each packet carries its sender's
/// color. A rank that is about to handle a message of a newer color records first, so that the records of one wave
/// are a consistent cut: no message is counted as handled that is not counted as sent (Lai and Yang, "On distributed
/// snapshots", Information Processing Letters 25(3), 1987). If, in such a cut, sent equals handled and every rank was
/// passive, no message is under way and none can arise: the epoch has ended.
///
/// A record that a message forces is marked active. Nothing is lost by that: a message sent after its sender's record
/// descends from a message that crosses the cut or from an active rank, so this wave must fail in any case.
/// A newer color may come before the verdict of the wave that this rank has already recorded for. Then it records for
/// the next wave in advance; without that, the next wave could count the message as handled but not as sent, and end
/// too early.

#include <cstdint>
#include <optional>

#include "amity/epoch/detector.hpp"

namespace amity::epoch {

class colored_wave : public detector {
 public:
  using detector::detector;

 protected:
  bool terminated(const wave_part& totals) override { return totals.sent == totals.handled && !totals.active; }
  void newer_color(core::wave_color color) override;

 private:
  void contribute_passive(std::uint64_t value) override;
  void next_wave(std::uint64_t) override;
  void begun(int) override { show_color(); }

  void count_record();
  void show_color() { endpoint().set_color(static_cast<core::wave_color>(recorded_)); }

  std::uint32_t recorded_ = 0;           ///< waves that this rank has recorded for; its color
  std::optional<wave_part> in_advance_;  ///< the record for the wave after the current one
};

}  // namespace amity::epoch
