/// Raw limit: bytes that go round between two pinned processes over one TCP connection on the loopback device, without
/// a library between. Both sides ask the socket again and again: nobody sleeps.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "amity/base/clock.hpp"
#include "bench/raw/raw.hpp"
#include "bench/raw/two_processes.hpp"
#include "bench/statistics.hpp"
#include "bench/workload.hpp"

namespace amity::bench {
namespace {

[[noreturn]] void failed(const char* call) { throw std::system_error(errno, std::generic_category(), call); }

/// A TCP socket.
class tcp_socket {
 public:
  explicit tcp_socket(int fd) : fd_(fd) {
    if (fd_ < 0) failed("socket");
  }
  ~tcp_socket() { close(fd_); }
  tcp_socket(const tcp_socket&) = delete;
  tcp_socket& operator=(const tcp_socket&) = delete;

  int get() const { return fd_; }

 private:
  int fd_;
};

/// One end of a connection.
class connection {
 public:
  explicit connection(int fd) : socket_(fd) {
    const int on = 1;
    if (setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) failed("setsockopt");
  }

  void send_message() {
    if (send(socket_.get(), message_.data(), message_.size(), MSG_NOSIGNAL) != std::ssize(message_)) failed("send");
  }
  void receive_message() {
    for (std::size_t done = 0; done < message_.size();) {
      const ssize_t count = recv(socket_.get(), message_.data() + done, message_.size() - done, MSG_DONTWAIT);
      if (count > 0) done += static_cast<std::size_t>(count);
      if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) failed("recv");
    }
  }

 private:
  tcp_socket socket_;
  std::array<char, 8> message_{};
};

int new_socket() { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }

sample measure(const job_context& job) {
  const auto batches = job.scaled(21, 3);
  const auto round_trips = job.scaled<std::uint64_t>(4000, 100);
  const tcp_socket listener(new_socket());
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const address = reinterpret_cast<sockaddr*>(&place);
  socklen_t bytes = sizeof place;
  if (bind(listener.get(), address, bytes) != 0 || listen(listener.get(), 1) != 0) failed("listen");
  if (getsockname(listener.get(), address, &bytes) != 0) failed("getsockname");

  sample result;
  two_processes([&](int side) {
    if (side == 1) {
      const int to_first = new_socket();
      if (connect(to_first, address, bytes) != 0) failed("connect");
      connection own(to_first);
      for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(batches) * round_trips; ++i) {
        own.receive_message();
        own.send_message();
      }
      return;
    }
    connection own(accept(listener.get(), nullptr, nullptr));
    result["one_way_ns"] = median_of(batches, [&] {
      const auto begin_ns = steady_now_ns();
      for (std::uint64_t i = 0; i < round_trips; ++i) {
        own.send_message();
        own.receive_message();
      }
      return static_cast<double>(steady_now_ns() - begin_ns) / static_cast<double>(2 * round_trips);
    });
  });
  return result;
}

}  // namespace

const raw_limit tcp_ping_pong{"tcp_ping_pong", measure};

}  // namespace amity::bench
