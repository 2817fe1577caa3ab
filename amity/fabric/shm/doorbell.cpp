#include "amity/fabric/shm/doorbell.hpp"

#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "amity/base/error.hpp"
#include "amity/base/remote_fence.hpp"

namespace amity::fabric::shm {
namespace {

constexpr std::size_t name_bytes = sizeof(door::socket_name);
constexpr auto address_bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_bytes);

}  // namespace

doorbell::doorbell(job_memory& job) : job_(job), has_barrier_(permit_remote_fences() && force_remote_fences()) {
  if (has_barrier_) job_.add_barrier_rank();
}

void doorbell::fence() {
  if (has_barrier_ && job_.all_have_barriers()) wakers_fence_.store(false, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in announce()
}

void doorbell::open_socket(door& own) {
  socket_ = file_descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socklen_t bytes = sizeof address;
  // Without an address the system chooses one.
  if (!socket_ || ::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)) != 0 ||
      ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0 || bytes != address_bytes) {
    throw error("shared memory", no_rank, std::string("cannot open a socket to be woken by: ") + std::strerror(errno),
                "raise the limit of open files (ulimit -n)");
  }
  std::memcpy(own.socket_name, address.sun_path + 1, name_bytes);
}

void doorbell::announce(door& own, sleep_mode mode) {
  // Release; pairs with the acquire in wake(): the socket's name lies beside it.
  own.sleeping.store(static_cast<std::uint32_t>(mode), std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the fence in fence()
  // Without a barrier in this rank, all wakers fence. A call that has worked before may be forbidden later.
  if (has_barrier_) is_heard_ = force_remote_fences();
}

void doorbell::empty_socket() const noexcept {
  // At most one datagram a sleep comes from a waker; strangers' are left for the next time.
  char nothing = 0;
  for (int i = 0; i < 4 && ::recv(socket_.get(), &nothing, sizeof nothing, 0) >= 0; ++i) {
  }
}

void doorbell::wake(door& target) const {
  const auto mode = static_cast<sleep_mode>(target.sleeping.exchange(0, std::memory_order_acquire));
  // Not FUTEX_PRIVATE_FLAG: the ranks may be processes.
  if (mode == sleep_mode::on_futex) ::syscall(SYS_futex, &target.sleeping, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  if (mode != sleep_mode::on_socket) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, target.socket_name, name_bytes);
  // Refused where the sleeper is gone, or is woken by so many already that it need not hear it once more.
  static_cast<void>(::sendto(socket_.get(), nullptr, 0, MSG_DONTWAIT | MSG_NOSIGNAL,
                             reinterpret_cast<const sockaddr*>(&address), address_bytes));
}

}  // namespace amity::fabric::shm
