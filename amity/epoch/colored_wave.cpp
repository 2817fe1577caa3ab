#include "amity/epoch/colored_wave.hpp"

#include <utility>

namespace amity::epoch {

void colored_wave::contribute_passive(std::uint64_t value) {
  count_record();
  contribute(record(false, value));
}

void colored_wave::newer_color(core::wave_color color) {
  // Colors travel modulo 256; a rank is at most two records behind another.
  while (static_cast<core::wave_color>(recorded_) != color) {
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

void colored_wave::next_wave(std::uint64_t) {
  if (in_advance_) contribute(*std::exchange(in_advance_, std::nullopt));
}

void colored_wave::count_record() {
  ++recorded_;
  show_color();
}

}  // namespace amity::epoch
