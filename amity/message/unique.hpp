#pragma once

/// The policy that does not send again what it has sent already.

#include <concepts>
#include <cstdint>

#include "amity/core/endpoint.hpp"
#include "amity/message/cache.hpp"
#include "amity/message/policy.hpp"
#include "amity/message/sender.hpp"

namespace amity {

/// Drops a message that equals one which this rank has sent to the same rank in the same epoch, as far as the cache
/// remembers: a visit of a vertex, a label that was announced. (AM++: Willcock et al., PACT 2010, section 3.2.)
///
/// Law: the handler is idempotent, so that handling an equal message again within an epoch changes nothing, whatever
/// was handled between the two. Then the state after the epoch is the same with the policy and without it.
/// Messages are compared by `==` and std::hash, or by their bytes where equal values have equal bytes.
/// Cost: a look-up a message; memory of the cache on each rank.
template <detail::cache_kind Cache = direct_mapped>
struct unique {
  Cache cache{};
};
unique()->unique<direct_mapped>;
template <class Cache>
unique(Cache) -> unique<Cache>;

namespace detail {

template <class Cache>
inline constexpr int policy_place<unique<Cache>> = 1;

template <class Value, class Next, class Cache>
class stage<Value, Next, unique<Cache>> final : public stage_base<Next> {
  static_assert(cache_key<Value>,
                "amity: unique compares messages: give this type operator== and std::hash, or members without padding "
                "and floating point");
  static_assert(std::default_initializable<Value> && std::copyable<Value>,
                "amity: unique keeps copies of messages: make this type default constructible and copyable");

 public:
  template <class MakeNext>
  stage(core::endpoint& owner, const unique<Cache>& policy, const MakeNext& make_next)
      : stage_base<Next>(make_next), endpoint_(owner), cache_("world::message", owner.rank(), policy.cache) {}

  void send(rank_t dest, const Value& message) {
    check_send(endpoint_, send_call, dest);
    if (const std::uint64_t now = endpoint_.epochs_opened(); epoch_ != now) {
      epoch_ = now;
      cache_.clear();
    }
    bool known;
    auto& place = cache_.look_up(
        dest, hash_of(message), [&](const Value& earlier) { return are_same(earlier, message); }, known);
    if (known) {
      ++dropped_;
      return;
    }
    ++misses_;
    cache_.put(place, dest, message);
    this->next_.send(dest, message);
  }

  void count(message_counters& counters) const {
    counters.dropped += dropped_;
    counters.cache_misses += misses_;
    this->next_.count(counters);
  }

 private:
  core::endpoint& endpoint_;
  message_cache<Value, Cache> cache_;
  std::uint64_t epoch_ = 0;  // in which the cached messages were sent
  std::uint64_t dropped_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace detail
}  // namespace amity
