#include "amity/world/crash_report.hpp"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <new>
#include <string_view>

#include "amity/base/signal_line.hpp"

namespace amity::detail {
namespace {

constexpr std::array signals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
// Handlers of sanitizers need much; what is not touched costs nothing.
constexpr std::size_t stack_bytes = std::size_t{256} << 10;

/// At the beginning of the alternate signal stack of a thread, which the kernel tells a signal handler.
struct record {
  static constexpr std::uint64_t mark = 0x616d'6974'7963'7261;

  std::uint64_t marked;
  rank_t lane;
  rank_t lanes_each;
  const fabric::sim::running_lane* running;
  pid_t process;  ///< a child that the program forks inherits the stack and is not a rank
};

// A signal handler has no parameter for its state.
struct {
  std::mutex mutex;
  int users = 0;
  std::array<struct sigaction, signals.size()> before = {};
} constinit installed;

std::string_view name_of(int signal) noexcept {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    default:
      return "SIGABRT";
  }
}

const record* record_of(const void* context) noexcept {
  const stack_t& stack = static_cast<const ucontext_t*>(context)->uc_stack;
  if (stack.ss_sp == nullptr || stack.ss_size != stack_bytes) return nullptr;
  const auto* const found = static_cast<const record*>(stack.ss_sp);
  return found->marked == record::mark ? found : nullptr;
}

void report(int signal, const siginfo_t& about, const record& of) noexcept {
  const rank_t lane = of.running != nullptr ? of.running->lane : of.lane;
  if (lane == no_rank || of.process != ::getpid()) return;
  const auto address = reinterpret_cast<std::uintptr_t>(about.si_addr);
  const bool is_fault = about.si_code > 0 && signal != SIGABRT;
  signal_line text;
  (text << "amity: rank ").number(static_cast<std::uintptr_t>(lane / of.lanes_each), 10);
  if (of.lanes_each > 1) (text << ", thread ").number(static_cast<std::uintptr_t>(lane % of.lanes_each), 10);
  text << ": the program has crashed on this rank with " << name_of(signal);
  if (is_fault) (text << " at address 0x").number(address, 16);
  if (is_fault && of.running != nullptr && of.running->overflown(address)) {
    text << ": its stack is full; raise AMITY_SIM_STACK_BYTES, or keep large arrays elsewhere";
  }
  text << "\n";
  text.print();
}

void pass_on(int signal, siginfo_t* about, void* context, const struct sigaction& to) noexcept {
  if ((to.sa_flags & SA_SIGINFO) != 0) return to.sa_sigaction(signal, about, context);
  if (to.sa_handler != SIG_DFL && to.sa_handler != SIG_IGN) return to.sa_handler(signal);
  ::sigaction(signal, &to, nullptr);
  // A fault comes again as soon as this handler returns.
  if (about->si_code <= 0 && to.sa_handler == SIG_DFL) ::raise(signal);
}

void on_signal(int signal, siginfo_t* about, void* context) noexcept {
  const int interrupted_errno = errno;  // the previous handler may return to the program
  for (std::size_t i = 0; i < signals.size(); ++i) {
    if (signals[i] != signal) continue;
    const struct sigaction& before = installed.before[i];
    // What the program ignores and nothing forces does not end it.
    const bool is_ignored = about->si_code <= 0 && (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_IGN;
    const record* const of = record_of(context);
    if (of != nullptr && !is_ignored) report(signal, *about, *of);
    errno = interrupted_errno;
    if (!is_ignored) pass_on(signal, about, context, before);
  }
}

bool is_ours(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &on_signal;
}

}  // namespace

crash_report::crash_report() {
  const std::lock_guard lock(installed.mutex);
  if (installed.users++ > 0) return;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    ::sigaction(signals[i], nullptr, &installed.before[i]);
    struct sigaction ours = {};
    ours.sa_sigaction = &on_signal;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (installed.before[i].sa_flags & SA_NODEFER);
    ours.sa_mask = installed.before[i].sa_mask;
    ::sigaction(signals[i], &ours, nullptr);
  }
}

crash_report::~crash_report() {
  const std::lock_guard lock(installed.mutex);
  if (--installed.users > 0) return;
  for (std::size_t i = 0; i < signals.size(); ++i) {
    struct sigaction now;
    ::sigaction(signals[i], nullptr, &now);
    if (is_ours(now)) ::sigaction(signals[i], &installed.before[i], nullptr);
  }
}

crash_place::crash_place(rank_t lane, rank_t lanes_each, const fabric::sim::running_lane* running) noexcept
    : stack_(::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
  if (stack_ == MAP_FAILED) stack_ = nullptr;
  if (stack_ == nullptr) return;
  new (stack_)
      record{.marked = record::mark, .lane = lane, .lanes_each = lanes_each, .running = running, .process = ::getpid()};
  stack_t own = {};
  own.ss_sp = stack_;
  own.ss_size = stack_bytes;
  ::sigaltstack(&own, &before_);
}

crash_place::~crash_place() {
  if (stack_ == nullptr) return;
  // A handler that was installed later remains.
  stack_t now = {};
  ::sigaltstack(nullptr, &now);
  if (now.ss_sp == stack_) ::sigaltstack(&before_, nullptr);
  ::munmap(stack_, stack_bytes);
}

}  // namespace amity::detail
