#pragma once

/// A rank's view of its job: where the parts are wired together, and what programs use.

#include <bit>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/epoch/epoch.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/message/message.hpp"
#include "amity/message/remote_call.hpp"

namespace amity {

/// Types that the reductions of a world take.
template <class T>
concept reducible = std::same_as<T, std::uint64_t> || std::same_as<T, std::int64_t> || std::same_as<T, double>;

/// One rank of a job. Made by `amity::run`; used by the thread that runs the rank's program.
///
/// Calls marked collective are made by all ranks in the same order, outside handlers.
class world {
 public:
  /// Wires a rank: endpoint, detector and remote calls over `transport`, which must outlive the world. Programs use
  /// `amity::run` instead.
  world(fabric::fabric& transport, const settings& config);
  ~world();
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  rank_t rank() const noexcept { return endpoint_.rank(); }
  rank_t size() const noexcept { return endpoint_.size(); }
  const settings& config() const noexcept { return config_; }

  /// Nanoseconds since an unspecified moment: wall clock, or the rank's virtual clock under the simulator.
  std::uint64_t now_ns() noexcept { return endpoint_.transport().now_ns(); }

  /// Makes a type of message. Collective, outside epochs; so is its destruction.
  ///
  /// `T` is trivially copyable, or has a codec. `handler` is called on the destination for each message, as
  /// handler(const T&), handler(const T&, auto& self), handler(std::span<const T>) or handler(std::span<const T>, auto&
  /// self); `self.send(dest, value)` sends again, as does any other message type that the handler can see. Handlers may
  /// send anything to any rank, to any depth; they must not wait. Policies follow in the order in which a message meets
  /// them; without one each message is a packet of its own. (AM++: Willcock et al., PACT 2010, sections 3.1 and 3.2.)
  template <class T, class Handler, class... Policies>
  message_type<T, Handler, Policies...> message(Handler handler, Policies... policies) {
    check_outside_epoch("world::message");
    return {endpoint_, coalesce_bytes_, std::move(handler), policies...};
  }

  /// Runs `body()` as this rank's part of an epoch, and returns when all messages sent in the epoch, those sent by
  /// handlers too, have been handled on all ranks. Collective. Epochs do not nest. When `body` throws, the job cannot
  /// go on: let the exception leave the program. (AM++, section 3.3.)
  template <std::invocable Body>
  void epoch(Body&& body) {
    epoch(std::forward<Body>(body), [] { return std::uint64_t{0}; });
  }

  /// As above; also sums a number over the ranks at no extra message. `value()` gives this rank's summand; it is called
  /// once this rank has nothing left to handle, maybe several times, the last time at the end of the epoch; it must not
  /// send. Sums are modulo 2^64, so negative numbers work through a cast.
  template <std::invocable Body, std::invocable Value>
  std::uint64_t epoch(Body&& body, Value&& value) {
    epochs_.begin();
    body();
    return epochs_.end(std::forward<Value>(value));
  }

  /// Runs `fn(args...)`, or `fn(world&, args...)` if it asks for that, on rank `dest` before the epoch ends. For
  /// occasional messages: no collective call is needed, and each call costs a few bytes more than a typed message.
  /// `fn` is a lambda without captures. Arguments are trivially copyable, or have a codec (strings, vectors, ...); a
  /// `shared<X>` arrives as X&. Throws `error` for a wrong rank, and outside an epoch.
  template <class Fn, class... Args>
  void async(rank_t dest, Fn, const Args&... args) {
    calls_.template send<Fn>(dest, args...);
  }

  /// Gives an object a name that `async` can use on all ranks. Collective. The object must live as long as calls that
  /// use it.
  template <class T>
  shared<T> share(T& object) {
    check_outside_epoch("world::share");
    return calls_.share(object);
  }

  /// Runs handlers of messages that have arrived and sends off what is collected; returns whether anything happened.
  /// Never needed: sends and the ends of epochs do the same. Illegal in handlers. Throws `job_aborted` when another
  /// rank has ended the job.
  bool poll();

  /// Returns when all ranks have called it. Collective.
  void barrier() { endpoint_.barrier(); }

  /// Reductions over all ranks; each rank gets the result. Collective. Sums of doubles are the same on every run with
  /// the same number of ranks.
  template <class T>
  T sum(T value) {
    return reduce<T>(value, core::reduction::sum_u64, core::reduction::sum_i64, core::reduction::sum_f64);
  }
  template <class T>
  T min(T value) {
    return reduce<T>(value, core::reduction::min_u64, core::reduction::min_i64, core::reduction::min_f64);
  }
  template <class T>
  T max(T value) {
    return reduce<T>(value, core::reduction::max_u64, core::reduction::max_i64, core::reduction::max_f64);
  }

  /// What this rank has sent and handled since the job began.
  core::traffic counters() const noexcept { return endpoint_.counts().total(); }

  /// The floor below: requests and replies without types.
  core::endpoint& endpoint() noexcept { return endpoint_; }
  const epoch::epochs& epochs() const noexcept { return epochs_; }

 private:
  template <class T>
  T reduce(T value, core::reduction unsigned_form, core::reduction signed_form, core::reduction floating_form) {
    static_assert(reducible<T>,
                  "amity: reductions take std::uint64_t, std::int64_t or double: convert the value to one of them");
    if constexpr (reducible<T>) {
      const core::reduction form = std::same_as<T, double>          ? floating_form
                                   : std::same_as<T, std::uint64_t> ? unsigned_form
                                                                    : signed_form;
      return std::bit_cast<T>(endpoint_.reduce(form, std::bit_cast<std::uint64_t>(value)));
    } else {
      return value;
    }
  }
  void check_outside_epoch(std::string_view call) const;

  settings config_;
  core::endpoint endpoint_;
  epoch::epochs epochs_;
  std::size_t coalesce_bytes_;
  detail::remote_calls<world> calls_;
};

}  // namespace amity
