#include "amity/base/log.hpp"

#include <unistd.h>

#include <string>

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

}  // namespace amity
