#pragma once

/// The policy by which messages of a rank to itself do not travel.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/message/policy.hpp"
#include "amity/message/sender.hpp"

namespace amity {

/// Hands a message to this rank itself to its handler from where it was copied to, without packet and codec. Such
/// messages are collected, and handled when as many as `count` have come together, at the latest in the next round of
/// progress: a poll, a packet that is full, a wait. What handlers send beyond that bound takes the usual road.
///
/// Laws: as without the policy, every message is handled exactly once, before the epoch ends, and never inside another
/// handler. Outside handlers any `send` of the type to this rank may run its handler; without the policy only one that
/// makes room does. Messages are counted as sent when they are handled; they are in no packet.
/// On a rank with several threads only messages that the sending thread would handle itself are taken; with
/// `parallel{key}` none are.
/// Cost: twice `count` messages of memory; a comparison for each message to another rank.
struct deliver_locally {
  std::size_t count = 0;  ///< most messages that wait; 0: as many as take 16 KiB
};

namespace detail {

template <>
inline constexpr int policy_place<deliver_locally> = 3;

/// The handler of a message type, for messages that are not in a packet.
template <class Value>
struct handler_here {
  core::handler_id id = 0;
  rank_t dest = no_rank;  ///< whose messages it takes
  void* context = nullptr;
  void (*handle)(void* context, std::span<const Value> messages) = nullptr;
};

template <class Value, class Next>
class stage<Value, Next, deliver_locally> final : public stage_base<Next>, private core::flushable {
  static_assert(std::copy_constructible<Value>,
                "amity: deliver_locally keeps copies of messages: make this type copyable");

 public:
  template <class MakeNext>
  stage(core::endpoint& owner, const deliver_locally& policy, const MakeNext& make_next)
      : stage_base<Next>(make_next),
        endpoint_(owner),
        count_(policy.count > 0 ? policy.count : std::max(std::size_t{1}, bytes_standard / sizeof(Value))) {
    if (count_ > count_max) {
      throw error("world::message", owner.rank(), "deliver_locally of " + std::to_string(count_) + " messages",
                  "use a count of 1 to 2^30");
    }
    waiting_.reserve(count_);
    handled_.reserve(count_);
    endpoint_.add_flushable(*this, true);
  }
  ~stage() { endpoint_.remove_flushable(*this); }

  /// Before the first message.
  void connect(const handler_here<Value>& here) {
    here_ = here;
    if (here_.dest == no_rank) count_ = 0;
  }

  void send(rank_t dest, const Value& message) {
    if (dest != here_.dest) return this->next_.send(dest, message);
    endpoint_.check_thread(send_call);
    if (!endpoint_.in_epoch()) [[unlikely]]
      endpoint_.throw_outside_epoch(send_call);
    if (waiting_.size() >= count_) [[unlikely]]
      return send_beyond_the_bound(dest, message);
    waiting_.emplace_back(message);
  }
  void send(rank_t dest, Value&& message) requires(!plain<Value>) {
    if (dest != here_.dest) return this->next_.send(dest, std::move(message));
    send(dest, std::as_const(message));
  }

  void flush(rank_t dest) {
    if (dest == here_.dest && !endpoint_.in_handler()) on_progress();
    this->next_.flush(dest);
  }
  void flush() {
    if (!endpoint_.in_handler()) on_progress();
    this->next_.flush();
  }

 private:
  static constexpr std::size_t bytes_standard = 16 * 1024;
  static constexpr std::size_t count_max = std::size_t{1} << 30;

  // In a structure, because a vector of bool has no elements.
  struct element {
    explicit element(const Value& sent) : message(sent) {}
    Value message;
  };

  [[gnu::noinline]] void send_beyond_the_bound(rank_t dest, const Value& message) {
    if (endpoint_.in_handler() || count_ == 0) return this->next_.send(dest, message);
    take_waiting();
    waiting_.emplace_back(message);  // before handlers run, which may change what the reference refers to
    handle_taken();
  }

  bool on_progress() override {
    if (waiting_.empty() || endpoint_.own_engine().failure().exists()) return false;
    take_waiting();
    handle_taken();
    return true;
  }
  /// Nothing waits when a rank has nothing else to do: progress has seen to that.
  bool flush_all() override { return false; }
  bool holds_uncounted() const noexcept override { return !waiting_.empty(); }

  void take_waiting() {
    handled_.clear();
    handled_.swap(waiting_);
  }
  /// What the handlers send here waits for the next round.
  void handle_taken() {
    static_assert(sizeof(element) == sizeof(Value));
    const std::span messages(&handled_.front().message, handled_.size());
    endpoint_.handle_here(here_.id, messages.size(), [&] { here_.handle(here_.context, messages); });
  }

  core::endpoint& endpoint_;
  std::size_t count_;
  handler_here<Value> here_;
  std::vector<element> waiting_;
  std::vector<element> handled_;  // those that are being handled, or have been
};

}  // namespace detail
}  // namespace amity
