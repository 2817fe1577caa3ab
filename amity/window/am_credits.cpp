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

void am_credits::extend(rank_t lane, const am_need& of_segment, const am_need& of_unit, std::uint64_t waiting) {
  holder& of = at(lane);
  of.is_recent = true;
  unit_max_ = std::max(unit_max_, std::min(of_unit.input + of_unit.output, buffers_.bytes_largest()));
  const std::uint64_t segment = of_segment.input + of_segment.output, has = of.credit.bytes(), most = share();
  const std::uint64_t goal = std::min(has + waiting, most);
  if (segment == 0 || goal < has + segment) return;
  std::uint64_t missing = goal - has;
  for (holder* const other : holders_) {
    const std::uint64_t found = sum_of(spare());
    if (found >= missing) break;
    if (other == &of) continue;
    const std::uint64_t bytes = other->credit.bytes();
    const std::uint64_t excess = !other->is_recent ? bytes : bytes > most ? bytes - most : 0;
    other->is_recent = false;
    withdraw(*other, std::min(excess, missing - found));
  }
  for (const am_free& each : spare()) {
    const std::uint64_t part = std::min(missing, each.bytes) / segment * segment;
    if (part == 0) continue;
    set(of, each.buffer, of.credit.bytes_in(each.buffer) + part);
    missing -= part;
  }
}

bool am_credits::fits(rank_t lane, const am_need& of_segment) const {
  const std::unique_ptr<holder>* const of = by_lane_.find(lane);
  return of != nullptr && find_fit((*of)->credit.free(), of_segment, 1).segments == 1;
}

bool am_credits::try_take(rank_t lane, const am_need& of_unit, const am_room& where) {
  const std::unique_ptr<holder>* const found = by_lane_.find(lane);
  if (found == nullptr || !(*found)->credit.try_take(of_unit, where)) return false;
  (*found)->is_recent = true;
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
    const bool may = from == holders::all || !each->is_recent;
    each->is_recent = false;
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
  if (largest.bytes < unit_max_) return {};
  largest.bytes -= unit_max_;
  return all;
}

// Origins that use their credit have equal shares.
std::uint64_t am_credits::share() const noexcept {
  const std::uint64_t kept = buffers_.bytes_owed() + unit_max_, attached = buffers_.bytes_attached();
  const auto users = std::ranges::count_if(holders_, [](const holder* each) { return each->is_recent; });
  return attached > kept ? (attached - kept) / static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(users, 1)) : 0;
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

void am_credits::withdraw(holder& from, std::uint64_t bytes_max) {
  const std::vector<am_free> free = from.credit.free();
  for (const am_free& each : free) {
    const std::uint64_t part = std::min(bytes_max, each.bytes);
    if (part == 0) continue;
    set(from, each.buffer, from.credit.bytes_in(each.buffer) - part);
    bytes_max -= part;
  }
}

void am_credits::withdraw_in(std::uint32_t buffer, std::uint64_t bytes) {
  for (const bool is_recent : {false, true}) {
    for (holder* const each : holders_) {
      if (bytes == 0) return;
      const std::uint64_t part = each->is_recent == is_recent ? std::min(bytes, each->credit.free_in(buffer)) : 0;
      if (part == 0) continue;
      set(*each, buffer, each->credit.bytes_in(buffer) - part);
      bytes -= part;
    }
  }
}

}  // namespace amity::detail
