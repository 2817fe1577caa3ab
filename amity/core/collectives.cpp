#include "amity/core/collectives.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/core/handler_tables.hpp"
#include "amity/core/invalid_packet.hpp"
#include "amity/core/tree.hpp"

namespace amity::core {
struct collectives::wire {
  enum : std::uint32_t {
    part,      ///< a part of the tree follows
    question,  ///< from a waiting rank to a rank in an epoch
    ahead,     ///< from a thread of this rank: see `forward_rank_ahead`
  };

  std::uint64_t handlers;  ///< 0: not compared
  std::uint32_t number;    ///< ahead: of epochs that the thread has begun
  std::uint32_t body;
  std::uint32_t operation;  ///< ahead: the rank that has begun an epoch
  std::uint32_t form;

  collective_call call() const { return {number, body, static_cast<reduction>(operation)}; }
};

collectives::collectives(rank_t rank, rank_t size, send_function send, std::function<void(rank_t)> differs)
    : rank_(rank),
      size_(size),
      send_(std::move(send)),
      differs_(std::move(differs)),
      tree_(rank, size, group_collectives::part_bytes_min,
            [this](rank_t dest, bytes_view part) { this->send(dest, wire::part, part); }),
      order_(rank) {
  static_assert(std::has_unique_object_representations_v<wire> &&
                sizeof(wire) + group_collectives::word_part_bytes < handler_tables::packet_bytes);
  early_.reserve(static_cast<std::size_t>(tree_children(rank, size)));
}

void collectives::send(rank_t dest, std::uint32_t form, bytes_view part) const {
  const collective_call& own = order_.collective();
  const wire message{.handlers = handlers_,
                     .number = own.number,
                     .body = own.body,
                     .operation = static_cast<std::uint32_t>(own.operation),
                     .form = form};
  std::byte packet[sizeof message + group_collectives::word_part_bytes];
  AMITY_ASSERT(part.size() <= group_collectives::word_part_bytes, part.size());
  std::memcpy(packet, &message, sizeof message);
  std::ranges::copy(part, packet + sizeof message);
  send_(dest, bytes_view(packet, sizeof message + part.size()));
}

void collectives::start(reduction operation, std::uint64_t value, std::uint64_t handlers) {
  handlers_ = operation == reduction::none ? handlers : 0;
  order_.begin_collective(operation);
  tree_.start(operation, value);
  for (const arrival& each : early_) take(each);
  early_.clear();
}

void collectives::begin_epoch() {
  follow_epoch();
  order_.begin_epoch();
  compare_waiting();
}

void collectives::await_epoch_end() {
  order_.await_end();
  compare_waiting();
}

// With what ranks have sent that are ahead of this one.
void collectives::compare_waiting() const {
  for (const arrival& each : early_) order_.compare(each.source, each.call);
  if (questioner_ != no_rank) order_.compare(questioner_, question_);
}

void collectives::on_packet(rank_t source, bytes_view payload) {
  wire message{};
  if (payload.size() >= sizeof message) std::memcpy(&message, payload.data(), sizeof message);
  const std::size_t part_bytes = message.form == wire::part ? group_collectives::word_part_bytes : 0;
  if (message.form > wire::ahead || payload.size() != sizeof message + part_bytes)
    throw invalid_packet(rank_, source, fmt::format("{} bytes of a collective", payload.size()));
  if (message.form == wire::ahead) {
    const auto ahead = static_cast<rank_t>(message.operation);
    if (source != rank_ || ahead < 0 || ahead >= size_)
      throw invalid_packet(rank_, source, fmt::format("rank {} in another epoch", ahead));
    // Unless this rank has caught up.
    if (message.number == epochs_) note_rank_ahead(ahead);
    return;
  }
  order_.compare(source, message.call());
  if (message.form == wire::question) {
    // Another thread may have begun the epoch, and this one not yet.
    question_ = message.call();
    questioner_ = source;
    return;
  }
  arrival arrived{.source = source, .call = message.call(), .handlers = message.handlers, .part = {}};
  std::memcpy(arrived.part.data(), payload.data() + sizeof message, sizeof arrived.part);
  if (done()) {
    keep(arrived);
  } else {
    take(arrived);
  }
}

void collectives::keep(const arrival& early) {
  const bool again = std::ranges::find(early_, early.source, &arrival::source) != early_.end();
  if (again || !is_tree_child(early.source, rank_, size_))
    throw invalid_packet(rank_, early.source,
                         fmt::format("a part of {} that is not due", name_of(early.call.operation)));
  if (!early_.empty()) order_.compare(early.source, early.call, early_.back().source, early_.back().call);
  early_.push_back(early);
}

void collectives::take(const arrival& due) {
  order_.compare(due.source, due.call, rank_, order_.collective());
  if (due.handlers != handlers_) return differs_(due.source);
  tree_.on_packet(due.source, due.part);
}

void collectives::ask_rank_ahead() {
  asked_ = order_.collective().number;
  send(ahead_, wire::question, {});
}

void collectives::forward_rank_ahead(const send_function& to_first_thread) {
  if (ahead_ == no_rank || forwarded_) return;
  forwarded_ = true;
  const wire message{.handlers = 0,
                     .number = epochs_,
                     .body = 0,
                     .operation = static_cast<std::uint32_t>(ahead_),
                     .form = wire::ahead};
  to_first_thread(rank_, std::as_bytes(std::span(&message, 1)));
}

}  // namespace amity::core
