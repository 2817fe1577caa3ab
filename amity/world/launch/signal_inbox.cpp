#include "amity/world/launch/signal_inbox.hpp"

#include <pthread.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::detail {
namespace {

bool is_ignored(int signal) noexcept {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool has_default_action(int signal) noexcept {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
}

}  // namespace

signal_inbox::signal_inbox(bool children) {
  sigset_t mine{};
  sigemptyset(&mine);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP}) {
    if (!is_ignored(signal)) sigaddset(&mine, signal);
  }
  // A program that starts its own ranks may have a handler.
  if (has_default_action(SIGUSR1)) sigaddset(&mine, SIGUSR1);
  // A write to a closed pipe and a read from the terminal in the background become errors of the call.
  for (const int signal : {SIGCONT, SIGPIPE, SIGTTIN}) sigaddset(&mine, signal);
  if (children) sigaddset(&mine, SIGCHLD);
  fd_ = file_descriptor(::signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_) {
    throw error("launch", no_rank, fmt::format("cannot receive signals: signalfd: {}", std::strerror(errno)),
                "raise the limit of open files (ulimit -n), or allow this system call in the container's seccomp "
                "profile");
  }
  ::pthread_sigmask(SIG_BLOCK, &mine, &outer_mask_);

  // With SIGCHLD ignored, which is inherited, children vanish without a status.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &standard, &outer_child_action_);
}

signal_inbox::~signal_inbox() {
  while (next()) {
  }
  ::sigaction(SIGCHLD, &outer_child_action_, nullptr);
  ::pthread_sigmask(SIG_SETMASK, &outer_mask_, nullptr);
}

std::optional<int> signal_inbox::next() noexcept {
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace amity::detail
