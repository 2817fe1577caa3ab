#include "amity/epoch/wave.hpp"

#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/core/tree.hpp"

namespace amity::epoch {

struct wave::wire {
  enum : std::uint16_t { active = 1, late = 2, down = 4 };

  std::uint64_t sent;
  std::uint64_t handled;
  std::uint64_t value;     ///< down: the word that goes with the verdict
  std::uint64_t handlers;  ///< fingerprint of the registry
  std::uint32_t number;
  std::uint16_t what;   ///< flags of a part, or `down` plus the outcome
  std::uint16_t depth;  ///< declared, plus one; 0: any
  std::uint32_t calls;  ///< see core::end_call
  rank_t waiting;
};

wave::wave(core::endpoint& owner)
    : endpoint_(owner),
      is_root_(owner.lane() == 0),
      children_(core::tree_children(owner.lane(), owner.lanes())),
      missing_(children_) {
  static_assert(sizeof(wire) <= core::control_bytes_max && std::has_unique_object_representations_v<wire>);
}

void wave::contribute(const wave_part& own) {
  AMITY_ASSERT(!contributed_ && !verdict_.present, number_);
  contributed_ = true;
  totals_.sent += own.sent;
  totals_.handled += own.handled;
  totals_.value += own.value;
  totals_.active |= own.active;
  totals_.late |= own.late;
  totals_.waits.merge(endpoint_.awaited_end());
  pass_up_if_whole();
}

void wave::on_packet(rank_t source, bytes_view payload) {
  wire message;
  if (payload.size() != sizeof message)
    throw endpoint_.invalid_packet(source, fmt::format("{} bytes of a wave", payload.size()));
  std::memcpy(&message, payload.data(), sizeof message);
  check_depth(source, message);
  if (message.number != number_)
    throw endpoint_.invalid_packet(source, fmt::format("wave {} during wave {}", message.number, number_));
  if (message.what > wire::down + static_cast<std::uint16_t>(outcome::ended))
    throw endpoint_.invalid_packet(source, fmt::format("a wave with the outcome {}", message.what));
  if (message.what >= wire::down) {
    pass_down(static_cast<outcome>(message.what - wire::down), message.value);
    return;
  }
  if (message.handlers != endpoint_.handlers().fingerprint()) {
    endpoint_.tell_handlers(source);
    return;
  }
  const core::end_call waits{message.calls, message.waiting};
  endpoint_.compare(waits);
  if (missing_ == 0) throw endpoint_.invalid_packet(source, "a part of a wave that is complete");
  --missing_;
  totals_.sent += message.sent;
  totals_.handled += message.handled;
  totals_.value += message.value;
  totals_.active |= (message.what & wire::active) != 0;
  totals_.late |= (message.what & wire::late) != 0;
  totals_.waits.merge(waits);
  pass_up_if_whole();
}

void wave::pass_up_if_whole() {
  if (is_root_ || !contributed_ || missing_ > 0) return;
  const wire up{
      .sent = totals_.sent,
      .handled = totals_.handled,
      .value = totals_.value,
      .handlers = endpoint_.handlers().fingerprint(),
      .number = number_,
      .what = static_cast<std::uint16_t>((totals_.active ? wire::active : 0) | (totals_.late ? wire::late : 0)),
      .depth = depth_,
      .calls = totals_.waits.calls,
      .waiting = totals_.waits.rank};
  endpoint_.send_control(core::tree_parent(endpoint_.lane()), core::packet_kind::detector,
                         std::as_bytes(std::span(&up, 1)));
}

void wave::decide(outcome what, std::uint64_t word) {
  AMITY_ASSERT(complete(), number_);
  pass_down(what, word);
}

void wave::set_depth(int depth) noexcept {
  depth_ = depth == core::any_depth ? std::uint16_t{0} : static_cast<std::uint16_t>(depth + 1);
}

void wave::pass_down(outcome what, std::uint64_t word) {
  const wire down{.sent = 0,
                  .handled = 0,
                  .value = word,
                  .handlers = 0,
                  .number = number_,
                  .what = static_cast<std::uint16_t>(wire::down + static_cast<std::uint16_t>(what)),
                  .depth = depth_,
                  .calls = 0,
                  .waiting = no_rank};
  // The largest subtree first: it takes longest.
  rank_t children[core::tree_children_max];
  int count = 0;
  core::for_each_tree_child(endpoint_.lane(), endpoint_.lanes(), [&](rank_t child) { children[count++] = child; });
  while (count > 0) {
    endpoint_.send_control(children[--count], core::packet_kind::detector, std::as_bytes(std::span(&down, 1)));
  }
  verdict_ = {.present = true, .what = what, .word = word};
}

wave::verdict wave::take_verdict() {
  AMITY_ASSERT(verdict_.present, number_);
  ++number_;
  contributed_ = false;
  missing_ = children_;
  totals_ = {};
  return std::exchange(verdict_, {});
}

void wave::check_depth(rank_t source, const wire& theirs) const {
  if (theirs.depth == depth_) return;
  const auto describe = [](std::uint16_t depth) { return depth == 0 ? "any" : std::to_string(depth - 1); };
  throw error("end of an epoch", endpoint_.rank(),
              fmt::format("rank {} has declared a depth of {} for this epoch, this rank {}", endpoint_.rank_of(source),
                          describe(theirs.depth), describe(depth_)),
              "request depths, and let the requests end, on all ranks in front of the same epochs");
}

}  // namespace amity::epoch
