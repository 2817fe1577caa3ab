#include "amity/fabric/shm/peer_watch.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/fabric/bootstrap.hpp"

namespace amity::fabric::shm {
namespace {

constexpr std::uint64_t look_every_ns = 500'000'000;

}  // namespace

peer_watch::peer_watch(rank_t own, pid_t starter, std::vector<peer_process> peers)
    : own_(own), starter_(starter), peers_(std::move(peers)) {
  // A descriptor stays that process's, where a number may name another one later.
  for (const peer_process& each : peers_) {
    processes_.emplace_back(each.name == own_ ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, each.pid, 0)));
  }
}

bool peer_watch::is_due(std::uint64_t now_ns) noexcept {
  if (now_ns < next_look_ns_) return false;
  next_look_ns_ = now_ns + look_every_ns;
  return true;
}

bool peer_watch::is_gone(std::size_t index) const noexcept {
  if (processes_[index]) {
    pollfd process{.fd = processes_[index].get(), .events = POLLIN, .revents = 0};
    return ::poll(&process, 1, 0) == 1;
  }
  return peers_[index].name != own_ && ::kill(peers_[index].pid, 0) != 0 && errno == ESRCH;
}

void peer_watch::look(const std::function<bool(std::size_t)>& has_left) const {
  for (std::size_t index = 0; index < peers_.size(); ++index) {
    if (!is_gone(index) || has_left(index)) continue;
    throw_ended(own_, peers_[index].name);
  }
  if (is_left_by(starter_)) throw_left("shared memory", own_, starter_);
}

void throw_ended(rank_t own, rank_t peer) {
  throw error("shared memory", own, fmt::format("rank {} has vanished: its process has ended", peer),
              "see what it has printed");
}

}  // namespace amity::fabric::shm
