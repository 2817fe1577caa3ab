#pragma once

/// Occasional messages: a function and its arguments, run where they arrive, without a message type of their own.
///
/// The function is a lambda without captures or another empty callable: what it needs travels as arguments. The target
/// finds it by its module and offset among the functions that instantiations of `async` have registered, so all ranks
/// run the same build.

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "amity/base/bytes.hpp"
#include "amity/base/code_address.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/message/codec.hpp"
#include "amity/message/sender.hpp"
#include "amity/message/stream_codec.hpp"
#include "amity/message/type_name.hpp"
#include "amity/message/value_stream.hpp"

namespace amity {

/// Names an object that every rank has shared under the same number. As an argument of `world::async` it arrives as a
/// reference to the target's own object. Made by `world::share`.
template <class Value>
struct shared {
  std::uint32_t index = 0;
};

namespace detail {

/// The objects that this rank has shared, by number.
class shared_objects {
 public:
  std::uint32_t add(const void* object, std::string_view type);
  /// Throws `error` if this rank has shared no object of that type under that number.
  const void* find(std::uint32_t index, std::string_view type, rank_t rank) const;

 private:
  struct entry {
    const void* object;
    std::string_view type;  ///< of static storage
  };
  std::vector<entry> entries_;
};

/// Texts that live elsewhere: they travel as a std::string.
template <class Arg>
concept text_elsewhere =
    std::same_as<Arg, char*> || std::same_as<Arg, const char*> || std::same_as<Arg, std::string_view>;

/// The type in which an argument travels: string literals as std::string, all others as they are.
template <class Arg>
using argument = std::conditional_t<text_elsewhere<std::decay_t<Arg>>, std::string, std::decay_t<Arg>>;

template <class Arg>
decltype(auto) as_argument(const Arg& arg) {
  if constexpr (text_elsewhere<std::decay_t<Arg>>) {
    return std::string(arg);
  } else {
    return (arg);  // a reference: nothing is copied
  }
}

template <class Value>
inline constexpr bool is_shared = false;
template <class Value>
inline constexpr bool is_shared<shared<Value>> = true;

/// Calls of one world. `World` is what a function may ask for as its first argument.
template <class World>
class remote_calls : private immovable {
 public:
  remote_calls(World& world, core::endpoint& owner, std::size_t coalesce_bytes)
      : world_(world), endpoint_(owner), id_(add_to(owner)), coalesce_bytes_(coalesce_bytes) {
    owner.receive_streams(id_, &remote_calls::open_stream);
  }
  ~remote_calls() { endpoint_.remove_handler(id_); }

  /// Calls are sent and handled by thread 0; the other threads only count them in.
  core::handler_id add_to(core::endpoint& owner) { return owner.add_handler("async", &remote_calls::deliver, this); }

  template <class Fn, class... Given>
  void send(rank_t dest, const Given&... given) {
    static_assert(
        std::is_empty_v<Fn> && std::is_default_constructible_v<Fn>,
        "amity: async takes a lambda without captures: pass what it needs as arguments, and objects that live on "
        "the target through world::share");
    static_assert((!refers<argument<Given>> && ...),
                  "amity: an argument of async is a pointer, view or reference, which means nothing on another rank: "
                  "pass what it refers to, or an index, or a shared<T>");
    static_assert(
        ((encodable<argument<Given>> || !has_referring_member<argument<Given>>)&&...),
        "amity: a member of an argument of async is a pointer, view or reference, which means nothing on "
        "another rank: pass what it refers to, an index, or a std::uintptr_t if only its own rank uses it, or "
        "specialize amity::codec");
    static_assert(((encodable<argument<Given>> || refers<argument<Given>> || has_referring_member<argument<Given>> ||
                    !has_encoded_part<argument<Given>>::value) &&
                   ...),
                  "amity: a member of an argument of async has a codec, which a copy of the whole would not use: "
                  "specialize amity::codec for the whole");
    static_assert(((encodable<argument<Given>> || refers<argument<Given>> || has_referring_member<argument<Given>> ||
                    has_encoded_part<argument<Given>>::value) &&
                   ...),
                  "amity: an argument of async is not trivially copyable and has no codec: specialise amity::codec for "
                  "it, or pass parts of it");
    static_assert(callable<Fn, argument<Given>...>,
                  "amity: the function cannot be called with these arguments: give it parameters that match them; a "
                  "shared<T> arrives as T&, and amity::world& may come first");
    // One mistake gives one sentence: what cannot be sent is not looked at any further.
    if constexpr ((encodable<argument<Given>> && ...) && callable<Fn, argument<Given>...>) {
      send_as<Fn, argument<Given>...>(dest, as_argument(given)...);
    }
  }

  template <class Value>
  shared<Value> share(Value& object) {
    return {objects_.add(&object, type_name<Value>())};
  }

 private:
  /// What `run` gets: the bytes of a whole call, or where to put what reads a call that comes in pieces.
  struct call_input {
    byte_reader* whole = nullptr;
    std::unique_ptr<core::incoming_stream>* pieces = nullptr;
  };
  using invoker = void (*)(remote_calls&, const call_input&);

