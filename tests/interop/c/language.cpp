/// The header in C++: with it, exceptions of handlers and predicates become statuses, and go through no frame of C.

#include <amity/amity.h>

#include <amity/amity.hpp>
#include <cstdio>
#include <stdexcept>
#include <string_view>

namespace {

extern "C" void throws(amity_request*, void*) { throw std::runtime_error("a handler's own problem"); }
extern "C" int never(void*) { return 0; }

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
  const int status = amity_run(argc, argv, program, nullptr);
  if (status != 9) std::fprintf(stderr, "status %d\n", status);
  return status == 9 ? 0 : 1;
}
