#include "explore.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::tools {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t tail_bytes = 4096;

[[noreturn]] void refuse(const std::string& what) {
  throw error("sim", no_rank, fmt::format("{}: {}", what, std::strerror(errno)),
              "ask for fewer runs at a time (--jobs), or raise this system's limits (ulimit -a)");
}

/// While it lives, signals that ask this process to end wait until they are taken.
class end_requests {
 public:
  end_requests() {
    sigset_t asking;
    sigemptyset(&asking);
    ::sigprocmask(SIG_BLOCK, nullptr, &before_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      struct sigaction now {};
      ::sigaction(signal, nullptr, &now);
      if (now.sa_handler != SIG_IGN && sigismember(&before_, signal) == 0) sigaddset(&asking, signal);
    }
    ::sigprocmask(SIG_BLOCK, &asking, nullptr);
    taken_ = ::signalfd(-1, &asking, SFD_CLOEXEC | SFD_NONBLOCK);
    if (taken_ < 0) refuse("no descriptor for signals");
  }
  end_requests(const end_requests&) = delete;
  end_requests& operator=(const end_requests&) = delete;
  ~end_requests() {
    ::close(taken_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  pollfd arrivals() const { return {.fd = taken_, .events = POLLIN, .revents = 0}; }
  /// The signal that has come; 0: none.
  int take() {
    signalfd_siginfo which{};
    return ::read(taken_, &which, sizeof which) == sizeof which ? static_cast<int>(which.ssi_signo) : 0;
  }
  /// What a process that this one starts begins with.
  const sigset_t& mask_before() const { return before_; }

 private:
  sigset_t before_{};
  int taken_ = -1;
};

/// One run of the program, in a process group of its own, all of which is killed when the run is given up or has ended.
class seeded_run {
 public:
  seeded_run(const exploration& wanted, const sigset_t& signals, std::uint64_t seed)
      : seed_(seed),
        output_(std::tmpfile(), &std::fclose),
        witness_(std::tmpfile(), &std::fclose),
        deadline_(clock::now() + std::chrono::seconds(wanted.seconds_max)) {
    if (!output_ || !witness_) refuse("no file for the output of a run");
    std::vector<std::string> words = wanted.command;
    std::vector<char*> line;
    for (std::string& word : words) line.push_back(word.data());
    line.push_back(nullptr);
    const std::string value = std::to_string(seed);
    // Scripts may close what they inherit, so the program gets a name for it.
    const std::string witness = fmt::format("/proc/{}/fd/{}", ::getpid(), ::fileno(witness_.get()));
    if (::access(witness.c_str(), F_OK) != 0) {
      throw error("sim", no_rank, fmt::format("{} is not there", witness), "mount /proc, which --explore needs");
    }
    if (::pipe2(start_errors_.data(), O_CLOEXEC | O_NONBLOCK) != 0) refuse("no pipe for a run");
    process_ = ::fork();
    if (process_ < 0) {
      for (const int end : start_errors_) ::close(end);
      refuse("no process for a run");
    }
    if (process_ == 0) {
      if (wanted.varies_protocol) ::setenv("AMITY_WINDOW_PROTOCOL", protocol_of(seed).data(), 1);
      begin(line.data(), value.c_str(), witness.c_str(), signals);
    }
    ::setpgid(process_, process_);  // as the process does itself: whoever is first
    // Without one, if the system has none or forbids them, its end is looked for again and again.
    ended_ = static_cast<int>(::syscall(SYS_pidfd_open, process_, 0));
    // The program does not inherit its end, which a failed start writes to.
    ::close(start_errors_[1]);
  }
  seeded_run(const seeded_run&) = delete;
  seeded_run& operator=(const seeded_run&) = delete;
  ~seeded_run() {
    if (!status_) end_all();
    if (ended_ >= 0) ::close(ended_);
    ::close(start_errors_[0]);
  }

  std::uint64_t seed() const { return seed_; }
  /// Ignored by poll if the system has no descriptors of processes.
  pollfd ends() const { return {.fd = ended_, .events = POLLIN, .revents = 0}; }
  clock::time_point deadline() const { return deadline_; }

  /// How it has ended, once it has, or now that it may run no longer.
  std::optional<run_outcome> outcome() {
    const bool too_long = clock::now() >= deadline_;
    if (too_long) ::kill(-process_, SIGKILL);
    // The process keeps its number, and with it the group's, until all of the group are killed.
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(process_), &ended, WEXITED | WNOWAIT | (too_long ? 0 : WNOHANG));
    if (ended.si_pid != process_) return std::nullopt;
    ::kill(-process_, SIGKILL);
    int how = 0;
    ::waitpid(process_, &how, 0);
    status_ = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    const bool unseen = *status_ == 0 && end_of(witness_.get()) == 0;
    int start_error = 0;
    if (::read(start_errors_[0], &start_error, sizeof start_error) != sizeof start_error) start_error = 0;
    return run_outcome{.seed = seed_,
                       .status = unseen ? 1 : *status_,
                       .too_long = too_long && *status_ == 128 + SIGKILL,
                       .unseen = unseen,
                       .start_error = start_error,
                       .tail = tail()};
  }

 private:
  void end_all() {
    ::kill(-process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  [[noreturn]] void begin(char** line, const char* seed, const char* witness, const sigset_t& signals) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::sigprocmask(SIG_SETMASK, &signals, nullptr);
    ::setenv("AMITY_SIM_SEED", seed, 1);
    ::setenv("AMITY_SIM_WITNESS", witness, 1);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(::fileno(output_.get()), STDOUT_FILENO);
    ::dup2(::fileno(output_.get()), STDERR_FILENO);
    ::execvp(line[0], line);
    const int cause = errno;
    std::_Exit(::write(start_errors_[1], &cause, sizeof cause) == sizeof cause ? 1 : 127);
  }

  static long end_of(std::FILE* file) {
    std::fseek(file, 0, SEEK_END);
    return std::ftell(file);
  }

  std::string tail() {
    std::FILE* const file = output_.get();
    const auto bytes = std::min<long>(end_of(file), tail_bytes);
    std::fseek(file, -bytes, SEEK_END);
    std::string text(static_cast<std::size_t>(bytes), '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file));
    // Not half a line in front.
    const auto line = text.find('\n');
    return static_cast<std::size_t>(bytes) == tail_bytes && line < text.size() - 1 ? text.substr(line + 1) : text;
  }

  std::uint64_t seed_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> output_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> witness_;
  clock::time_point deadline_;
  std::array<int, 2> start_errors_{};
  pid_t process_ = -1;
  int ended_ = -1;
  std::optional<int> status_;
};

using runs = std::vector<std::unique_ptr<seeded_run>>;

/// Until a run has ended, or may run no longer, or a signal has come.
void wait_for_one(const runs& running, const end_requests& asked) {
  std::vector<pollfd> entries{asked.arrivals()};
  auto deadline = running.front()->deadline();
  constexpr auto look_again = std::chrono::milliseconds(10);
  for (const auto& each : running) {
    entries.push_back(each->ends());
    deadline = std::min(deadline, entries.back().fd < 0 ? clock::now() + look_again : each->deadline());
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now()).count();
  ::poll(entries.data(), entries.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
}

/// Sets the failure with the smallest seed, if any run fails. Returns the signal that has come before that is known; 0:
/// none. No run is left then.
int find_first_failure(const exploration& wanted, end_requests& asked, run_outcome& first) {
  std::uint64_t next = wanted.first_seed;
  std::uint64_t end = wanted.first_seed + wanted.seeds;  // no seed from here on matters
  runs running;
  for (;;) {
    while (running.size() < wanted.jobs && next < end) {
      running.push_back(std::make_unique<seeded_run>(wanted, asked.mask_before(), next++));
    }
    if (running.empty()) return 0;
    wait_for_one(running, asked);
    if (const int signal = asked.take(); signal != 0) return signal;
    std::erase_if(running, [&](const auto& each) {
      auto ended = each->outcome();
      if (ended && ended->status != 0 && ended->seed < end) {
        end = ended->seed;
        first = std::move(*ended);
      }
      return ended.has_value();
    });
    std::erase_if(running, [&](const auto& each) { return each->seed() >= end; });
  }
}

}  // namespace

std::string_view protocol_of(std::uint64_t seed) {
  constexpr auto protocols = std::to_array<std::string_view>(
      {"automatic", "automatic", "rma", "buffered", "automatic", "automatic", "rma", "send_recv"});
  return protocols[seed % protocols.size()];
}

run_outcome explore(const exploration& wanted) {
  run_outcome first;
  int signal = 0;
  {
    end_requests asked;
    signal = find_first_failure(wanted, asked, first);
  }
  if (signal != 0) {
    ::raise(signal);        // it does what it does to every process
    ::_exit(128 + signal);  // but the first one of a container
  }
  return first;
}

}  // namespace amity::tools
