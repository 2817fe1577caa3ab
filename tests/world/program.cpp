// A program of amity::run whose ranks are processes of their own: program WHAT [ARGUMENTS...].

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "amity/amity.hpp"
#include "amity/base/assert.hpp"
#include "async_library.hpp"

namespace {

using amity::rank_t;
using amity::world;

rank_t next_of(const world& w) { return (w.rank() + 1) % w.size(); }

/// One line of each rank would come in any order: rank 0 speaks for all, once all have come here.
void say(world& w, const std::string& text) {
  w.barrier();
  if (w.rank() == 0) std::printf("%s\n", text.c_str());
}

int ring(world& w) {
  std::uint64_t handled = 0;
  auto baton = w.message<std::uint32_t>(
      [&](std::uint32_t left, auto& self) {
        ++handled;
        if (left > 0) self.send(next_of(w), left - 1);
      },
      amity::coalesce{});
  const auto total = w.epoch([&] { baton.send(next_of(w), 9u); }, [&] { return handled; });
  say(w, std::to_string(w.size()) + " ranks, " + std::to_string(total) + " messages");
  return 0;
}

/// Functions of the program and of a library that lies elsewhere in each process.
int library(world& w, const char* path) {
  // Page by page, so that no gap is left where the library would lie on every rank.
  const int pages = 1000 * (w.rank() + 1);
  for (int page = 0; page < pages; ++page) ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* const loaded = ::dlopen(path, RTLD_NOW);
  if (loaded == nullptr) throw std::runtime_error(::dlerror());
  const auto send_from_library = reinterpret_cast<send_function>(::dlsym(loaded, "send_from_library"));
  const auto address = reinterpret_cast<std::uint64_t>(send_from_library);
  const bool apart = w.min(address) != w.max(address);

  std::string heard;
  const auto ear = w.share(heard);
  w.epoch([&] {
    w.async(
        next_of(w), [](std::string& here, const std::string& word) { here += word; }, ear, "program,");
    w.barrier();
    send_from_library(w, next_of(w), ear);
  });
  const bool good = heard == "program,library" && (apart || w.size() == 1);
  const auto all = w.sum(std::uint64_t{good});
  say(w, std::to_string(all) + " of " + std::to_string(w.size()) + " have heard both");
  return 0;
}

int fail_in_an_epoch(world& w) {
  auto message = w.message<int>([](int) {}, amity::coalesce{});
  if (w.rank() == w.size() - 1) return 7;
  w.epoch([&] { message.send(w.size() - 1, 1); });
  return 0;
}

int different_types(world& w) {
  const auto use = [&]<class T>(T value) {
    auto message = w.message<T>([](T) {});
    w.epoch([&] {
      if (w.rank() == 0) message.send(1, value);
      w.barrier();
    });
  };
  w.rank() == 1 ? use(1.0) : use(1);
  return 0;
}

struct oddity {};

void throw_in_a_handler(world& w, std::string_view what) {
  auto message = w.message<int>(
      [&](int value) {
        if (value != 7) return;
        if (what == "error") throw amity::error("test", 1, "no sevens", "send others");
        if (what == "exception") throw std::runtime_error("no sevens");
        throw oddity();
      },
      amity::deliver_locally{});
  const rank_t source = what == "here" ? 1 : 0;
  w.epoch([&] { message.send(1, w.rank() == source ? 7 : 1); });
}

// NOLINTNEXTLINE(misc-no-recursion): it is meant to end.
std::size_t fill_stack(std::size_t depth) {
  volatile char some[4096];
  some[0] = static_cast<char>(depth);
  const std::size_t below = depth == ~std::size_t{0} ? 0 : fill_stack(depth + 1);
  return below + static_cast<std::size_t>(some[0]);
}

/// The last rank does it. The sanitizer of undefined behavior would end the program before the fault.
[[gnu::no_sanitize("undefined")]] void crash(world& w, std::string_view how) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  w.barrier();
  if (w.rank() == w.size() - 1) {
    volatile int zero = 0;
    volatile int number = 7;
    volatile int* volatile nowhere = nullptr;
    if (how == "segv") *nowhere = 1;
    if (how == "fpe") number = number / zero;
    if (how == "abort") std::abort();
    if (how == "bus") ::raise(SIGBUS);
    if (how == "ill") ::raise(SIGILL);
    if (how == "stack") zero = static_cast<int>(fill_stack(0));
    if (how == "terminate") std::terminate();
    if (how == "ignored") ::raise(SIGBUS);
    if (how == "child") {
      const pid_t child = ::fork();
      if (child == 0) ::raise(SIGILL);
      int status = 0;
      AMITY_ASSERT(::waitpid(child, &status, 0) == child && WTERMSIG(status) == SIGILL, status);
    }
    if (how == "own thread") std::thread([] { ::raise(SIGSEGV); }).join();
  }
  w.barrier();
}

