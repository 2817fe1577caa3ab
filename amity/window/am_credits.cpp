#include "amity/window/am_credits.hpp"

#include <algorithm>
#include <utility>

namespace amity::detail {
namespace {

std::uint64_t sum_of(const std::vector<am_free>& all) noexcept {
  std::uint64_t sum = 0;
  for (const am_free& each : all) sum += each.bytes;
  return sum;
}

}  // namespace

void am_credits::note_request(const am_need& of_unit) {
  units_[requests_++ % requests_known] = of_unit.input + of_unit.output;
}

void am_credits::extend(rank_t lane, const am_need& of_segment, std::uint64_t usable) {
  holder& of = at(lane);
  of.used_at = served_;
  const std::uint64_t segment = of_segment.input + of_segment.output, has = of.credit.bytes(), most = share();
  const std::uint64_t goal = std::min(has + usable, most);
  if (segment == 0 || goal < has + segment) return;
  std::uint64_t missing = goal - has;
  withdraw_for(of, missing, most);
  for (const am_free& each : spare()) {
    const std::uint64_t part = std::min(missing, each.bytes) / segment * segment;
    if (part == 0) continue;
    set(of, each.buffer, of.credit.bytes_in(each.buffer) + part);
    missing -= part;
  }
}

void am_credits::withdraw_for(const holder& of, std::uint64_t bytes, std::uint64_t most) {
  std::uint64_t found = sum_of(spare());
  for (holder* const other : holders_) {
    if (found >= bytes) return;
    if (other == &of) continue;
    const std::uint64_t has = other->credit.bytes();
    const std::uint64_t excess = !is_active(*other) ? has : has > most ? has - most : 0;
    found += withdraw(*other, std::min(excess, bytes - found));
  }
}

bool am_credits::try_take(rank_t lane, const am_need& of_unit, const am_room& where) {
  const std::unique_ptr<holder>* const found = by_lane_.find(lane);
  if (found == nullptr || !(*found)->credit.try_take(of_unit, where)) return false;
  served_ += of_unit.input + of_unit.output;
  (*found)->used_at = served_;
  for_each_part(of_unit, where, [this](std::uint32_t buffer, std::uint64_t bytes) {
    if (bytes > 0) buffers_.use_kept(buffer, bytes);
  });
  return true;
}

void am_credits::give_back(rank_t lane, const am_need& of_unit, const am_room& where) {
  am_credit& credit = at(lane).credit;
  for_each_part(of_unit, where, [&](std::uint32_t buffer, std::uint64_t bytes) {
    if (bytes > 0) buffers_.give_back_kept(buffer, bytes, credit.give_back(buffer, bytes));
  });
}

bool am_credits::try_withdraw(const am_need& of_segment, holders from) {
  for (holder* const each : holders_) {
    const bool may = from == holders::all || !is_active(*each);
    if (!may || each->credit.empty()) continue;
    withdraw(*each, each->credit.bytes());
    if (find_fit(buffers_.free(), of_segment, 1).segments == 1) return true;
  }
  return false;
}

void am_credits::withdraw_used(const am_room& in) {
  withdraw_in(in.input_buffer, buffers_.kept_too_much(in.input_buffer));
  withdraw_in(in.output_buffer, buffers_.kept_too_much(in.output_buffer));
}

void am_credits::drop_detached() {
  for (holder* const each : holders_) {
    const std::vector<am_free> all = each->credit.free();
    for (const am_free& part : all) {
      if (!buffers_.has(part.buffer)) set(*each, part.buffer, 0);
    }
  }
}

std::vector<am_free> am_credits::take_untold(rank_t lane) {
  const std::unique_ptr<holder>* const of = by_lane_.find(lane);
  return of == nullptr ? std::vector<am_free>() : std::exchange((*of)->untold, {});
}

am_credits::holder& am_credits::at(rank_t lane) {
  std::unique_ptr<holder>& of = by_lane_[lane];
  if (of == nullptr) {
    of = std::make_unique<holder>(holder{.lane = lane});
    holders_.push_back(of.get());
  }
  return *of;
}

std::vector<am_free> am_credits::spare() const {
  std::vector<am_free> all = buffers_.free();
  if (all.empty()) return all;
  am_free& largest = *std::ranges::max_element(all, {}, &am_free::bytes);
  const std::uint64_t last = unit_max();
  if (largest.bytes < last) return {};
  largest.bytes -= last;
  return all;
}

// Origins that use their credit have equal shares.
std::uint64_t am_credits::share() const noexcept {
  const std::uint64_t kept = buffers_.bytes_owed() + unit_max(), attached = buffers_.bytes_attached();
  const auto users = std::ranges::count_if(holders_, [this](const holder* each) { return is_active(*each); });
  return attached > kept ? (attached - kept) / static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(users, 1)) : 0;
}

std::uint64_t am_credits::unit_max() const noexcept {
  return std::min(*std::ranges::max_element(units_), buffers_.bytes_largest());
}

void am_credits::set(holder& of, std::uint32_t buffer, std::uint64_t bytes) {
  const std::uint64_t before = of.credit.free_in(buffer);
  of.credit.set(buffer, bytes);
  const std::uint64_t after = of.credit.free_in(buffer);
  after > before ? buffers_.keep(buffer, after - before) : buffers_.keep_less(buffer, before - after);
  const auto known = std::ranges::find(of.untold, buffer, &am_free::buffer);
  if (known != of.untold.end()) {
    known->bytes = bytes;
  } else {
    of.untold.push_back({.buffer = buffer, .bytes = bytes});
  }
}

std::uint64_t am_credits::withdraw(holder& from, std::uint64_t bytes_max) {
  std::uint64_t left = bytes_max;
  const std::vector<am_free> free = from.credit.free();
  for (const am_free& each : free) {
    const std::uint64_t part = std::min(left, each.bytes);
    if (part == 0) continue;
    set(from, each.buffer, from.credit.bytes_in(each.buffer) - part);
    left -= part;
  }
  return bytes_max - left;
}

void am_credits::withdraw_in(std::uint32_t buffer, std::uint64_t bytes) {
  for (const bool active : {false, true}) {
    for (holder* const each : holders_) {
      if (bytes == 0) return;
      const std::uint64_t part = is_active(*each) == active ? std::min(bytes, each->credit.free_in(buffer)) : 0;
      if (part == 0) continue;
      set(*each, buffer, each->credit.bytes_in(buffer) - part);
      bytes -= part;
    }
  }
}

}  // namespace amity::detail
