/// What C is told of an exception.

#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "amity/interop/c/world.hpp"

namespace amity::c {
namespace {

/// An error whose words are given.
class worded_error final : public error {
 public:
  explicit worded_error(std::string text) : error("", no_rank, "", ""), text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// Errors name the calls of C++; the program has made one of C.
std::string in_words_of_c(const char* call, std::string_view text) {
  constexpr std::string_view head = "amity: ";
  const std::size_t end = std::min(text.find(" (rank ", head.size()), text.find(": ", head.size()));
  std::string own = fmt::format("{}{}{}", head, call, text.substr(std::min(end, text.size())));
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> names{{
      {"endpoint::add_handler", "amity_handler_add"},
      {"endpoint::request_short or request_medium", "amity_request_short or amity_request_medium"},
      {"memory::allocate or attach returned", "amity_segment_allocate or amity_segment_attach gave"},
      {"what exchange returned", "what amity_segment_exchange gave"},
  }};
  for (const auto& [theirs, ours] : names) {
    if (const std::size_t at = own.find(theirs); at != std::string::npos) own.replace(at, theirs.size(), ours);
  }
  return own;
}

}  // namespace

void mistake(const amity_world& world, std::string_view problem, std::string_view remedy) {
  throw error("", world.lane.rank(), problem, remedy);
}

void null_pointer(const amity_world& world, std::string_view what) {
  mistake(world, fmt::format("{} is null", what), "point to what the call needs");
}

amity_status refuse_null(const char* call, const char* missing) noexcept {
  std::fprintf(stderr, "amity: %s: %s\n", call, missing);
  return AMITY_MISUSE;
}

amity_status refuse_thread(const amity_world& world, const char* call) noexcept {
  std::fprintf(stderr,
               "amity: %s (rank %d): the world of thread %d was given by another thread; use a world on its own thread "
               "(AMITY_THREADS, amity_threads_run), in handlers that of amity_request_world\n",
               call, static_cast<int>(world.lane.rank()), static_cast<int>(world.lane.thread()));
  return AMITY_MISUSE;
}

rank& for_rank(amity_world& world) {
  if (world.lane.thread() != 0) {
    mistake(world, fmt::format("called by thread {} of the rank", world.lane.thread()),
            "call it on the thread that runs the program, with the world that amity_run gave");
  }
  return world.rank;
}

rank& for_all_threads(amity_world& world) {
  if (world.lane.in_handler()) {
    mistake(world, "called in a handler", "let the handler return first; it may only send and reply");
  }
  return for_rank(world);
}

void check_handler(const amity_world& world, amity_handler handler) {
  if (handler < world.handlers.size() && world.handlers[handler] != nullptr) [[likely]]
    return;
  mistake(world,
          fmt::format("{} is not the number of a handler (there are: {})", handler, world.lane.handlers().describe()),
          "use what amity_handler_add gave");
}

}  // namespace amity::c

amity_status amity_world::note(const char* call) noexcept {
  // A failure that is there already keeps the words of the call that it comes from.
  const bool carried = lane.own_engine().failure().is(std::current_exception());
  error_unread = true;
  try {
    throw;
  } catch (const amity::job_aborted& ended) {
    last_error = ended.what();
    error_unread = false;  // the other rank has said why
    return AMITY_ABORTED;
  } catch (const amity::error& mistake) {
    last_error = carried ? mistake.what() : amity::c::in_words_of_c(call, mistake.what());
    if (!carried && !lane.in_handler()) return AMITY_MISUSE;
    lane.fail(std::make_exception_ptr(amity::c::worded_error(last_error)));
  } catch (const std::exception& other) {
    last_error = other.what();
    lane.fail(std::current_exception());
  } catch (...) {
    last_error = "an exception of unknown type";
    lane.fail(std::current_exception());
  }
  return AMITY_FAILED;
}

void amity_world::print_unread() noexcept {
  if (std::exchange(error_unread, false)) std::fprintf(stderr, "%s\n", last_error.c_str());
}

const char* amity_last_error_text(amity_world* world) {
  if (world == nullptr) return "amity: the world is null; give the calls what amity_run gave to the program";
  if (!world->lane.own_engine().on_own_thread()) [[unlikely]]
    return "amity: the world is another thread's; use a world on its own thread";
  world->error_unread = false;
  return world->last_error.c_str();
}

amity_status amity_world_fail(amity_world* world, const char* text) {
  return amity::c::guarded(world, "amity_world_fail", [&] {
    world->last_error = text == nullptr ? "amity_world_fail" : text;
    world->error_unread = true;
    world->lane.fail(std::make_exception_ptr(amity::c::worded_error(world->last_error)));
  });
}