void handle_crash(int) {
  constexpr std::string_view text = "the program's own handler\n";
  static_cast<void>(::write(STDERR_FILENO, text.data(), text.size()));
  ::_exit(3);
}

bool is_process(const world& w) {
  const std::string& fabric = w.config().text("AMITY_FABRIC");
  return fabric != "threads" && fabric != "sim";
}

void print(int descriptor, std::string_view text) { static_cast<void>(::write(descriptor, text.data(), text.size())); }

/// Each rank sends messages of type int to the next one: two of a type that ends, three, and one in another world. Rank
/// 0 also sends a message of type double to rank 1.
template <class Midway>
void count_messages(world& w, Midway midway) {
  const auto numbers = [&](world& in, int count, auto then) {
    auto number = in.message<int>([](int) {}, amity::coalesce{});
    in.epoch([&] {
      for (int i = 0; i < count; ++i) number.send(next_of(in), i);
    });
    then();
  };
  numbers(w, 2, [] {});
  const auto second = w.duplicate();
  numbers(w, 3, [&] {
    numbers(*second, 1, [&] {
      auto real = w.message<double>([](double) {});
      w.epoch([&] {
        if (w.rank() == 0) real.send(1, 0.5);
      });
      midway();
    });
  });
}

/// A signal for each process, or for the last rank's alone.
void raise_once(world& w, int signal, bool everywhere) {
  w.barrier();
  const rank_t last = is_process(w) ? w.size() - 1 : 0;
  if (w.rank() == last || (everywhere && is_process(w))) ::raise(signal);
  w.barrier();
}

/// Each thread of a rank sends a message to the next rank.
void count_on_threads(world& w) {
  auto number = w.message<int>([](int) {});
  w.epoch([&](amity::thread& own) { number.on(own).send(next_of(w), 1); });
  raise_once(w, SIGUSR1, true);
}

/// The handler of the second message from rank 0 to rank 1 never returns.
void get_stuck(world& w) {
  count_messages(w, [&] {
    std::atomic<bool> ends = false;
    int handled = 0;
    auto trap = w.message<char>([&](char) {
      if (++handled == 1) return;
      print(STDOUT_FILENO, "stuck\n");
      while (!ends.load(std::memory_order_relaxed)) {
      }
    });
    w.epoch([&] {
      if (w.rank() != 0) return;
      trap.send(1, 'x');
      trap.send(1, 'y');
    });
  });
}

/// Rank 0 waits for input.
void block(world& w) {
  count_messages(w, [&] {
    if (w.rank() == 0) {
      print(STDOUT_FILENO, "reads\n");
      char byte = 0;
      AMITY_ASSERT(::read(STDIN_FILENO, &byte, 1) == 1, errno);
    }
    w.barrier();
  });
}

void end_children(world& w) {
  count_messages(w, [&] {
    for (const int signal : {SIGUSR1, SIGTERM}) {
      const pid_t child = w.rank() == 0 ? ::fork() : -1;
      if (child == 0) {
        ::raise(signal);
        std::atomic<int> any = 0;
        ::_exit(any.exchange(1));  // the thread sanitizer runs handlers that it has deferred at atomic operations
      }
      int status = 0;
      if (child < 0) continue;
      AMITY_ASSERT(::waitpid(child, &status, 0) == child && WTERMSIG(status) == signal, status);
    }
  });
}

