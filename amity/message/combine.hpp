#pragma once

/// The policy that makes one message of several with the same key.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "amity/core/endpoint.hpp"
#include "amity/message/cache.hpp"
#include "amity/message/policy.hpp"
#include "amity/message/sender.hpp"

namespace amity {

/// Holds a message back until another one pushes it out of the cache, the rank has nothing else to do, or the epoch
/// ends; a message to the same rank with the same key becomes part of it meanwhile: `operation(held, sent)` takes the
/// place of both. Sums by key, smallest distances, sets that grow. (AM++: Willcock et al., PACT 2010, section 3.2.)
///
/// Laws: `operation` is associative and commutative for messages with one key, whose key the result has; handling
/// `operation(a, b)` has the effect of handling a and b, in either order.
/// Cost: a look-up a message; memory of the cache on each rank; a message that stays alone is sent later. Where hardly
/// any message finds another one (fewer than one of 32 among as many as there are slots), most of them are sent at once
/// without a look-up, until a later sample finds more.
template <class Key, class Operation, detail::cache_kind Cache = direct_mapped>
struct combine {
  Key key;              ///< key(const Value&): what equal messages share; compared by == and std::hash, or by its bytes
  Operation operation;  ///< operation(const Value&, const Value&) -> Value
  Cache cache{};
};
template <class Key, class Operation>
combine(Key, Operation) -> combine<Key, Operation, direct_mapped>;
template <class Key, class Operation, class Cache>
combine(Key, Operation, Cache) -> combine<Key, Operation, Cache>;

namespace detail {

template <class Key, class Operation, class Cache>
inline constexpr int policy_place<combine<Key, Operation, Cache>> = 2;

template <class Value, class Next, class Key, class Operation, class Cache>
class stage<Value, Next, combine<Key, Operation, Cache>> final : public stage_base<Next>, private core::flushable {
  static_assert(std::invocable<const Key&, const Value&>,
                "amity: combine{key, operation}: the key cannot be called with this message: let it take (const T&)");
  static_assert(std::is_invocable_r_v<Value, const Operation&, const Value&, const Value&>,
                "amity: combine{key, operation}: the operation cannot be called with two messages: let it take (const "
                "T&, const T&) and return a T");
  static_assert(std::default_initializable<Value> && std::copyable<Value>,
                "amity: combine keeps copies of messages: make this type default constructible and copyable");
  using key_type = std::remove_cvref_t<std::invoke_result_t<const Key&, const Value&>>;
  static_assert(cache_key<key_type>,
                "amity: combine compares keys: give the type of the key operator== and std::hash, or members without "
                "padding and floating point");

 public:
  template <class MakeNext>
  stage(core::endpoint& owner, const combine<Key, Operation, Cache>& policy, const MakeNext& make_next)
      : stage_base<Next>(make_next),
        endpoint_(owner),
        key_(policy.key),
        operation_(policy.operation),
        cache_("world::message", owner.rank(), policy.cache),
        left_(cache_.slots()) {
    held_.reserve(cache_.slots());
    endpoint_.add_flushable(*this);
  }
  ~stage() { endpoint_.remove_flushable(*this); }

  void send(rank_t dest, const Value& message) {
    if (left_ == 0) [[unlikely]]
      judge_sample();
    --left_;
    if (passing_) return this->next_.send(dest, message);
    check_send(endpoint_, send_call, dest);
    const key_type& key = std::invoke(key_, message);
    bool known;
    auto& place = cache_.look_up(
        dest, hash_of(key), [&](const Value& held) { return are_same<key_type>(std::invoke(key_, held), key); }, known);
    if (known) {
      place.message = std::invoke(operation_, std::as_const(place.message), message);
      ++combined_;
      return;
    }
    ++misses_;
    if (!cache_.holds(place)) {
      held_.push_back(cache_.index_of(place));
      cache_.put(place, dest, message);
      return;
    }
    // Sending may run handlers that send again: the cache is in order before it does.
    auto pushed_out = std::move(place);
    cache_.put(place, dest, message);
    send_on(pushed_out);
  }

  void flush(rank_t dest) {
    send_held([dest](const entry& e) { return e.dest == dest; });
    this->next_.flush(dest);
  }
  void flush() {
    send_held([](const entry&) { return true; });
    this->next_.flush();
  }

  void count(message_counters& counters) const {
    counters.combined += combined_;
    counters.cache_misses += misses_;
    this->next_.count(counters);
  }

 private:
  using entry = typename message_cache<Value, Cache>::entry;

  /// Samples and what follows them alternate. The first sample meets an empty cache and proves nothing.
  void judge_sample() {
    const std::uint64_t found = combined_ - combined_before_;
    combined_before_ = combined_;
    passing_ = !passing_ && sampled_ && found < cache_.slots() / 32;
    sampled_ = true;
    left_ = passing_ ? passing_per_sample * cache_.slots() : cache_.slots();
  }

  bool flush_all() override {
    return send_held([](const entry&) { return true; });
  }

  template <class Chosen>
  bool send_held(Chosen&& chosen) {
    // Sending may run handlers, which may hold back more messages or send these off: they are taken out one by one.
    bool any = false;
    for (std::size_t left = held_.size(); left-- > 0;) {
      if (left >= held_.size()) continue;
      entry& place = cache_.at(held_[left]);
      if (!chosen(place)) continue;
      held_[left] = held_.back();
      held_.pop_back();
      entry taken = std::move(place);
      cache_.free(place);
      send_on(taken);
      any = true;
    }
    return any;
  }

  /// The message was accepted earlier. If it cannot be sent, the job cannot go on, whatever a handler does.
  void send_on(entry& taken) {
    try {
      this->next_.send(taken.dest, std::move(taken.message));
    } catch (...) {
      endpoint_.fail(std::current_exception());
      throw;
    }
  }

  core::endpoint& endpoint_;
  [[no_unique_address]] Key key_;
  [[no_unique_address]] Operation operation_;
  message_cache<Value, Cache> cache_;
  std::vector<std::size_t> held_;  // places in the cache
  std::uint64_t combined_ = 0;
  std::uint64_t misses_ = 0;
  // Whether the cache is worth a look: judged by samples of as many messages as it has slots.
  static constexpr std::size_t passing_per_sample = 64;
  std::uint64_t combined_before_ = 0;  // this sample
  std::size_t left_;                   // messages until the next judgement
  bool sampled_ = false;
  bool passing_ = false;  // messages are sent without a look-up
};

}  // namespace detail
}  // namespace amity
