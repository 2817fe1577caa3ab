// A program of amity::run that does one thing, for tests of the launcher: world_program WHAT [ARGUMENTS...].

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <vector>

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

/// Rank 0 announces a put by a flag, without a flush in between: the flag may arrive first. Status 1: it has.
int announce_too_early(amity::world& w) {
  auto words = w.allocate_window<std::uint64_t>(2);
  const std::uint64_t value = 5;
  bool arrived = true;
  words.lock_all();
  w.barrier();
  if (w.rank() == 0) {
    words.put(1, 0, value);
    words.accumulate(amity::accumulate_op::sum, 1, 1, 1);
  } else if (w.rank() == 1) {
    std::uint64_t flag = 0, seen = 0;
    while (flag == 0) {
      words.fetch_and_op(amity::accumulate_op::no_op, 1, 1, 0, flag);
      words.flush(1);
    }
    words.get(1, 0, seen);
    words.flush(1);
    arrived = seen == value;
  }
  words.unlock_all();
  return arrived ? 0 : 1;
}

/// The last rank throws while others use its window.
int throw_with_window(amity::world& w) {
  constexpr std::size_t words = 4096;
  const amity::rank_t last = w.size() - 1;
  auto on = w.allocate_window<std::uint64_t>(words);
  on.lock_all();
  w.barrier();
  if (w.rank() == last) throw amity::error("test", last, "it went wrong", "do not");
  const std::vector<std::uint64_t> data(words, 1);
  for (;;) {
    on.put(last, 0, std::span(data));
    on.accumulate(amity::accumulate_op::sum, last, 0, std::span(data));
    on.flush(last);
  }
}

int act(amity::world& w, const std::string& what, int argc, char** argv) {
  const bool last = w.rank() == w.size() - 1;
  if (what == "flag") return announce_too_early(w);
  if (what == "throw with a window") return throw_with_window(w);
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
  if (what == "exit" || what == "exit in a handler") {
    const int status = argc > 2 ? std::stoi(argv[2]) : 0;
    if (what == "exit in a handler") {
      auto message = w.message<int>([](int number) { std::exit(number); });
      w.epoch([&] { message.send(w.size() - 1, status); });
    }
    if (last) std::exit(status);
    w.barrier();
  }
  if (what == "quick_exit") {
    if (last) std::quick_exit(0);
    w.barrier();
  }
  if (what == "_exit") {
    if (last) ::_exit(0);
    w.barrier();
  }
  if (what == "all exit") {
    say("exits");
    std::exit(0);
  }
  if (what == "exit in a thread") {
    if (last) std::thread([] { std::exit(0); }).join();
    w.barrier();
  }
  if (what == "exit with output") {
    std::printf("unflushed");
    std::exit(0);
  }
  if (what == "exit of a child") {
    const pid_t process = ::fork();
    if (process == 0) std::exit(5);
    int status = 0;
    ::waitpid(process, &status, 0);
    say("child " + std::to_string(WEXITSTATUS(status)));
  }
  if (what == "wait for lock") {
    auto shared = w.allocate_window<int>(1, {.name = "grid"});
    if (last) {
      shared.lock(amity::lock_kind::exclusive, 0);
      shared.put(0, 0, 1);
      shared.flush(0);
    }
    w.barrier();
    say(std::to_string(w.rank()) + " " + std::to_string(::getpid()));
    while (last) ::pause();
    shared.lock(amity::lock_kind::exclusive, 0);
    shared.put(0, 0, 2);
    shared.unlock(0);
  }
  if (what == "kill") {
    if (last) ::kill(::getpid(), SIGKILL);
    w.barrier();
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argv[1];
  const int status = amity::run(argc, argv, [&](amity::world& w) { return act(w, what, argc, argv); });
  if (what == "exit after the program") std::exit(0);
  return status;
}
