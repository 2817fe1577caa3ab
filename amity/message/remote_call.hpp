#pragma once

/// Occasional messages: a function and its arguments, run where they arrive, without a message type of their own.
///
/// The function is a lambda without captures or another empty callable: what it needs travels as arguments. It is
/// recognised on the other side by its place in the program, so all ranks run the same build.

#include <concepts>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "amity/base/bytes.hpp"
#include "amity/base/code_address.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/message/codec.hpp"
#include "amity/message/sender.hpp"
#include "amity/message/type_name.hpp"

namespace amity {

/// Names an object that every rank has shared under the same number. As an argument of `world::async` it arrives as a
/// reference to the target's own object. Made by `world::share`.
template <class T>
struct shared {
  std::uint32_t index = 0;
};

namespace detail {

/// The objects that this rank has shared, by number.
class shared_objects {
 public:
  std::uint32_t add(void* object, std::string_view type);
  /// Throws `error` if this rank has shared no object of that type under that number.
  void* find(std::uint32_t index, std::string_view type, rank_t rank) const;

 private:
  struct entry {
    void* object;
    std::string_view type;  ///< of static storage
  };
  std::vector<entry> entries_;
};

/// The type in which an argument travels: string literals as std::string, all others as they are.
template <class Arg>
using argument =
    std::conditional_t<std::is_convertible_v<std::decay_t<Arg>, const char*>, std::string, std::decay_t<Arg>>;

template <class T>
inline constexpr bool is_shared = false;
template <class T>
inline constexpr bool is_shared<shared<T>> = true;

/// Calls of one world. `World` is what a function may ask for as its first argument.
template <class World>
class remote_calls {
 public:
  remote_calls(World& world, core::endpoint& owner, std::size_t coalesce_bytes)
      : world_(world),
        endpoint_(owner),
        id_(owner.add_handler("async", &remote_calls::deliver, this)),
        sender_(owner, id_, coalesce{}, coalesce_bytes) {}
  ~remote_calls() { endpoint_.remove_handler(id_); }
  remote_calls(const remote_calls&) = delete;
  remote_calls& operator=(const remote_calls&) = delete;

  template <class Fn, class... Args>
  void send(rank_t dest, const Args&... args) {
    static_assert(std::is_empty_v<Fn> && std::is_default_constructible_v<Fn>,
                  "amity: a function for async may not capture: pass what it needs as arguments, and objects that live "
                  "on the target through world::share");
    static_assert((encodable<Args> && ...),
                  "amity: an argument of async is not trivially copyable and has no codec: specialise amity::codec for "
                  "it, or pass parts of it");
    static_assert(callable<Fn, Args...>,
                  "amity: the function cannot be called with these arguments: give it parameters that match them; a "
                  "shared<T> arrives as T&, and amity::world& may come first");
    const code_address code = addresses_.encode(reinterpret_cast<code_map::function>(&run<Fn, Args...>));
    const std::size_t bytes = (sizeof code + ... + encoded_bytes(args));
    sender_.send(dest, bytes, [&](byte_writer& to) {
      to.write_object(code);
      (encode(to, args), ...);
    });
  }

  template <class T>
  shared<T> share(T& object) {
    return {objects_.add(&object, type_name<T>())};
  }

 private:
  using invoker = void (*)(remote_calls&, byte_reader&);

  template <class Arg>
  decltype(auto) resolve(Arg& arg) {
    if constexpr (is_shared<Arg>) {
      return find(arg);
    } else {
      return std::move(arg);
    }
  }
  template <class T>
  T& find(shared<T> name) {
    return *static_cast<T*>(objects_.find(name.index, type_name<T>(), endpoint_.rank()));
  }

  template <class Fn, class... Args>
  static constexpr bool wants_world =
      std::invocable<Fn, World&, decltype(std::declval<remote_calls&>().resolve(std::declval<Args&>()))...>;
  template <class Fn, class... Args>
  static constexpr bool callable =
      wants_world<Fn, Args...> ||
      std::invocable<Fn, decltype(std::declval<remote_calls&>().resolve(std::declval<Args&>()))...>;

  template <class Fn, class... Args>
  static void run(remote_calls& self, byte_reader& from) {
    std::tuple<Args...> args{decode<Args>(from)...};  // braces: left to right
    std::apply(
        [&](Args&... each) {
          if constexpr (wants_world<Fn, Args...>) {
            Fn{}(self.world_, self.resolve(each)...);
          } else {
            Fn{}(self.resolve(each)...);
          }
        },
        args);
  }

  static std::uint64_t deliver(void* context, const core::inbound& packet) {
    auto& self = *static_cast<remote_calls*>(context);
    return encoding_sender::read_all(packet.payload, [&](byte_reader& from) {
      const auto code = from.read_object<code_address>();
      reinterpret_cast<invoker>(self.addresses_.decode(code))(self, from);
    });
  }

  World& world_;
  core::endpoint& endpoint_;
  core::handler_id id_;
  encoding_sender sender_;
  code_map addresses_;
  shared_objects objects_;
};

}  // namespace detail
}  // namespace amity
