#include "amity/message/packet_size_tuner.hpp"

#include <algorithm>
#include <utility>

namespace amity::detail {

packet_size_tuner::packet_size_tuner(std::size_t bytes_max) noexcept
    : bytes_max_(std::clamp(bytes_max, bytes_least, bytes_most)) {
  while ((bytes_max_ >> levels_) >= bytes_least) ++levels_;
  while (size_of(level_) < std::min(bytes_first, bytes_max_)) ++level_;
  begin_trial();
}

void packet_size_tuner::restart(std::uint64_t now_ns) noexcept {
  begin_ns_ = now_ns;
  bytes_ = packets_ = 0;
  steady_ = false;
}

void packet_size_tuner::measure(std::uint64_t now_ns) noexcept {
  const double cost = static_cast<double>(now_ns - begin_ns_) / static_cast<double>(bytes_);
  begin_ns_ = now_ns;
  bytes_ = packets_ = 0;
  if (resting_ > 0) {
    if (--resting_ == 0) begin_trial();
  } else if (std::exchange(steady_, true)) {
    cost_[with_candidate_] = cost;
    compare();
  }
}

void packet_size_tuner::compare() noexcept {
  ++measured_;
  if (measured_ % 2 == 0) ++(cost_[1] < cost_[0] * margin ? wins_ : losses_);
  if (wins_ >= wins_needed) {
    move();
  } else if (losses_ > losses_allowed) {
    give_up();
  } else {
    use((measured_ + 1) / 2 % 2 == 1);
  }
}

void packet_size_tuner::begin_trial() noexcept {
  measured_ = wins_ = losses_ = 0;
  use(false);
  candidate_ = level_ + direction_;
  if (candidate_ < 0 || candidate_ >= levels_) give_up();
}

void packet_size_tuner::move() noexcept {
  level_ = candidate_;
  use(false);
  directions_tried_ = 1;  // the other way it came from
  rest_ = rest_least;
  begin_trial();
}

void packet_size_tuner::give_up() noexcept {
  direction_ = -direction_;
  if (++directions_tried_ < 2) return begin_trial();
  use(false);
  directions_tried_ = 0;
  resting_ = std::exchange(rest_, std::min(2 * rest_, rest_most));
}

void packet_size_tuner::use(bool candidate) noexcept {
  if (with_candidate_ != candidate) steady_ = false;
  with_candidate_ = candidate;
}

}  // namespace amity::detail
