#pragma once

/// A rank's view of its job: where the parts are wired together, and what programs use.

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "amity/base/function_ref.hpp"
#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/team.hpp"
#include "amity/epoch/depth_request.hpp"
#include "amity/epoch/epoch.hpp"
#include "amity/epoch/open_epoch.hpp"
#include "amity/epoch/thread_epochs.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/message/message.hpp"
#include "amity/message/remote_call.hpp"
#include "amity/window/options.hpp"
#include "amity/world/thread.hpp"

namespace amity {

using core::any_depth;

template <class Value>
class window;
class dynamic_window;

/// Types that the reductions of a world take.
template <class Value>
concept reducible =
    std::same_as<Value, std::uint64_t> || std::same_as<Value, std::int64_t> || std::same_as<Value, double>;

namespace detail {

template <class Part>
concept takes_thread = std::invocable<Part&, thread&>;
/// The body of an epoch, or its summand.
template <class Part>
concept epoch_part = std::invocable<Part&> || takes_thread<Part>;

template <epoch_part Part>
decltype(auto) call(Part& part, thread& own) {
  if constexpr (takes_thread<Part>) {
    return part(own);
  } else {
    return part();
  }
}

struct no_value {
  std::uint64_t operator()() const noexcept { return 0; }
};

}  // namespace detail

/// As a color: this rank becomes no member of a new world.
inline constexpr std::int64_t no_world = -1;

/// Which of several new worlds a rank becomes a member of, and where.
struct membership {
  std::int64_t color = 0;  ///< ranks that give the same one, 0 or more, become one world; less than 0: none
  std::int64_t key = 0;    ///< ranks are numbered by it; where keys are equal, as in the old world
};

/// One rank of a job, or of a part of it. Made by `amity::run`; used by the thread that runs the rank's program, which
/// is thread 0.
///
/// Calls marked collective are made by all ranks in the same order, outside handlers.
class world : private immovable {
 public:
  /// Wires a rank of one thread: endpoint, detector and remote calls over `transport`, which must outlive the world.
  /// Programs use `amity::run` instead.
  world(fabric::fabric& transport, const settings& config);
  /// As above, for a rank whose threads have entered `threads`, which must outlive the world.
  world(core::team& threads, const settings& config);
  ~world();

  /// Makes worlds of parts of this one: ranks that give the same color become one. Null where the color says none.
  /// Collective, outside epochs. A new world has message types, epochs, collectives, counters and ranks of its own, and
  /// may be split again; at most 255 live at once on a rank. While this rank waits in one of its worlds, handlers of
  /// all run. Destroying it is collective over its ranks, outside its epochs and handlers, and waits for nothing; it
  /// must happen before the program ends and after its message types are destroyed (else the job is aborted), but not
  /// before or after another world is destroyed. The new world has the threads of this one. Throws `error` where no
  /// number is free.
  std::unique_ptr<world> split(const membership& own);
  /// A new world of the same ranks, with the same numbers. Collective, outside epochs.
  std::unique_ptr<world> duplicate() { return split({.color = 0, .key = rank()}); }

  rank_t rank() const noexcept { return endpoint_.rank(); }
  rank_t size() const noexcept { return endpoint_.size(); }
  /// Threads of this rank that run the bodies of epochs: AMITY_THREADS.
  rank_t threads() const noexcept { return endpoint_.program_threads(); }
  const settings& config() const noexcept { return config_; }

  /// Nanoseconds since an unspecified moment: wall clock, or the rank's virtual clock under the simulator.
  std::uint64_t now_ns() noexcept { return endpoint_.transport().now_ns(); }

  /// Makes a type of message. Collective, outside epochs; so is its destruction.
  ///
  /// `Value` is trivially copyable, or has a codec. `handler` is called on the destination for each message, as
  /// handler(const Value&), handler(const Value&, auto& self), handler(std::span<const Value>) or
  /// handler(std::span<const Value>, auto& self); `self.send(dest, value)` sends again, as does any other message type
  /// that the handler can see. Handlers may send anything to any rank, to any depth; they must not wait. Policies
  /// follow in the order in which a message meets them; without one each message is a packet of its own. (AM++:
  /// Willcock et al., PACT 2010, sections 3.1 and 3.2.)
  template <class Value, class Handler, class... Policies>
  message_type<Value, Handler, Policies...> message(Handler handler, Policies... policies) {
    check_outside_epoch("world::message");
    return {team_, coalesce_bytes_, std::move(handler), policies...};
  }

