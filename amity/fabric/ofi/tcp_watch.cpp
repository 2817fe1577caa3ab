#include "amity/fabric/ofi/tcp_watch.hpp"

#include <dirent.h>
#include <netinet/tcp.h>
#include <rdma/fabric.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace amity::fabric::ofi {
namespace {

struct close_directory {
  void operator()(DIR* directory) const noexcept { ::closedir(directory); }
};

/// One form for both families. Family 0: neither.
sockaddr_in6 unified(const void* address, std::size_t bytes) noexcept {
  sockaddr_in6 made{};
  sockaddr_in four{};
  sa_family_t family = 0;
  if (bytes >= sizeof family) std::memcpy(&family, address, sizeof family);
  if (family == AF_INET6 && bytes >= sizeof made) {
    std::memcpy(&made, address, sizeof made);
  } else if (family == AF_INET && bytes >= sizeof four) {
    std::memcpy(&four, address, sizeof four);
    made.sin6_family = AF_INET6;
    made.sin6_port = four.sin_port;
    made.sin6_addr.s6_addr[10] = made.sin6_addr.s6_addr[11] = 0xff;
    std::memcpy(&made.sin6_addr.s6_addr[12], &four.sin_addr, sizeof four.sin_addr);
  }
  return made;
}

bool same_host(const sockaddr_in6& one, const sockaddr_in6& other) noexcept {
  return std::memcmp(&one.sin6_addr, &other.sin6_addr, sizeof one.sin6_addr) == 0;
}
bool same_place(const sockaddr_in6& one, const sockaddr_in6& other) noexcept {
  return one.sin6_family == AF_INET6 && one.sin6_port == other.sin6_port && same_host(one, other);
}

template <class NameOf>
sockaddr_in6 end_of(int socket, NameOf&& name_of) noexcept {
  sockaddr_storage found{};
  socklen_t bytes = sizeof found;
  if (name_of(socket, reinterpret_cast<sockaddr*>(&found), &bytes) != 0) return {};
  return unified(&found, bytes);
}

/// Idle connections ask every second whether the other end is there; that they break by themselves is left to what
/// the system does anyway.
void ask_when_idle(int socket) noexcept {
  const auto set = [socket](int level, int option, int value) {
    static_cast<void>(::setsockopt(socket, level, option, &value, sizeof value));
  };
  set(IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(IPPROTO_TCP, TCP_KEEPCNT, 127);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
}

/// Whether the other end owes an answer, to data or to a question of the system's, and has given none for so long. A
/// process that reads nothing stops the data, and the questions then come ever more rarely, but each is answered.
bool is_silent(int socket, std::uint64_t limit_ns) noexcept {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || info.tcpi_state != TCP_ESTABLISHED)
    return false;
  const bool owes_answers = info.tcpi_retransmits >= 2 || info.tcpi_probes >= 2;
  return owes_answers && std::uint64_t{info.tcpi_last_ack_recv} * 1'000'000 > limit_ns;
}

}  // namespace

tcp_watch::tcp_watch(std::uint32_t format, const std::vector<std::string>& addresses, rank_t own) : own_(own) {
  if (format != FI_SOCKADDR && format != FI_SOCKADDR_IN && format != FI_SOCKADDR_IN6) return;
  for (const std::string& each : addresses) places_.push_back(unified(each.data(), each.size()));
  silent_for(~std::uint64_t{0});
}

rank_t tcp_watch::rank_at(int socket) const noexcept {
  const sockaddr_in6 there = end_of(socket, ::getpeername);
  if (there.sin6_family == 0) return no_rank;
  const bool came_to_us = same_place(end_of(socket, ::getsockname), places_[static_cast<std::size_t>(own_)]);
  for (std::size_t rank = 0; rank < places_.size(); ++rank) {
    // A peer that opened the connection did so from a port that the system chose: only its host is known.
    if (came_to_us ? same_host(there, places_[rank]) : same_place(there, places_[rank])) {
      return static_cast<rank_t>(rank);
    }
  }
  return no_rank;
}

std::vector<rank_t> tcp_watch::ranks_on_host_of(rank_t rank) const {
  std::vector<rank_t> found;
  for (std::size_t each = 0; each < places_.size(); ++each) {
    if (same_host(places_[each], places_[static_cast<std::size_t>(rank)])) found.push_back(static_cast<rank_t>(each));
  }
  return found;
}

rank_t tcp_watch::silent_for(std::uint64_t limit_ns) const noexcept {
  if (places_.empty()) return no_rank;
  const std::unique_ptr<DIR, close_directory> all(::opendir("/proc/self/fd"));
  if (all == nullptr) return no_rank;
  while (const dirent* each = ::readdir(all.get())) {
    char* end = nullptr;
    const int socket = static_cast<int>(std::strtol(each->d_name, &end, 10));
    if (end == each->d_name) continue;
    const rank_t rank = rank_at(socket);
    if (rank == no_rank || rank == own_) continue;
    ask_when_idle(socket);
    if (is_silent(socket, limit_ns)) return rank;
  }
  return no_rank;
}

}  // namespace amity::fabric::ofi
