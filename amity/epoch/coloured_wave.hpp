#pragma once

/// The coloured single wave: one wave after quiescence.
///
/// A rank's colour is the number of waves for which it has recorded its counters; each packet carries its sender's
/// colour. A rank that is about to handle a message of a newer colour records first, so that the records of one wave
/// are a consistent cut: no message is counted as handled that is not counted as sent (Lai and Yang, "On distributed
/// snapshots", Information Processing Letters 25(3), 1987). If, in such a cut, sent equals handled and every rank was
/// passive, no message is under way and none can arise: the epoch has ended.
///
/// A record that a message forces is marked active. Nothing is lost by that: a message sent after its sender's record
/// descends from a message that crosses the cut or from an active rank, so this wave must fail in any case.
/// A newer colour may come before the verdict of the wave that this rank has already recorded for. Then it records for
/// the next wave in advance; without that, the next wave could count the message as handled but not as sent, and end
/// too early.

#include <cstdint>
#include <optional>

#include "amity/epoch/detector.hpp"

namespace amity::epoch {

class coloured_wave : public detector {
 public:
  using detector::detector;

 protected:
  bool terminated(const wave_part& totals) override { return totals.sent == totals.handled && !totals.active; }
  void newer_colour(core::wave_colour colour) override;

 private:
  void contribute_passive(std::uint64_t value) override;
  void next_wave(std::uint64_t) override;
  void begun(int) override { show_colour(); }

  void count_record();
  void show_colour() { endpoint().set_colour(static_cast<core::wave_colour>(recorded_)); }

  std::uint32_t recorded_ = 0;           ///< waves that this rank has recorded for; its colour
  std::optional<wave_part> in_advance_;  ///< the record for the wave after the current one
};

}  // namespace amity::epoch
