#pragma once

/// Termination detection: when have all messages of an epoch, those sent by handlers too, been handled?
///
/// A detector works in waves: every rank contributes its counters once, when it is passive (it has finished its part of
/// the epoch, handled all that has arrived, and holds nothing back), and rank 0 decides. Waves are numbered through the
/// whole job. A summand of the user, and a fingerprint of the handlers, travel on the same wave.
///
/// An epoch has one detector: the one that a setting names, or for a declared depth the one that counts rounds.
///
/// To add a detector: derive from it, decide in `terminated`, and name it in `make_detector` (detector.cpp). The laws
/// that it must keep: never true while a message of the epoch is unhandled; true after finitely many waves once all
/// are.

#include <cstdint>
#include <memory>
#include <string_view>

#include "amity/core/control.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/epoch/wave.hpp"

namespace amity::epoch {

class detector : public core::control, private immovable {
 public:
  explicit detector(core::endpoint& owner);
  virtual ~detector();

  /// The rank is about to enter an epoch with this declared depth, or any.
  void begin(int depth);

  /// The rank is passive; `value` is its summand, or `late`: it has one that it gives when all has been handled.
  /// Returns whether that was news to the detector.
  bool passive(std::uint64_t value, bool late = false);

  /// Whether all messages have been handled everywhere, and late summands are collected.
  bool collects_late() const noexcept { return collects_late_; }

  /// Whether the epoch has ended, here and everywhere.
  bool finished() const noexcept { return finished_; }

  /// The sum over all ranks, once finished.
  std::uint64_t sum() const noexcept { return sum_; }

  /// Whether the current wave waits for this rank's part.
  bool wants_part() const noexcept { return !finished_ && !wave_.contributed(); }

  /// Number of this detector's waves so far, in the whole job.
  std::uint32_t waves() const noexcept { return wave_.number(); }

 protected:
  /// Rank 0 only: whether a complete wave with these totals proves that the epoch has ended.
  virtual bool terminated(const wave_part& totals) = 0;

  /// This rank's counters as they are now.
  wave_part record(bool active, std::uint64_t value) const;

  core::endpoint& endpoint() noexcept { return endpoint_; }
  const wave& current() const noexcept { return wave_; }
  void contribute(const wave_part& own);

 private:
  void on_control(rank_t source, bytes_view payload) final;
  void on_newer_color(core::wave_color color) final;
  void on_generation(core::wave_color) override {}

  /// The passive rank's own part of the current wave, or none if the rank has contributed already.
  virtual void contribute_passive(std::uint64_t value) { contribute(record(false, value)); }
  /// A message of a newer color is about to be handled.
  virtual void newer_color(core::wave_color) {}
  /// Rank 0 only: what all ranks should know after a wave with these totals that has not proved the end.
  virtual std::uint64_t news(const wave_part&) { return 0; }
  /// A wave has ended without termination, and rank 0 had these news; the next one has begun.
  virtual void next_wave(std::uint64_t) {}
  /// An epoch with this declared depth begins.
  virtual void begun(int) {}

  void settle();
  void decide();

  core::endpoint& endpoint_;
  wave wave_;
  bool finished_ = true;
  bool late_ = false;
  bool collects_late_ = false;
  std::uint64_t sum_ = 0;
};

/// Creates the detector of that name ("colored", "four_counter"); throws `error` for any other.
std::unique_ptr<detector> make_detector(std::string_view name, core::endpoint& owner);

/// Creates the detector of epochs with a declared depth.
std::unique_ptr<detector> make_counting_rounds(core::endpoint& owner);

}  // namespace amity::epoch
