#pragma once

/// Hands a descriptor to other processes of the node, where they cannot open it through /proc.

#include <sys/types.h>

#include <array>
#include <functional>
#include <vector>

#include "amity/base/file_descriptor.hpp"

namespace amity::fabric::shm {

/// Abstract address of a socket: the five digits that the system gives.
using socket_name = std::array<char, 5>;

/// The process that hands out the descriptor. Other processes of the host can connect, too; they get nothing.
class descriptor_server {
 public:
  /// Opens a socket. Throws `error`.
  descriptor_server();

  socket_name name() const noexcept { return name_; }

  /// Sends `fd` once to each of these processes, of this user. `check` is called repeatedly, and throws if waiting is
  /// useless. Throws `error` if some of the processes do not ask within `seconds_max`.
  void serve(int fd, std::vector<pid_t> clients, const std::function<void()>& check) const;

  static constexpr int seconds_max = 60;

 private:
  file_descriptor socket_;
  socket_name name_{};
};

/// Returns the descriptor that the process `server` hands out under that name. Waits for the server for at most
/// `descriptor_server::seconds_max`, and calls `check` as `serve` does. Empty, with `errno`, if there is no descriptor.
file_descriptor receive_descriptor(const socket_name& name, pid_t server, const std::function<void()>& check);

}  // namespace amity::fabric::shm
