#include "amity/fabric/shm/descriptor_handover.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::fabric::shm {
namespace {

constexpr auto socket_address_bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + sizeof(socket_name));
constexpr int poll_ms = 100;

/// The process at the other end, if it belongs to this user; otherwise 0.
pid_t peer_of(int socket) {
  ucred other{};
  socklen_t bytes = sizeof other;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &other, &bytes) != 0 || other.uid != ::geteuid()) return 0;
  return other.pid;
}

/// A message of one byte, with space for a descriptor.
struct message : private immovable {
  char byte = 0;
  iovec content{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};

  message() {
    header.msg_iov = &content;
    header.msg_iovlen = 1;
    header.msg_control = space;
    header.msg_controllen = sizeof space;
  }
};

bool send_descriptor(int socket, int fd) {
  message sent;
  cmsghdr* const control = CMSG_FIRSTHDR(&sent.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(control), &fd, sizeof fd);
  return ::sendmsg(socket, &sent.header, MSG_NOSIGNAL) == 1;
}

}  // namespace

descriptor_server::descriptor_server() : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t bytes = sizeof address;
  // Without an address the system chooses one.
  if (!socket_ || ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) != 0 ||
      ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0 ||
      bytes != socket_address_bytes || ::listen(socket_.get(), SOMAXCONN) != 0) {
    throw error("shared memory", no_rank,
                fmt::format("/proc cannot be read, and a socket cannot be opened: {}", std::strerror(errno)),
                "mount /proc, or raise the limit of open files (ulimit -n)");
  }
  std::memcpy(name_.data(), address.sun_path + 1, name_.size());
}

void descriptor_server::serve(int fd, std::vector<pid_t> clients, const std::function<void()>& check) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds_max);
  while (!clients.empty()) {
    check();
    if (std::chrono::steady_clock::now() >= deadline) {
      throw error("shared memory", no_rank,
                  fmt::format("process {} has not asked for the job's memory in {} s", clients.front(), seconds_max),
                  "see what it has printed; let the processes of a node share their process and network namespaces, or "
                  "give each another AMITY_NODE");
    }
    pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    ::poll(&entry, 1, poll_ms);
    const file_descriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client && (errno == EMFILE || errno == ENFILE)) {
      throw error("shared memory", no_rank,
                  fmt::format("cannot hand the job's memory to process {}: {}", clients.front(), std::strerror(errno)),
                  "raise the limit of open files (ulimit -n)");
    }
    const pid_t process = client ? peer_of(client.get()) : 0;
    for (auto each = clients.begin(); each != clients.end(); ++each) {
      if (*each != process) continue;
      if (send_descriptor(client.get(), fd)) clients.erase(each);
      break;
    }
  }
}

file_descriptor receive_descriptor(const socket_name& name, pid_t server, const std::function<void()>& check) {
  const file_descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return {};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(descriptor_server::seconds_max);
  // After a call that would have blocked. An empty `entry` waits for time to pass.
  const auto may_repeat = [&](pollfd* entry) {
    if (errno != EAGAIN && errno != EINTR) return false;
    check();
    if (std::chrono::steady_clock::now() >= deadline) {
      errno = ETIMEDOUT;
      return false;
    }
    ::poll(entry, entry != nullptr ? 1 : 0, entry != nullptr ? poll_ms : 1);
    return true;
  };
  // The queue of the server may be full.
  while (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), socket_address_bytes) != 0) {
    if (!may_repeat(nullptr)) return {};
  }
  errno = EACCES;
  if (peer_of(socket.get()) != server) return {};
  message received;
  pollfd entry{.fd = socket.get(), .events = POLLIN, .revents = 0};
  ssize_t count;
  while ((count = ::recvmsg(socket.get(), &received.header, MSG_CMSG_CLOEXEC)) < 0) {
    if (!may_repeat(&entry)) return {};
  }
  const cmsghdr* const control = count == 1 ? CMSG_FIRSTHDR(&received.header) : nullptr;
  if (control == nullptr || control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) {
    // Without a free descriptor, the system drops the descriptor in the message.
    errno = count == 0 ? ECONNRESET : (received.header.msg_flags & MSG_CTRUNC) != 0 ? EMFILE : EPROTO;
    return {};
  }
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(control), sizeof fd);
  return file_descriptor(fd);
}

}  // namespace amity::fabric::shm
