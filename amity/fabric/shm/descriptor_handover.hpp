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

  /// Sends `fd` once to each of these processes, of this user. `check` is called again and again, and throws if waiting
  /// is useless. Throws `error` if some of the processes do not ask within `seconds_max`.
  void serve(int fd, std::vector<pid_t> clients, const std::function<void()>& check) const;

  static constexpr int seconds_max = 60;

 private:
  file_descriptor socket_;
  socket_name name_{};
};

/// Returns the descriptor that the process `server` hands out under that name; empty, with `errno`, if it cannot be
/// had. Waits for the server.
file_descriptor receive_descriptor(const socket_name& name, pid_t server);

}  // namespace amity::fabric::shm
