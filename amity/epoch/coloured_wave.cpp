#include "amity/epoch/coloured_wave.hpp"

#include <utility>

namespace amity::epoch {

void coloured_wave::contribute_passive(std::uint64_t value) {
  count_record();
  contribute(record(false, value));
}

void coloured_wave::newer_colour(core::wave_colour colour) {
  // Colours travel modulo 256; a rank is at most two records behind another.
  while (static_cast<core::wave_colour>(recorded_) != colour) {
    if (!current().contributed()) {
      count_record();
      contribute(record(true, 0));
    } else if (!in_advance_) {
      count_record();
      in_advance_ = record(true, 0);
    } else {
      return;  // nobody can be that far ahead: the message is older by a multiple of 256, and does no harm
    }
  }
}

void coloured_wave::next_wave(std::uint64_t) {
  if (in_advance_) contribute(*std::exchange(in_advance_, std::nullopt));
}

void coloured_wave::count_record() {
  ++recorded_;
  show_colour();
}

}  // namespace amity::epoch
