#include "amity/world/launch/output_target.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include <fmt/format.h>

namespace amity::detail {
namespace {

// A file takes as much as it is given; only a pipe makes other writers wait.
constexpr std::size_t file_piece_bytes = 64 * 1024;

}  // namespace

output_target::output_target(int fd) noexcept : inherited_(fd), piece_bytes_max_(PIPE_BUF) {
  struct stat kind {};
  if (::fstat(fd, &kind) != 0) return;
  is_socket_ = S_ISSOCK(kind.st_mode);
  const bool is_terminal = ::isatty(fd) != 0;
  if (S_ISFIFO(kind.st_mode) || is_terminal) {
    char path[32];
    *fmt::format_to_n(path, sizeof path - 1, "/proc/self/fd/{}", fd).out = '\0';
    own_ = file_descriptor(::open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    never_blocks_ = static_cast<bool>(own_);
  } else {
    never_blocks_ = true;
    if (!is_socket_) piece_bytes_max_ = file_piece_bytes;
  }
}

void output_target::take_turns_with(output_target& other) noexcept {
  struct stat mine {};
  struct stat theirs {};
  if (::fstat(inherited_, &mine) != 0 || ::fstat(other.inherited_, &theirs) != 0) return;
  if (mine.st_dev != theirs.st_dev || mine.st_ino != theirs.st_ino) return;
  other_ = &other;
  other.other_ = this;
}

ssize_t output_target::write(std::string_view lines) noexcept {
  auto end = lines.substr(0, piece_bytes_max_).rfind('\n');
  const std::string_view piece = lines.substr(0, end == std::string_view::npos ? piece_bytes_max_ : end + 1);
  const ssize_t count = is_socket_ ? ::send(inherited_, piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL)
                                   : ::write(fd(), piece.data(), piece.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  inside_line_ = count > 0 && piece[static_cast<std::size_t>(count) - 1] != '\n';
  return count;
}

}  // namespace amity::detail
