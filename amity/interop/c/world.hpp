#pragma once

/// What the handles of `amity/amity.h` stand for, and how the exceptions of C++ become the statuses of C.
///
/// Each function of C is one call of the floors below, in `guarded`: no exception leaves it. Handlers are C++ as far as
/// the floors below know, so what a handler leaves behind takes the way that an exception of a handler takes.
///
/// A handle of C's is one thread's. What concerns all threads of a rank - handlers, segments - thread 0 does on each of
/// them, so that one number of a handler, and one peer segment, serves them all.

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
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
#include "amity/core/memory_service.hpp"
#include "amity/epoch/open_epoch.hpp"
#include "amity/world/world.hpp"

namespace amity::c {
struct rank;
}

/// Handlers take those of their world in turn, so that one that is kept after its handler has returned is found out,
/// also in those that run next.
struct amity_request {
  amity_world* world;
  amity::core::request* running = nullptr;  ///< null: no handler runs with it
};

struct amity_world : private amity::immovable {
  /// Of one thread, which makes it; on all ranks, without waiting.
  amity_world(amity::c::rank& of, amity::rank_t thread);
  /// On the same thread.
  ~amity_world();

  struct registered {
    amity_world* owner;
    amity_handler_function function;
    void* context;
  };

  amity::c::rank& rank;
  amity::core::endpoint& lane;
  amity::core::memory& memory;  ///< of the lane
  amity_event implicit = AMITY_EVENT_INIT;
  std::array<amity_request, 64> requests;
  std::size_t request_next = 0;
  std::vector<std::unique_ptr<registered>> handlers;  ///< by number; null: none of C's
  std::vector<amity::core::remote_segment> opened;    ///< by the id of C's peer segments; of no lane: closed
  std::size_t prepared = 0;                           ///< buffers, neither committed nor cancelled
  std::string last_error;
  bool error_unread = false;

  /// Turns the exception that is being handled into a status and the text of the last error. In a handler it ends the
  /// job.
  amity_status note(const char* call) noexcept;
  /// Prints the last error if nobody has asked for it. Once.
  void print_unread() noexcept;
};

namespace amity::c {

/// What the threads of a rank have in common. Used by thread 0.
struct rank : private immovable {
  explicit rank(world& of);
  ~rank();

  amity_world& thread(rank_t index) noexcept { return *threads[static_cast<std::size_t>(index)]; }
  /// `work(world)` on each thread, with the world of that thread.
  template <class Work>
  void on_threads(Work&& work) {
    own.team().run([&](rank_t index) { work(thread(index)); });
  }
  /// `work(world)` on the thread that handles requests. What it throws is rethrown here.
  template <class Work>
  void at_home(Work&& work) {
    const rank_t home = own.endpoint().home_thread();
    own.team().run_on(home, [&] { work(thread(home)); });
  }
  /// Opens a segment on each thread; returns its id.
  std::uint64_t open(const core::segment_descriptor& descriptor);
  void close(std::uint64_t id);
  /// Returns when all requests and replies of all ranks have been handled, and nothing else is under way. Collective.
  void finish();
  /// Prints the last error of each thread that nobody has asked for.
  void print_unread();

  world& own;
  std::vector<std::unique_ptr<amity_world>> threads;
  std::vector<std::uint64_t> closed;         ///< ids of peer segments that serve again
  std::unique_ptr<epoch::open_epoch> epoch;  ///< null: none that C has begun

 private:
  std::uint64_t count(std::uint64_t core::traffic::*what);
};

// These say it on standard error: there is no world to keep it, or none that this thread may touch.
[[gnu::cold]] amity_status refuse_null(const char* call, const char* missing) noexcept;
[[gnu::cold]] amity_status refuse_thread(const amity_world& world, const char* call) noexcept;

constexpr const char* no_world = "the world is null; give the calls what amity_run gave to the program";
constexpr const char* no_request = "the request is null; reply in a handler, to what it was given";
constexpr const char* no_prepared = "nothing was prepared; prepare a message before its end";

/// `missing` is what there is to say where there is no world.
template <class Work>
amity_status guarded(amity_world* world, const char* call, Work&& work, const char* missing = no_world) noexcept {
  if (world == nullptr) [[unlikely]]
    return refuse_null(call, missing);
  if (!world->lane.own_engine().on_own_thread()) [[unlikely]]
    return refuse_thread(*world, call);
  try {
    work();
    return AMITY_OK;
  } catch (...) {
    return world->note(call);
  }
}

/// Runs what is the program's; an exception of it is a failure of the rank.
template <class Work>
decltype(auto) run_program(amity_world& world, Work&& work) try {
  return work();
} catch (...) {
  world.lane.fail(std::current_exception());
  throw;
}

/// The rank, for what thread 0 alone does; throws on others, and in handlers.
rank& for_all_threads(amity_world& world);
/// The same where the floors below see to handlers.
rank& for_rank(amity_world& world);

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
core::remote_address place(const amity_world& world, const amity_remote_segment* segment, std::size_t offset);

// A zeroed event of C becomes one of C++ where it is first used; it needs no end.
static_assert(sizeof(amity_event) >= sizeof(core::event) && alignof(amity_event) >= alignof(core::event) &&
              std::is_trivially_destructible_v<core::event>);

inline core::event& event(amity_event& given) noexcept {
  // The first word of a core::event, which has virtual functions, is never zero.
  if (given.opaque[0] == nullptr) return *new (given.opaque) core::event;
  return *std::launder(reinterpret_cast<core::event*>(given.opaque));
}

}  // namespace amity::c