  /// Makes a window: `count` elements of memory on this rank, all zero bytes, that the other ranks read and write
  /// (`amity/window/window.hpp`). Counts may differ. Collective, outside epochs; so is its end. Throws `error` for
  /// memory that is not there.
  template <class Value>
  window<Value> allocate_window(std::size_t count, const window_options& options = {}) {
    check_outside_epoch("world::allocate_window");
    return {team_, std::nullopt, count, completed(options)};
  }
  /// As `allocate_window`, for ranks of one node: the program may use the memory of all ranks by loads and stores, too,
  /// which `window::mapped` returns. Element 0 of a rank follows the last element of the rank before it, unless the
  /// placement is `separate`. Throws `error` on all ranks if some ranks are on other nodes, or cannot map memory.
  template <class Value>
  window<Value> allocate_shared_window(std::size_t count, const window_options& options = {},
                                       shared_placement where = shared_placement::contiguous) {
    check_outside_epoch("world::allocate_shared_window");
    return {team_, count, where, completed(options)};
  }
  /// Makes a window of memory of the program, which stays until the window ends. Ranks of the same node may be unable
  /// to map it.
  template <class Value>
  window<Value> create_window(std::span<Value> own, const window_options& options = {}) {
    check_outside_epoch("world::create_window");
    return {team_, own, 0, completed(options)};
  }

  /// Makes a window without memory, to which each rank attaches memory of the program
  /// (`amity/window/dynamic_window.hpp`). Collective, outside epochs; so is its end. Throws `error`.
  dynamic_window create_dynamic_window(const window_options& options = {});

  /// Runs `body()` as this rank's part of an epoch, and returns when all messages sent in the epoch, those sent by
  /// handlers too, have been handled on all ranks. Collective. Epochs do not nest. When `body` throws, the job cannot
  /// go on: let the exception leave the program. (AM++, section 3.3.)
  ///
  /// With several threads, `body(thread&)` runs on each of them, and `body()` on thread 0 alone; the epoch ends on all
  /// of them in any case, and all handle messages that are theirs meanwhile.
  template <detail::epoch_part Body>
  void epoch(Body&& body) {
    epoch(std::forward<Body>(body), detail::no_value{});
  }

  /// As above; also sums a number over the ranks at no extra message. `value()` gives this rank's summand; it is called
  /// once this rank has nothing left to handle, maybe several times, the last time at the end of the epoch; it must not
  /// send. Sums are modulo 2^64, so negative numbers work through a cast. With several threads, `value(thread&)` is
  /// each thread's summand; one of the whole rank, `value()`, is asked for once, when all messages have been handled,
  /// and costs one more wave.
  template <detail::epoch_part Body, detail::epoch_part Value>
  std::uint64_t epoch(Body&& body, Value&& value) {
    static_assert(
        std::integral<decltype(detail::call(value, std::declval<thread&>()))>,
        "amity: epoch(body, value): values are summed as whole numbers: let it return one, and sum others with "
        "world::sum");
    if (team_.size() > 1) {
      // Asked for when thread 0 has nothing left, a summand of the rank would miss what the others still handle.
      constexpr bool of_rank = !detail::takes_thread<Value> && !std::same_as<Value, detail::no_value>;
      return epoch_of_threads(part_of<void>(body), part_of<std::uint64_t>(value),
                              of_rank ? epoch::summand::late : epoch::summand::passive);
    }
    thread own(endpoint_);
    epochs_.begin();
    detail::call(body, own);
    return epochs_.end([&] { return detail::call(value, own); });
  }

