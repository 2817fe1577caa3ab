/// The header in C++: with it, exceptions of handlers and predicates become statuses, and go through no frame of C.

#include <amity/amity.h>

#include <amity/amity.hpp>
#include <cstdio>
#include <stdexcept>
#include <string_view>

namespace {

extern "C" void throws(amity_request*, void*) { throw std::runtime_error("a handler's own problem"); }
extern "C" int never(void*) { return 0; }

// An error of amity's own kind, too, is the program's where the program throws it.
extern "C" int mistakes(void*) { throw amity::error("the predicate", amity::no_rank, "its own problem", "none"); }
extern "C" void works(amity_world*, void*) {
  throw amity::error("the work", amity::no_rank, "its own problem", "none");
}

extern "C" int program_of_predicate(amity_world* world, void*) {
  if (amity_world_wait_until(world, nullptr, mistakes, nullptr) != AMITY_FAILED) return 4;
  if (std::string_view(amity_last_error_text(world)).find("the predicate: its own problem") == std::string_view::npos)
    return 5;
  return amity_world_poll(world) == AMITY_FAILED ? 9 : 6;
}

extern "C" int program_of_work(amity_world* world, void*) {
  if (amity_threads_run(world, works, nullptr) != AMITY_FAILED) return 4;
  return amity_world_poll(world) == AMITY_FAILED ? 9 : 6;
}

extern "C" int program(amity_world* world, void*) {
  amity_handler handler = 0;
  if (amity_handler_add(world, "throws", throws, nullptr, &handler) != AMITY_OK) return 4;
  if (amity_handlers_agree(world) != AMITY_OK) return 5;
  if (amity_request_short(world, amity_world_rank(world), handler, nullptr, 0) != AMITY_OK) return 6;
  for (int i = 0; i < 2; ++i) {
    if (amity_world_wait_until(world, nullptr, never, nullptr) != AMITY_FAILED) return 7;
    if (amity_last_error_text(world) != std::string_view("a handler's own problem")) return 8;
  }
  return 9;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view which = argc > 1 ? argv[1] : "";
  const amity_main_function chosen = which == "predicate" ? program_of_predicate
                                     : which == "work"    ? program_of_work
                                                          : program;
  const int status = amity_run(argc, argv, chosen, nullptr);
  if (status != 9) std::fprintf(stderr, "status %d\n", status);
  return status == 9 ? 0 : 1;
}
