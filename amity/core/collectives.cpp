#include "amity/core/collectives.hpp"

#include <bit>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/core/handler_tables.hpp"
#include "amity/core/tree.hpp"

namespace amity::core {
struct collectives::wire {
  enum : std::uint16_t {
    up,        ///< a child's part
    down,      ///< the result
    question,  ///< from a waiting rank to a rank in an epoch
    ahead,     ///< `value` is a rank that has begun an epoch
  };

  std::uint32_t sequence;
  std::uint16_t operation;
  std::uint16_t form;
  std::uint64_t value;
  std::uint32_t number;
  std::uint32_t body;
  std::uint64_t handlers;  ///< 0: not compared

  collective_call call() const { return {number, body, static_cast<reduction>(operation)}; }
};

collectives::collectives(rank_t rank, rank_t size, send_function send, std::function<void(rank_t)> differs)
    : rank_(rank),
      size_(size),
      send_(std::move(send)),
      differs_(std::move(differs)),
      children_(tree_children(rank, size)),
      order_(rank) {
  static_assert(sizeof(wire) == 32 && sizeof(wire) != handler_tables::packet_bytes &&
                std::has_unique_object_representations_v<wire>);
  for (round& each : rounds_) {
    each.parts.resize(static_cast<std::size_t>(children_));
    each.handlers.resize(static_cast<std::size_t>(children_));
  }
}

void collectives::send(rank_t dest, std::uint16_t form, std::uint64_t value) const {
  const collective_call& own = order_.collective();
  const wire message{.sequence = started_,
                     .operation = static_cast<std::uint16_t>(own.operation),
                     .form = form,
                     .value = value,
                     .number = own.number,
                     .body = own.body,
                     .handlers = handlers_};
  send_(dest, std::as_bytes(std::span(&message, 1)));
}

void collectives::start(reduction operation, std::uint64_t value, std::uint64_t handlers) {
  AMITY_ASSERT(done(), started_, finished_);
  ++started_;
  combined_ = false;
  own_ = value;
  handlers_ = operation == reduction::none ? handlers : 0;
  order_.begin_collective(operation);
  compare_waiting();
  try_combine();
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
  for (const round& each : rounds_) {
    if (each.arrived > 0) order_.compare(each.source, each.call);
  }
  if (questioner_ != no_rank) order_.compare(questioner_, question_);
}

void collectives::on_packet(rank_t source, bytes_view payload) {
  wire message;
  AMITY_ASSERT(payload.size() == sizeof message, source, payload.size());
  std::memcpy(&message, payload.data(), sizeof message);
  if (message.form == wire::ahead) {
    // Unless this rank has caught up.
    if (message.number == epochs_) note_rank_ahead(static_cast<rank_t>(message.value));
    return;
  }
  order_.compare(source, message.call());
  if (message.form == wire::question) {
    // Another thread may have begun the epoch, and this one not yet.
    question_ = message.call();
    questioner_ = source;
    return;
  }
  if (message.form == wire::down) {
    AMITY_ASSERT(message.sequence == started_ && !done(), source, message.sequence, started_);
    order_.compare(source, message.call(), rank_, order_.collective());
    finish(message.value);
    return;
  }
  AMITY_ASSERT(message.sequence == started_ + (done() ? 1 : 0) || message.sequence == started_ + 1, source,
               message.sequence, started_);
  round& parts = round_of(message.sequence);
  const auto child = static_cast<std::size_t>(std::countr_zero(static_cast<std::uint32_t>(source - rank_)));
  parts.parts[child] = message.value;
  parts.handlers[child] = message.handlers;
  if (parts.arrived++ > 0) order_.compare(source, message.call(), parts.source, parts.call);
  parts.source = source;
  parts.call = message.call();
  if (message.sequence == started_ && !done()) try_combine();
}

void collectives::try_combine() {
  round& current = round_of(started_);
  if (combined_ || current.arrived < children_) return;
  if (children_ > 0) order_.compare(current.source, current.call, rank_, order_.collective());
  if (!handlers_agree(current)) return;
  combined_ = true;
  const reduction operation = order_.collective().operation;
  std::uint64_t value = own_;
  for (const std::uint64_t part : current.parts) value = combine(operation, value, part);
  current.arrived = 0;
  if (rank_ == 0) {
    finish(value);
  } else {
    send(tree_parent(rank_), wire::up, value);
  }
}

bool collectives::handlers_agree(const round& parts) {
  bool all = true;
  std::size_t child = 0;
  for_each_tree_child(rank_, size_, [&](rank_t rank) {
    if (parts.handlers[child++] == handlers_) return;
    differs_(rank);
    all = false;
  });
  return all;
}

void collectives::finish(std::uint64_t result) {
  for_each_tree_child(rank_, size_, [&](rank_t child) { send(child, wire::down, result); });
  result_ = result;
  finished_ = started_;
}

void collectives::ask_rank_ahead() {
  asked_ = started_;
  send(ahead_, wire::question, 0);
}

void collectives::forward_rank_ahead(const send_function& to_first_thread) {
  if (ahead_ == no_rank || forwarded_) return;
  forwarded_ = true;
  const wire message{.sequence = 0,
                     .operation = 0,
                     .form = wire::ahead,
                     .value = static_cast<std::uint64_t>(ahead_),
                     .number = epochs_,
                     .body = 0,
                     .handlers = 0};
  to_first_thread(rank_, std::as_bytes(std::span(&message, 1)));
}

}  // namespace amity::core
