#include "apps/graph/input/byte_source.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace amity::apps::graph {

/// Returns 0 at the end.
std::size_t byte_source::read_some(std::span<char> into) {
  if (auto* const memory = std::get_if<std::span<const char>>(&from_)) {
    const auto bytes = memory->first(std::min(memory->size(), into.size()));
    std::ranges::copy(bytes, into.begin());
    *memory = memory->subspan(bytes.size());
    return bytes.size();
  }
  const int descriptor = std::get<owned_descriptor>(from_).get();
  for (;;) {
    const ssize_t count = ::read(descriptor, into.data(), into.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EAGAIN) {  // another process has made the pipe or terminal non-blocking
      pollfd readable{.fd = descriptor, .events = POLLIN, .revents = 0};
      ::poll(&readable, 1, -1);
    } else if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category());
    }
  }
}

std::size_t byte_source::read(std::span<char> into) {
  std::size_t filled = 0;
  while (!ended_ && filled < into.size()) {
    const std::size_t count = read_some(into.subspan(filled));
    ended_ = count == 0;
    filled += count;
  }
  position_ += filled;
  return filled;
}

}  // namespace amity::apps::graph