  /// Begins an epoch whose end need not be waited for: `auto e = w.begin_epoch(); ...; while (!e.try_end()) other();`.
  /// Collective, without waiting for other ranks. `e` lives until its `try_end` or `end` has found the end. With
  /// several threads it begins and ends on all of them, and all handle messages that are theirs meanwhile.
  [[nodiscard]] epoch::open_epoch begin_epoch();
  /// As above; also runs `body(thread&)` on each thread, or `body()` on thread 0, and returns when all have done it.
  template <detail::epoch_part Body>
  [[nodiscard]] epoch::open_epoch begin_epoch(Body&& body) {
    return epoch::open_epoch(team_, epochs_, others_, part_of<void>(body));
  }

  /// Declares how deep handlers send, for the epochs of this object's life: 0 if they do not, 1 if they send messages
  /// whose handlers do not, and so on; `any_depth` for no bound, as without requests. The largest depth of all ranks
  /// and of all requests counts. A message that is deeper is an error. Collective, outside epochs; so is its
  /// destruction. (AM++, section 3.3.)
  [[nodiscard]] epoch::depth_request request_depth(int depth) { return {epochs_, others_, depth}; }

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
  template <class Value>
  shared<Value> share(Value& object) {
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
  template <class Value>
  Value sum(Value value) {
    return reduce<Value>(value, core::reduction::sum_u64, core::reduction::sum_i64, core::reduction::sum_f64);
  }
  template <class Value>
  Value min(Value value) {
    return reduce<Value>(value, core::reduction::min_u64, core::reduction::min_i64, core::reduction::min_f64);
  }
  template <class Value>
  Value max(Value value) {
    return reduce<Value>(value, core::reduction::max_u64, core::reduction::max_i64, core::reduction::max_f64);
  }

  /// What this rank has sent and handled since the job began. With several threads: outside epochs.
  core::traffic counters() const noexcept;

  /// The floor below: requests and replies without types.
  core::endpoint& endpoint() noexcept { return endpoint_; }
  /// The same of each thread of this rank, the progress thread among them, and how to run something there.
  core::team& team() noexcept { return team_; }
  const epoch::epochs& epochs() const noexcept { return epochs_; }

 private:
  world(std::unique_ptr<core::team> own, const settings& config);

  template <class Value>
  Value reduce(Value value, core::reduction unsigned_form, core::reduction signed_form, core::reduction floating_form) {
    static_assert(reducible<Value>,
                  "amity: reductions take std::uint64_t, std::int64_t or double: convert the value to one of them");
    if constexpr (reducible<Value>) {
      const core::reduction form = std::same_as<Value, double>          ? floating_form
                                   : std::same_as<Value, std::uint64_t> ? unsigned_form
                                                                        : signed_form;
      return std::bit_cast<Value>(endpoint_.reduce(form, std::bit_cast<std::uint64_t>(value)));
    } else {
      return value;
    }
  }
  void check_outside_epoch(std::string_view call) const;
  /// With what the settings say.
  window_options completed(const window_options& options) const;
  void check_end() const;

  /// What each thread of the rank does of a body, or gives as its summand.
  template <class Result, class Part>
  auto part_of(Part& part) {
    return [this, &part](rank_t index) -> Result {
      if (detail::takes_thread<Part> ? index >= threads() : index > 0) return Result();
      thread own(team_.lane(index));
      return static_cast<Result>(detail::call(part, own));
    };
  }
  /// `when` thread 0 is asked.
  std::uint64_t epoch_of_threads(function_ref<void(rank_t)> body, function_ref<std::uint64_t(rank_t)> value,
                                 epoch::summand when);
  epoch::epochs& epochs_of(rank_t index) {
    return index == 0 ? epochs_ : others_[static_cast<std::size_t>(index) - 1]->periods();
  }

  settings config_;
  std::unique_ptr<core::team> own_team_;  ///< null where the team is given
  core::team& team_;
  core::endpoint& endpoint_;  ///< of thread 0
  epoch::epochs epochs_;
  std::vector<std::unique_ptr<epoch::thread_epochs>> others_;
  std::size_t coalesce_bytes_;
  detail::remote_calls<world> calls_;
};

}  // namespace amity
