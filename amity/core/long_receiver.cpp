#include "amity/core/long_receiver.hpp"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/invalid_packet.hpp"
#include "amity/core/memory.hpp"
#include "amity/core/remote_operations.hpp"
#include "amity/core/segment_table.hpp"

namespace amity::core {

long_receiver::long_receiver(engine& on, memory& own, segment_table& segments, remote_operations& operations,
                             std::uint32_t slots)
    : engine_(on), memory_(own), segments_(segments), operations_(operations), slots_(slots) {}

long_receiver::~long_receiver() {
  if (notifications_ignored_ > 0) {
    log_warning(engine_.rank(),
                fmt::format("{} notifications for slots that awaited none were ignored: forged, or replayed",
                            notifications_ignored_));
  }
}

void long_receiver::on_envelope(endpoint& world, packet_header header, const fabric::packet& arrived) {
  const rank_t lane = arrived.source;
  const bytes_view packet = arrived.payload;
  envelope about;
  const std::size_t args_bytes = header.args() * sizeof(std::uint64_t);
  if (header.args() > args_max || packet.size() < sizeof about + args_bytes) {
    throw engine_.invalid_packet(
        lane, fmt::format("an envelope of {} bytes with {} arguments", packet.size(), header.args()));
  }
  std::memcpy(&about, packet.data(), sizeof about);
  const bytes_view args = packet.subspan(sizeof about, args_bytes);
  const bytes_view rest = packet.subspan(sizeof about + args_bytes);
  const bytes_view landed = place_of(about, lane);
  if (about.slot == no_slot) {
    if (!rest.empty() && rest.size() != about.bytes) {
      throw engine_.invalid_packet(lane, fmt::format("{} bytes of a payload of {}", rest.size(), about.bytes));
    }
    if (!rest.empty()) std::memcpy(const_cast<std::byte*>(landed.data()), rest.data(), rest.size());
    return run(world, header, lane, args, landed);
  }
  lent_slot& at = slot_of(lane, about.slot, lent_slot::head);
  if (!rest.empty() && rest.size() != sizeof at.from) {
    throw engine_.invalid_packet(lane, fmt::format("an offer of {} bytes", rest.size()));
  }
  at.world = world.number();
  at.header = header;
  at.about = about;
  at.args.assign({reinterpret_cast<const std::uint64_t*>(args.data()), header.args()});
  if (!rest.empty()) {
    std::memcpy(&at.from, rest.data(), sizeof at.from);
    at.offered = true;
    remote_operation& get = to_get_.emplace_back();
    get.plan = only_get;
    get.complete = &at;
  }
  arrive(at, lent_slot::head);
}

lent_slot& long_receiver::slot_of(rank_t lane, std::uint32_t number, lent_slot::part part) {
  lent_slot* const found = slots_.find(number);
  if (found != nullptr && found->lane == lane && (found->parts & part) == 0) return *found;
  throw engine_.invalid_packet(lane, fmt::format("a part of a Long message for slot {}, which {}", number,
                                                 found == nullptr      ? "does not exist"
                                                 : found->lane != lane ? "another rank has"
                                                                       : "has that part already"));
}

void long_receiver::on_notify(std::uint32_t slot) noexcept {
  lent_slot* const at = slots_.find(slot);
  // This rank gets the payload of an offer itself.
  if (at == nullptr || (at->parts & lent_slot::payload) != 0 || at->offered) {
    ++notifications_ignored_;
    return;
  }
  arrive(*at, lent_slot::payload);
}

void long_receiver::on_notify_from(rank_t lane, std::uint32_t slot) {
  lent_slot& at = slot_of(lane, slot, lent_slot::payload);
  if (at.offered) throw engine_.invalid_packet(lane, fmt::format("the payload of an offer, for slot {}", slot));
  arrive(at, lent_slot::payload);
}

void long_receiver::arrive(lent_slot& at, lent_slot::part part) noexcept {
  AMITY_ASSERT((at.parts & part) == 0, at.number, static_cast<int>(at.parts), static_cast<int>(part));
  at.parts = static_cast<std::uint8_t>(at.parts | part);
  if (at.parts != lent_slot::both || engine_.failure().exists()) return;  // after a failure nothing is handled
  ++(part == lent_slot::payload ? payload_last_ : envelope_last_);
  try {
    // Another message may take the slot before the handler has returned.
    const lent_slot whole = at;
    slots_.give_back(at, at.offered, [&](rank_t lane, const slot_news& news) {
      engine_.send(lane, service::long_slots, std::as_bytes(std::span(&news, 1)));
    });
    endpoint* const world = engine_.find(whole.world);
    if (world == nullptr) throw no_such_world(engine_.rank(), whole.lane / engine_.threads(), whole.world);
    run(*world, whole.header, whole.lane, std::as_bytes(whole.args.words()), place_of(whole.about, whole.lane));
  } catch (...) {
    engine_.failure().set(std::current_exception());
  }
}

void long_receiver::run(endpoint& world, packet_header header, rank_t lane, bytes_view args, bytes_view landed) {
  world.handle_whole(header, {.source = world.lane_in_world(lane),
                              .args = header.args(),
                              .payload = args,
                              .reply = header.reply(),
                              .landed = &landed});
}

bytes_view long_receiver::place_of(const envelope& about, rank_t lane) const {
  return {segments_.place_of(lane, about.segment, about.offset, about.bytes), about.bytes};
}

void long_receiver::lend(rank_t lane) {
  const slot_news news = slots_.lend(lane, *this);
  engine_.send(lane, service::long_slots, std::as_bytes(std::span(&news, 1)));
}

bool long_receiver::advance() {
  bool any = false;
  for (std::size_t i = 0; i < to_get_.size();) {
    const std::size_t moved = to_get_[i].moved;
    const bool has_begun = begin_get(to_get_[i]);
    any |= has_begun || to_get_[i].moved != moved;
    if (!has_begun) {
      ++i;
      continue;
    }
    to_get_[i] = to_get_.back();
    to_get_.pop_back();
  }
  return any;
}

bool long_receiver::begin_get(remote_operation& get) {
  const lent_slot& at = static_cast<lent_slot&>(*get.complete);
  if (get.to.segment.lane == no_rank) {
    if (at.from.segment.lane != at.lane)
      throw engine_.invalid_packet(at.lane, fmt::format("an offer of a segment of lane {}", at.from.segment.lane));
    get.to = {.segment = opened_for(at), .offset = at.from.offset};
    const std::size_t room = get.to.segment.bytes();
    if (at.from.offset > room || at.about.bytes > room - at.from.offset) {
      throw engine_.invalid_packet(at.lane, fmt::format("an offer of {} bytes at offset {} of a segment of {} bytes",
                                                        at.about.bytes, at.from.offset, room));
    }
    get.into = segments_.place_of(at.lane, at.about.segment, at.about.offset, at.about.bytes);
    get.bytes = at.about.bytes;
  }
  return operations_.try_begin(get);
}

// A segment with the index of an earlier segment replaces it here.
const remote_segment& long_receiver::opened_for(const lent_slot& at) {
  const segment_descriptor& descriptor = at.from.segment;
  const std::uint64_t key =
      static_cast<std::uint64_t>(at.lane) << 32 | numbered<segment_table::entry>::index(descriptor.number);
  const auto found = opened_.find(key);
  if (found != opened_.end()) {
    if (found->second.descriptor == descriptor) return found->second.segment;
    memory_.close(found->second.segment);
    opened_.erase(found);
  }
  return opened_.try_emplace(key, opened{descriptor, memory_.open(descriptor)}).first->second.segment;
}

}  // namespace amity::core
