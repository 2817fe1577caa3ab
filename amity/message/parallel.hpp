#pragma once

/// The policy that lets all threads of a rank handle messages.

#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>

#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/message/policy.hpp"
#include "amity/message/sender.hpp"

namespace amity {

/// In place of a key: any thread will do.
struct any_thread {};

/// Without this policy one thread of each rank handles all messages of a type, thread 0 or the progress thread. With
/// `parallel{}` any thread does, and its handler runs on many at once: it must be safe for that. With `parallel{key}` a
/// message is handled by thread key(message) modulo `world::threads()`: messages with one key never meet, and a handler
/// that touches what belongs to the key alone needs neither locks nor atomics.
///
/// Laws: the handler may run on any thread of the rank, or on the thread of its key; otherwise as without the policy.
/// Cost: nothing with one thread. `parallel{}`: an open packet a rank that a thread sends to. `parallel{key}`: one a
/// thread of a rank that it sends to.
template <class Key = any_thread>
struct parallel {
  Key key{};  ///< key(const Value&) -> an unsigned integer
};
parallel()->parallel<any_thread>;
template <class Key>
parallel(Key) -> parallel<Key>;

namespace detail {

template <class Key>
inline constexpr int policy_place<parallel<Key>> = 8;

template <class Policy>
inline constexpr bool is_parallel = false;
template <class Key>
inline constexpr bool is_parallel<parallel<Key>> = true;

template <class Key>
core::destinations destinations_of(const parallel<Key>&, const core::endpoint& owner) {
  return std::same_as<Key, any_thread> ? owner.same_threads() : core::destinations{.count = owner.lanes()};
}

/// Names a thread by a key, without a division where there is no need for one.
class thread_choice {
 public:
  explicit thread_choice(const core::endpoint& owner)
      : stride_(owner.threads()),
        threads_(static_cast<std::uint64_t>(owner.program_threads())),
        mask_(std::has_single_bit(threads_) ? threads_ - 1 : 0),
        masked_(std::has_single_bit(threads_)) {}

  rank_t index(rank_t dest, std::uint64_t key) const noexcept {
    return dest * stride_ + static_cast<rank_t>(masked_ ? key & mask_ : key % threads_);
  }
  rank_t first(rank_t dest) const noexcept { return dest * stride_; }
  rank_t threads() const noexcept { return static_cast<rank_t>(threads_); }

 private:
  rank_t stride_;
  std::uint64_t threads_;
  std::uint64_t mask_;
  bool masked_;
};

template <class Value, class Next>
class stage<Value, Next, parallel<any_thread>> final : public stage_base<Next> {
 public:
  template <class MakeNext>
  stage(core::endpoint&, const parallel<any_thread>&, const MakeNext& make_next) : stage_base<Next>(make_next) {}

  void send(rank_t dest, const Value& message) { this->next_.send(dest, message); }
  void send(rank_t dest, Value&& message) requires(!plain<Value>) { this->next_.send(dest, std::move(message)); }
};

template <class Value, class Next, class Key>
class stage<Value, Next, parallel<Key>> final : public stage_base<Next> {
  using message_type = typename message_in<Value>::type;  // what the key is asked about
  static_assert(std::invocable<const Key&, const message_type&>,
                "amity: parallel{key}: the key cannot be called with this message: let it take (const T&)");
  static_assert(!std::invocable<const Key&, const message_type&> ||
                    std::is_invocable_r_v<std::uint64_t, const Key&, const message_type&>,
                "amity: parallel{key}: the key of a message must be an integer: return one, or a hash");

 public:
  template <class MakeNext>
  stage(core::endpoint& owner, const parallel<Key>& policy, const MakeNext& make_next)
      : stage_base<Next>(make_next), endpoint_(owner), key_(policy.key), choice_(owner) {}

  void send(rank_t dest, const Value& message) {
    if constexpr (std::invocable<const Key&, const message_type&>) this->next_.send(index_of(dest, message), message);
  }
  void send(rank_t dest, Value&& message) requires(!plain<Value>) {
    if constexpr (std::invocable<const Key&, const message_type&>) {
      const rank_t index = index_of(dest, message);
      this->next_.send(index, std::move(message));
    }
  }

  void flush(rank_t dest) {
    for (rank_t thread = 0; thread < choice_.threads(); ++thread) this->next_.flush(choice_.first(dest) + thread);
  }
  void flush() { this->next_.flush(); }

 private:
  rank_t index_of(rank_t dest, const Value& message) const {
    if (static_cast<std::uint32_t>(dest) >= static_cast<std::uint32_t>(endpoint_.size())) [[unlikely]]
      endpoint_.throw_wrong_rank(send_call, dest);
    return choice_.index(dest, static_cast<std::uint64_t>(message_in<Value>::ask(message, key_)));
  }

  core::endpoint& endpoint_;
  [[no_unique_address]] Key key_;
  thread_choice choice_;
};

}  // namespace detail
}  // namespace amity
