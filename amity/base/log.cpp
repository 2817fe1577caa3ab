#include "amity/base/log.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity {

void log_warning(rank_t rank, std::string_view text) noexcept try {
  const std::string line =
      rank == no_rank ? fmt::format("amity: {}\n", text) : fmt::format("amity: rank {}: {}\n", rank, text);
  // A short write to a terminal or pipe only cuts the message; there is nobody left to tell.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
} catch (...) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, "amity: out of memory\n", 21);
}

void drain_standard_error(std::chrono::milliseconds limit) noexcept {
  struct stat about {};
  if (::fstat(STDERR_FILENO, &about) != 0 || !S_ISFIFO(about.st_mode)) return;
  const auto end = std::chrono::steady_clock::now() + limit;
  int unread = 0;
  while (::ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace amity
