#include "amity/epoch/detector.hpp"

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/epoch/colored_wave.hpp"
#include "amity/epoch/counting_rounds.hpp"
#include "amity/epoch/four_counter.hpp"

namespace amity::epoch {

detector::detector(core::endpoint& owner) : endpoint_(owner), wave_(owner) {}

detector::~detector() { endpoint_.set_control(nullptr); }

void detector::begin(int depth) {
  finished_ = late_ = collects_late_ = false;
  endpoint_.set_control(this);
  wave_.set_depth(depth);
  begun(depth);
}

bool detector::passive(std::uint64_t value, bool late) {
  if (!wants_part()) return false;
  late_ = late;
  if (collects_late_) {
    contribute({.value = value});
  } else {
    contribute_passive(value);
  }
  settle();
  return true;
}

wave_part detector::record(bool active, std::uint64_t value) const {
  const core::message_counts& counts = endpoint_.counts().epochs();
  return {.sent = counts.sent, .handled = counts.handled, .value = value, .active = active};
}

void detector::contribute(const wave_part& own) {
  wave_part part = own;
  part.late = late_;
  wave_.contribute(part);
}

void detector::on_control(rank_t source, bytes_view payload) {
  wave_.on_packet(source, payload);
  settle();
}

void detector::on_newer_color(core::wave_color color) {
  newer_color(color);
  settle();
}

void detector::settle() {
  for (;;) {
    if (wave_.complete()) decide();
    if (!wave_.has_verdict()) return;
    const wave::verdict verdict = wave_.take_verdict();
    switch (verdict.what) {
      case outcome::undecided:
        next_wave(verdict.word);
        break;
      case outcome::handled:
        collects_late_ = true;
        break;
      case outcome::ended:
        finished_ = true;
        sum_ = verdict.word;
        return;
    }
  }
}

void detector::decide() {
  const wave_part totals = wave_.totals();
  if (collects_late_) {
    wave_.decide(outcome::ended, sum_ + totals.value);
  } else if (!terminated(totals)) {
    wave_.decide(outcome::undecided, news(totals));
  } else if (totals.late) {
    sum_ = totals.value;
    wave_.decide(outcome::handled, 0);
  } else {
    wave_.decide(outcome::ended, totals.value);
  }
}

std::unique_ptr<detector> make_detector(std::string_view name, core::endpoint& owner) {
  if (name == "colored") return std::make_unique<colored_wave>(owner);
  if (name == "four_counter") return std::make_unique<four_counter>(owner);
  throw error("settings", owner.rank(), fmt::format("AMITY_EPOCH_DETECTOR={} is not a detector", name),
              "use colored or four_counter");
}

std::unique_ptr<detector> make_counting_rounds(core::endpoint& owner) {
  return std::make_unique<counting_rounds>(owner);
}

}  // namespace amity::epoch
