#include "amity/core/long_arrivals.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/core/endpoint.hpp"

namespace amity::core {

long_arrivals::~long_arrivals() {
  if (notifications_ignored_ > 0) {
    log_warning(owner_.rank(),
                fmt::format("{} notifications for slots that awaited none were ignored: forged, or replayed",
                            notifications_ignored_));
  }
  for (const auto& [name, its] : opened_) memory_.close(its.handle);
}

own_segment long_arrivals::add(const fabric::segment& made, bool readable) {
  const std::uint32_t number = segments_.add({.readable = readable});
  return segments_.find(number)->own = {.data = made.data,
                                        .bytes = made.bytes,
                                        .name = {.key = made.key,
                                                 .number = number,
                                                 .thread = static_cast<std::uint16_t>(owner_.thread()),
                                                 .world = owner_.number(),
                                                 .bytes = made.bytes,
                                                 .lane = owner_.lane()}};
}

const own_segment* long_arrivals::holder_of(bytes_view bytes) const noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const offered* const found = segments_.find_if([&](const offered& each) {
    const std::uintptr_t offset = begin - reinterpret_cast<std::uintptr_t>(each.own.data);
    return each.readable && offset <= each.own.bytes && bytes.size() <= each.own.bytes - offset;
  });
  return found == nullptr ? nullptr : &found->own;
}

void long_arrivals::on_envelope(packet_header header, rank_t lane, bytes_view packet) {
  envelope about;
  const std::size_t args_bytes = header.args() * sizeof(std::uint64_t);
  if (header.args() > args_max || packet.size() < sizeof about + args_bytes) {
    throw owner_.invalid_packet(lane,
                                fmt::format("an envelope of {} bytes with {} arguments", packet.size(), header.args()));
  }
  std::memcpy(&about, packet.data(), sizeof about);
  const bytes_view args = packet.subspan(sizeof about, args_bytes);
  const bytes_view rest = packet.subspan(sizeof about + args_bytes);
  const bytes_view landed = place_of(about, lane);
  if (about.slot == no_slot) {
    if (!rest.empty() && rest.size() != about.bytes) {
      throw owner_.invalid_packet(lane, fmt::format("{} bytes of a payload of {}", rest.size(), about.bytes));
    }
    if (!rest.empty()) std::memcpy(const_cast<std::byte*>(landed.data()), rest.data(), rest.size());
    return run(header, lane, args, landed);
  }
  lent_slot& at = slot_of(lane, about.slot, lent_slot::head);
  if (!rest.empty() && rest.size() != sizeof at.from) {
    throw owner_.invalid_packet(lane, fmt::format("an offer of {} bytes", rest.size()));
  }
  at.header = header;
  at.about = about;
  at.args.assign({reinterpret_cast<const std::uint64_t*>(args.data()), header.args()});
  if (!rest.empty()) {
    std::memcpy(&at.from, rest.data(), sizeof at.from);
    at.offered = true;
    to_get_.push_back(&at);
  }
  arrive(at, lent_slot::head);
}

lent_slot& long_arrivals::slot_of(rank_t lane, std::uint32_t number, lent_slot::part part) {
  lent_slot* const found = slots_.find(number);
  if (found != nullptr && found->lane == lane && (found->parts & part) == 0) return *found;
  throw owner_.invalid_packet(lane, fmt::format("a part of a Long message for slot {}, which {}", number,
                                                found == nullptr      ? "does not exist"
                                                : found->lane != lane ? "another rank has"
                                                                      : "has that part already"));
}

void long_arrivals::on_notify(std::uint32_t slot) noexcept {
  lent_slot* const at = slots_.find(slot);
  if (at == nullptr || (at->parts & lent_slot::payload) != 0) {
    ++notifications_ignored_;
    return;
  }
  arrive(*at, lent_slot::payload);
}

void long_arrivals::on_notify_from(rank_t lane, std::uint32_t slot) {
  arrive(slot_of(lane, slot, lent_slot::payload), lent_slot::payload);
}

void long_arrivals::arrive(lent_slot& at, lent_slot::part part) noexcept {
  AMITY_ASSERT((at.parts & part) == 0, at.number, static_cast<int>(at.parts), static_cast<int>(part));
  at.parts = static_cast<std::uint8_t>(at.parts | part);
  if (at.parts != lent_slot::both || owner_.own_engine().failure().exists())
    return;  // after a failure nothing is handled
  ++(part == lent_slot::payload ? payload_last_ : head_last_);
  try {
    // Another message may take the slot before the handler has returned.
    const lent_slot whole = at;
    slots_.give_back(at, at.offered, [&](rank_t lane, const slot_news& news) {
      owner_.send_control(lane, packet_kind::slots, std::as_bytes(std::span(&news, 1)));
    });
    run(whole.header, whole.lane, std::as_bytes(whole.args.words()), place_of(whole.about, whole.lane));
  } catch (...) {
    owner_.fail(std::current_exception());
  }
}

void long_arrivals::run(packet_header header, rank_t lane, bytes_view args, bytes_view landed) {
  owner_.handle_whole(
      header, {.source = lane, .args = header.args(), .payload = args, .reply = header.reply(), .landed = &landed});
}

bytes_view long_arrivals::place_of(const envelope& about, rank_t lane) const {
  if (const offered* const at = segments_.find(about.segment)) {
    if (about.offset <= at->own.bytes && about.bytes <= at->own.bytes - about.offset)
      return {at->own.data + about.offset, about.bytes};
  }
  throw error("message arrival", owner_.rank(),
              fmt::format("rank {} sent {} bytes to offset {} of segment {} of this rank, which is not there any more",
                          owner_.rank_of(lane), about.bytes, about.offset, about.segment),
              "release a segment after the last message to it has been handled");
}

void long_arrivals::lend(rank_t lane, std::uint64_t borrower) {
  const slot_news news = slots_.lend(lane, borrower, *this);
  owner_.send_control(lane, packet_kind::slots, std::as_bytes(std::span(&news, 1)));
}

bool long_arrivals::advance() {
  bool any = false;
  for (std::size_t i = 0; i < to_get_.size();) {
    if (!start_get(*to_get_[i])) {
      ++i;
      continue;
    }
    any = true;
    to_get_[i] = to_get_.back();
    to_get_.pop_back();
  }
  return any;
}

// A segment in the place of one that has been there before takes that one's handle's place, too.
const fabric::remote_segment& long_arrivals::opened_for(const lent_slot& at) {
  const segment_name& name = at.from.segment;
  const std::uint64_t key = static_cast<std::uint64_t>(at.lane) << 32 | numbered<offered>::index(name.number);
  auto found = opened_.find(key);
  if (found != opened_.end() && found->second.name == name) return found->second.handle;
  const fabric::remote_segment handle = memory_.open(at.lane, name.key);
  if (found != opened_.end()) memory_.close(found->second.handle);
  return opened_.insert_or_assign(key, opened{name, handle}).first->second.handle;
}

bool long_arrivals::start_get(lent_slot& at) {
  const fabric::remote_segment& from = opened_for(at);
  const bytes_view to = place_of(at.about, at.lane);
  const auto reached = memory_.get(from, at.from.offset, {const_cast<std::byte*>(to.data()), to.size()}, at.context());
  if (reached == fabric::stage::complete) arrive(at, lent_slot::payload);
  return reached != fabric::stage::refused;
}

}  // namespace amity::core
