#pragma once

/// What the handles of `amity/amity.h` stand for, and how the exceptions of C++ become the statuses of C.
///
/// Each function of C is one call of the floors below, in `guarded`: no exception leaves it. Handlers are C++ as far as
/// the floors below know, so what a handler leaves behind takes the way that an exception of a handler takes.

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "amity/amity.h"
#include "amity/base/error.hpp"
#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/remote_endpoint.hpp"
#include "amity/epoch/open_epoch.hpp"
#include "amity/world/world.hpp"

/// One for each world, so that one that is kept after its handler has returned is found out.
struct amity_request {
  amity_world* world;
  amity::core::request* running = nullptr;  ///< null: no handler runs
};

struct amity_world {
  /// Collective, without waiting.
  explicit amity_world(amity::world& of) : own(of), lane(of.endpoint()), memory(lane, of.config()) {}
  ~amity_world();
  amity_world(const amity_world&) = delete;
  amity_world& operator=(const amity_world&) = delete;

  struct registered {
    amity_world* owner;
    amity_handler_function function;
    void* context;
  };

  amity::world& own;
  amity::core::endpoint& lane;
  amity::core::remote_endpoint memory;
  amity_event implicit = AMITY_EVENT_INIT;
  amity_request request{.world = this};
  std::vector<std::unique_ptr<registered>> handlers;  ///< by number; null: none of C's
  std::vector<amity::core::own_segment> segments;
  std::unique_ptr<amity::epoch::open_epoch> epoch;  ///< null: none that C has begun
  std::size_t prepared = 0;                         ///< buffers, neither committed nor cancelled
  std::string last_error;
  bool error_unread = false;

  /// Turns the exception that is being handled into a status and the text of the last error. In a handler it ends the
  /// job.
  amity_status note(const char* call) noexcept;
  /// Returns when all requests and replies of all ranks have been handled. Collective.
  void finish();
  /// Prints the last error if nobody has asked for it.
  void print_unread() const noexcept;
};

namespace amity::c {

template <class Work>
amity_status guarded(amity_world* world, const char* call, Work&& work) noexcept {
  if (world == nullptr) return AMITY_MISUSE;
  try {
    work();
    return AMITY_OK;
  } catch (...) {
    return world->note(call);
  }
}

/// Throws an `error` of the function that is being guarded.
[[noreturn, gnu::cold]] void mistake(const amity_world& world, std::string_view problem, std::string_view remedy);
[[noreturn, gnu::cold]] void null_pointer(const amity_world& world, std::string_view what);

inline void check_given(const amity_world& world, const void* pointer, std::string_view what) {
  if (pointer == nullptr) [[unlikely]]
    null_pointer(world, what);
}

inline std::span<const std::uint64_t> words(const amity_world& world, const std::uint64_t* args, std::size_t count) {
  if (count > 0) check_given(world, args, "args");
  return {args, count};
}

inline bytes_view bytes(const amity_world& world, const void* data, std::size_t size, std::string_view what) {
  if (size > 0) check_given(world, data, what);
  return {static_cast<const std::byte*>(data), size};
}

/// Throws unless the number is that of a handler which C has added.
void check_handler(const amity_world& world, amity_handler handler);

/// What a handler runs for; throws if it has returned.
core::request& running(const amity_request& request);

/// A place in a segment that was opened.
core::place place(const amity_world& world, const amity_peer_segment* segment, std::size_t offset);

// A zeroed event of C becomes one of C++ where it is first used; it needs no end.
static_assert(sizeof(amity_event) >= sizeof(core::event) && alignof(amity_event) >= alignof(core::event) &&
              std::is_trivially_destructible_v<core::event>);

inline core::event& event(amity_event& given) noexcept {
  // The first word of a core::event, which has virtual functions, is never zero.
  if (given.opaque[0] == nullptr) return *new (given.opaque) core::event;
  return *std::launder(reinterpret_cast<core::event*>(given.opaque));
}

}  // namespace amity::c