  template <class Arg>
  decltype(auto) resolve(Arg& arg) {
    if constexpr (is_shared<Arg>) {
      return find(arg);
    } else {
      return std::move(arg);
    }
  }
  template <class Value>
  Value& find(shared<Value> name) {
    // It was shared as a Value, be that const or not.
    return *static_cast<Value*>(const_cast<void*>(objects_.find(name.index, type_name<Value>(), endpoint_.rank())));
  }

  template <class Fn, class... Args>
  static constexpr bool wants_world =
      std::invocable<Fn, World&, decltype(std::declval<remote_calls&>().resolve(std::declval<Args&>()))...>;
  template <class Fn, class... Args>
  static constexpr bool callable =
      wants_world<Fn, Args...> ||
      std::invocable<Fn, decltype(std::declval<remote_calls&>().resolve(std::declval<Args&>()))...>;

  template <class Fn, class... Args>
  void send_as(rank_t dest, const Args&... args) {
    const code_address code = addresses_.encode(registered<Fn, Args...>);
    sender().send(
        dest, [&] { return (sizeof code + ... + encoded_bytes(args)); },
        [&](byte_writer& to) {
          to.write_object(code);
          (encode(to, args), ...);
        },
        [&](rank_t lane, std::size_t) {
          encoder_stream pieces(stream_encoders<code_address, Args...>(code, args...), whose());
          endpoint_.send_stream(lane, id_, pieces, (sizeof code + ... + streamed_bytes(args)),
                                core::endpoint::stream_target::pieces);
        });
  }

  // Hidden: a program and a library that contain the same instantiation have, and register, a function each.
  template <class Fn, class... Args>
  [[gnu::visibility("hidden")]] static void run(remote_calls& self, const call_input& from) {
    if (from.pieces != nullptr) {
      *from.pieces = std::make_unique<arriving_arguments<Fn, Args...>>(self);
      return;
    }
    std::tuple<Args...> args{decode<Args>(*from.whole)...};  // braces: left to right
    std::apply([&](Args&... each) { self.call<Fn>(each...); }, args);
  }

  /// Registers `run` when the program or library is loaded, whether or not this process ever calls `send`.
  template <class Fn, class... Args>
  [[gnu::visibility("hidden")]] static inline registered_function registered{
      reinterpret_cast<code_map::function>(&run<Fn, Args...>)};

  template <class Fn, class... Args>
  void call(Args&... args) {
    if constexpr (wants_world<Fn, Args...>) {
      Fn{}(world_, resolve(args)...);
    } else {
      Fn{}(resolve(args)...);
    }
  }

  /// The arguments of a call that arrives in pieces.
  template <class Fn, class... Args>
  class arriving_arguments final : public core::incoming_stream {
   public:
    explicit arriving_arguments(remote_calls& owner) : owner_(owner) {}
    void consume(bytes_view next, std::uint64_t left) override { pieces_.consume(next, left, owner_.whose()); }
    void handle() override {
      std::tuple<Args...> args =
          pieces_.decoder().take([](Args&&... each) { return std::tuple<Args...>{std::move(each)...}; });
      std::apply([&](Args&... each) { owner_.template call<Fn>(each...); }, args);
    }

   private:
    remote_calls& owner_;
    piece_decoder<stream_decoders<Args...>> pieces_;
  };

  /// A call that arrives in pieces: it begins with the function.
  class arriving_call final : public core::incoming_stream {
   public:
    explicit arriving_call(remote_calls& owner) : owner_(owner) {}
    void consume(bytes_view next, std::uint64_t left) override {
      if (!arguments_) {
        piece_reader from(next, left, owner_.whose());
        if (!code_.read(from)) return;
        const auto run = reinterpret_cast<invoker>(owner_.addresses_.decode(code_.take()));
        run(owner_, {.pieces = &arguments_});
        next = next.last(from.here());
      }
      arguments_->consume(next, left);
    }
    void handle() override { arguments_->handle(); }

   private:
    remote_calls& owner_;
    stream_decoder<code_address> code_;
    std::unique_ptr<core::incoming_stream> arguments_;
  };

  static std::unique_ptr<core::incoming_stream> open_stream(void* context) {
    return std::make_unique<arriving_call>(*static_cast<remote_calls*>(context));
  }

  bytes_of whose() const noexcept { return {.type = "async", .rank = endpoint_.rank()}; }

  static std::uint64_t deliver(void* context, const core::inbound& packet) {
    auto& self = *static_cast<remote_calls*>(context);
    return read_records(packet.payload, self.whose(), [&](byte_reader& from) {
      const auto code = from.read_object<code_address>();
      reinterpret_cast<invoker>(self.addresses_.decode(code))(self, {.whole = &from});
    });
  }

  using call_sender = encoding_sender<packet_buffers<places_by_rank>>;

  /// Made for the first call: most ranks of most jobs send none.
  call_sender& sender() {
    if (!sender_)
      sender_.emplace(endpoint_, id_, endpoint_.main_threads(), "world::async", coalesce{}, coalesce_bytes_);
    return *sender_;
  }

  World& world_;
  core::endpoint& endpoint_;
  core::handler_id id_;
  std::size_t coalesce_bytes_;
  std::optional<call_sender> sender_;
  code_map addresses_;
  shared_objects objects_;
};

}  // namespace detail
}  // namespace amity
