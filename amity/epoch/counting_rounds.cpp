#include "amity/epoch/counting_rounds.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"

namespace amity::epoch {
namespace {

/// Of a passive rank, until it handles another message.
constexpr std::size_t no_generation = 255;

}  // namespace

void counting_rounds::begun(int depth) {
  unhandled_.assign(static_cast<std::size_t>(depth) + 2, 0);
  round_ = latest_sent_ = sending_ = handling_ = 0;
  counted_ = endpoint().counts().epochs();
  endpoint().set_color(0);
}

void counting_rounds::count() {
  const core::message_counts& now = endpoint().counts().epochs();
  if (now.sent != counted_.sent) {
    AMITY_ASSERT(sending_ < unhandled_.size(), sending_, unhandled_.size());
    unhandled_[sending_] += now.sent - counted_.sent;
    latest_sent_ = std::max(latest_sent_, sending_);
  }
  unhandled_[handling_] -= now.handled - counted_.handled;
  counted_ = now;
}

void counting_rounds::on_generation(core::wave_color generation) {
  if (generation + 1u >= unhandled_.size()) {
    throw error("message arrival", endpoint().rank(),
                fmt::format("a message of generation {} has come to an epoch with a declared depth of {}", generation,
                            unhandled_.size() - 2),
                "request depths, and let the requests end, on all ranks in front of the same epochs");
  }
  count();
  handling_ = generation;
  sending_ = std::min(sending_, handling_ + 1);
  endpoint().set_color(static_cast<core::wave_color>(sending_));
}

void counting_rounds::contribute_passive(std::uint64_t value) {
  count();
  sending_ = no_generation;
  contribute({.sent = unhandled_[round_],
              .handled = unhandled_[round_ + 1],
              .value = value,
              .active = latest_sent_ >= round_ + 2});
}

std::uint64_t counting_rounds::news(const wave_part& totals) {
  if (totals.sent != 0) return round_;
  return totals.handled != 0 ? round_ + 1 : round_ + 2;
}

}  // namespace amity::epoch
