// A program of amity::run that does one thing, for tests of the launcher: world_program WHAT [ARGUMENTS...].

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "amity/amity.hpp"

namespace {

void say(const std::string& text) {
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

/// All ranks wait for rank 0, which does not come: it waits elsewhere, or for what nobody sends.
int wait_for_ever(amity::world& w, bool elsewhere) {
  say("ready " + std::to_string(::getpid()));
  while (w.rank() == 0 && elsewhere) ::pause();
  if (w.rank() == 0) w.endpoint().wait_until("what nobody sends", [] { return false; });
  w.barrier();
  return 0;
}

int act(amity::world& w, const std::string& what, int argc, char** argv) {
  const bool last = w.rank() == w.size() - 1;
  if (what == "wait") return wait_for_ever(w, true);
  if (what == "wait inside") return wait_for_ever(w, false);
  if (what == "sum") {
    const auto sum = w.sum(static_cast<std::uint64_t>(w.rank()));
    say("rank " + std::to_string(w.rank()) + " of " + std::to_string(w.size()) + ": sum " + std::to_string(sum));
  }
  if (what == "arguments" && w.rank() == 0) {
    for (int i = 2; i < argc; ++i) say(argv[i]);
  }
  if (what == "throw") {
    if (last) throw amity::error("test", w.rank(), "it went wrong", "do not");
    w.barrier();
  }
  if (what == "status") return last ? 9 : 0;
  if (what == "deadlock" && !last) w.barrier();
  if (what == "deadlock" && last) w.endpoint().wait_until("what nobody sends", [] { return false; });
  if (what == "exit") {
    if (last) std::exit(0);
    w.barrier();
  }
  if (what == "kill") {
    if (last) ::kill(::getpid(), SIGKILL);
    w.barrier();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return amity::run(argc, argv, [&](amity::world& w) { return act(w, argv[1], argc, argv); });
}