/// A process that is all ranks ends by SIGTERM while standard error is full.
void fill_errors(world& w) {
  const auto fill = [] {
    const int flags = ::fcntl(STDERR_FILENO, F_GETFL);
    ::fcntl(STDERR_FILENO, F_SETFL, flags | O_NONBLOCK);
    const std::string filler(4096, '.');
    while (::write(STDERR_FILENO, filler.data(), filler.size()) > 0) {
    }
    ::fcntl(STDERR_FILENO, F_SETFL, flags);
  };
  count_messages(w, [&] {
    if (w.rank() == 0) fill();
    raise_once(w, SIGTERM, false);
  });
}

void note_signal(int) { print(STDERR_FILENO, "own handler\n"); }

/// What a program does with its signals by itself.
void take_signals(std::string_view how) {
  for (const int signal : {SIGUSR1, SIGTERM}) {
    std::signal(signal, how == "ignore" ? SIG_IGN : note_signal);
  }
}

void have_own_handlers(world& w, std::string_view when, std::string_view how) {
  count_messages(w, [&] {
    w.barrier();
    if (when == "after") take_signals(how);
    w.barrier();
    for (const int signal : {SIGUSR1, SIGTERM}) raise_once(w, signal, true);
  });
}

void use_counters(world& w, char** argv) {
  const std::string_view what = argv[2];
  if (what == "usr1") count_messages(w, [&] { raise_once(w, SIGUSR1, true); });
  if (what == "term") count_messages(w, [&] { raise_once(w, SIGTERM, false); });
  if (what == "threads") count_on_threads(w);
  if (what == "stuck") get_stuck(w);
  if (what == "block") block(w);
  if (what == "full") fill_errors(w);
  if (what == "children") end_children(w);
  if (what == "own") have_own_handlers(w, argv[3], argv[4]);
}

bool has_default_actions() {
  bool all = true;
  for (const int signal : {SIGUSR1, SIGTERM}) {
    struct sigaction now {};
    ::sigaction(signal, nullptr, &now);
    all = all && now.sa_handler == SIG_DFL;
  }
  return all;
}

int act(world& w, int argc, char** argv) {
  const std::string_view what = argv[1];
  if (what == "counters") {
    use_counters(w, argv);
    return 0;
  }
  if (what == "library") return library(w, argv[2]);
  if (what == "fail in an epoch") return fail_in_an_epoch(w);
  if (what == "different types") return different_types(w);
  if (what == "end with 256") {
    if (w.rank() == w.size() - 1) return 256;
    w.barrier();
  }
  if (what == "exit") {
    if (w.rank() == w.size() - 1) std::exit(0);
    w.barrier();
  }
  if (what == "throw in a handler") {
    throw_in_a_handler(w, argv[2]);
    return 0;
  }
  if (what == "crash" || what == "crash with a handler") {
    crash(w, argv[2]);
    return 0;
  }
  static_cast<void>(argc);
  return ring(w);
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): an exception ends the program with its name.
int main(int argc, char** argv) {
  const std::string_view what = argv[1];
  const auto program = [&](world& w) { return act(w, argc, argv); };
  if (what == "crash with a handler") std::signal(SIGSEGV, handle_crash);
  if (what == "crash" && argv[2] == std::string_view("ignored")) std::signal(SIGBUS, SIG_IGN);
  if (what == "counters" && argc > 3 && argv[3] == std::string_view("before")) take_signals(argv[4]);
  if (what == "counters" && argv[2] == std::string_view("usr1")) {
    const int status = amity::run(argc, argv, program);
    return status == 0 && !has_default_actions() ? 9 : status;
  }
  if (what == "own settings") {
    // Made from nothing: who started this process is not in them.
    amity::settings config;
    config.set("AMITY_RANKS", "3");
    return amity::run(config, argc, argv, program);
  }
  if (what == "twice") {
    if (const int status = amity::run(argc, argv, program); status != 0) return status;
  }
  return amity::run(argc, argv, program);
}
