#include "amity/world/launch.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/base/program_file.hpp"
#include "amity/base/standard_descriptors.hpp"
#include "amity/core/team.hpp"
#include "amity/world/launch/job.hpp"

namespace amity {
namespace {

std::string remedy_for(const std::string& program, int reason) {
  const bool searched = program.find('/') == std::string::npos;
  if (reason == EACCES) {
    std::error_code unknown;
    return std::filesystem::is_directory(program, unknown) ? "name a program; this is a directory"
                                                           : "make it executable: chmod +x";
  }
  if (reason != ENOENT) return "check that it is a program for this machine";
  if (searched && ::access(program.c_str(), X_OK) == 0) return fmt::format("did you mean ./{}?", program);
  if (searched) return "check the name; it is in no directory of PATH";
  if (::access(program.c_str(), F_OK) == 0) return "it is there, so check the interpreter in its first line";
  return "check the path";
}

int report(const std::string& program, int reason) {
  log_warning(no_rank, fmt::format("run: cannot start '{}': {}; {}", program, std::strerror(reason),
                                   remedy_for(program, reason)));
  return reason == ENOENT ? 127 : 126;
}

}  // namespace

int launch(const launch_options& options) {
  if (options.command.empty()) throw error("launch", no_rank, "there is no program to start", "name one");
  open_missing_standard_descriptors();
  try {
    detail::job started(options);
    return started.run();
  } catch (const detail::program_not_started& failed) {
    return report(options.program.empty() ? options.command.front() : options.program, failed.reason);
  }
}

namespace {

/// What this process executes. The name in argv may be relative to a directory that the program has left, or anything
/// else.
std::string own_program() {
  constexpr auto link = "/proc/self/exe";  // also leads to a program that has been deleted or replaced
  if (::access(link, X_OK) == 0) return link;
  const std::string found = program_file().string();
  if (!found.empty()) return found;
  throw error("launch", no_rank, "the file of this program is not found: /proc cannot be read",
              "mount /proc, or start the program by its absolute path or with `amity run -n N`");
}

}  // namespace

int self_launch(const settings& values, int argc, const char* const* argv) {
  launch_options options;
  options.ranks = static_cast<rank_t>(values.integer("AMITY_RANKS"));
  options.fabric = values.text("AMITY_FABRIC");
  options.threads = core::threads_per_rank(values);
  options.environment.push_back("AMITY_THREADS=" + std::to_string(values.integer("AMITY_THREADS")));
  options.command.assign(argv, argv + argc);
  options.program = own_program();
  return launch(options);
}

}  // namespace amity
