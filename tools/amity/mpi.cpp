// amity mpi: starts a program of MPI with amity's one-sided library.

#include <elf.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "amity/base/error.hpp"
#include "amity/base/program_file.hpp"
#include "amity/base/settings.hpp"
#include "amity/world/fabrics.hpp"
#include "commands.hpp"
#include "own_arguments.hpp"

namespace amity::tools {
namespace {

namespace fs = std::filesystem;

constexpr auto footer = R"(All arguments after PROGRAM are passed to it.

Examples:
  mpirun -n 4 amity mpi ./program           one-sided calls of the program are served by amity
  mpirun -n 4 amity mpi --show ./program    also print which library is taken, and why
  mpirun -n 4 amity mpi --mpi mpich python3 script.py
  AMITY_MPI=0 mpirun -n 4 amity mpi ./program   the MPI serves them itself

The program is not changed: the library is loaded before it (LD_PRELOAD).)";

constexpr auto mpi_options_with_value = std::to_array<std::string_view>({"--mpi"});

/// The system's error if it cannot start this file; 0 if it can.
int start_error(const fs::path& file) {
  std::error_code none;
  if (fs::is_directory(file, none)) return EISDIR;
  return ::access(file.c_str(), X_OK) == 0 ? 0 : errno;
}

/// The file that a command names, as a shell finds it.
fs::path find_program(const std::string& command) {
  if (command.find('/') != std::string::npos) {
    const int failed = start_error(command);
    if (failed == 0) return command;
    throw error("mpi", no_rank,
                fmt::format("program '{}' {}: {}", command, failed == ENOENT ? "not found" : "cannot be started",
                            std::strerror(failed)),
                "check the path of the program, and its permissions");
  }
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  for (bool has_ended = path == nullptr; !has_ended;) {  // an empty directory is the current one
    const auto end = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, end)) / command;
    if (start_error(candidate) == 0) return candidate;
    has_ended = end == rest.size();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  throw error("mpi", no_rank, fmt::format("program '{}' not found in PATH", command), "pass the path of the program");
}

/// The interpreter of a script; the program itself if it is none.
fs::path executed_file(fs::path program) {
  for (int depth = 0; depth < 4; ++depth) {
    std::ifstream file(program);
    std::string first;
    if (!std::getline(file, first) || !first.starts_with("#!")) return program;
    const auto begin = first.find_first_not_of(" \t", 2);
    if (begin == std::string::npos) return program;
    program = first.substr(begin, first.find_first_of(" \t", begin) - begin);
  }
  return program;
}

/// Whether the loader of shared libraries starts this file. Another one would run in place of being examined.
bool is_loaded_dynamically(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  Elf64_Ehdr header{};
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header)) return false;
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) return false;
  for (unsigned index = 0; index < header.e_phnum; ++index) {
    Elf64_Phdr segment{};
    in.seekg(static_cast<std::streamoff>(header.e_phoff + index * sizeof segment));
    if (!in.read(reinterpret_cast<char*>(&segment), sizeof segment)) return false;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

/// What the loader prints of the libraries of a file, with these loaded before: it does not start the program.
std::string loaded_libraries(const fs::path& file, const std::string& preloaded) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw error("mpi", no_rank, fmt::format("no pipe: {}", std::strerror(errno)), "close files, or raise their limit");
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(ends[1], STDERR_FILENO);
    ::setenv("LD_TRACE_LOADED_OBJECTS", "1", 1);
    preloaded.empty() ? ::unsetenv("LD_PRELOAD") : ::setenv("LD_PRELOAD", preloaded.c_str(), 1);
    ::execl(file.c_str(), file.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(ends[0], part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return text;
}

/// The MPI whose library is among these.
std::optional<mpi_choice> choice_by_libraries(const std::string& libraries) {
  const bool has_open_mpi = libraries.find("libmpi.so.40") != std::string::npos;
  const bool has_mpich =
      libraries.find("libmpich") != std::string::npos || libraries.find("libmpi.so.12") != std::string::npos;
  if (has_open_mpi && has_mpich) {
    throw error("mpi", no_rank, "the program is linked with Open MPI and MPICH", "link it with one MPI");
  }
  if (has_open_mpi) return mpi_choice{"openmpi", "the program needs libmpi.so.40"};
  if (has_mpich) return mpi_choice{"mpich", "the program needs the library of MPICH"};
  return std::nullopt;
}

mpi_choice choose(const std::string& wanted, const std::string& libraries) {
  if (!wanted.empty()) return {wanted, fmt::format("--mpi {}", wanted)};
  if (const auto found = choice_by_libraries(libraries)) return *found;
  if (const auto found = find_mpi(settings::from_environment())) return *found;
  throw error("mpi", no_rank, "neither the program nor its launcher shows which MPI it uses",
              "start it with the mpirun of its MPI, or pass --mpi openmpi or --mpi mpich");
}

/// The library of this installation or build.
fs::path find_library(const std::string& mpi) {
  const std::string name = fmt::format("libamity-mpi-{}.so", mpi);
  const fs::path here = program_file().parent_path();
  for (const char* const directory : {AMITY_LIBRARY_DIRECTORY, "../lib/amity"}) {
    std::error_code none;
    const fs::path found = fs::canonical(here / directory / name, none);
    if (!none) return found;
  }
  throw error("mpi", no_rank, fmt::format("{} is not installed in the installation of {}", name, here.string()),
              fmt::format("build amity where {} is installed (-DAMITY_MPI=ON)", mpi));
}

/// The first line of a text that contains a part, without blanks around it; empty if there is none.
std::string line_with(std::string_view text, std::string_view part) {
  const auto found = text.find(part);
  if (found == std::string_view::npos) return {};
  text = text.substr(0, text.find('\n', found));
  text.remove_prefix(text.rfind('\n', found) + 1);  // npos + 1: 0
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return std::string(text);
}

/// The loader ignores a library that it cannot load before the program, and reports that only in its output. It does
/// not start the program if a library that this one needs is missing.
void check_preload(const fs::path& file, const std::string& preload, const fs::path& library) {
  const std::string loaded = loaded_libraries(file, preload);
  std::string problem = fmt::format("the loader does not accept {}", library.string());
  std::string reason = line_with(loaded, "ERROR: ld.so");
  if (loaded.find(fmt::format("{} (0x", library.string())) != std::string::npos) {
    reason = line_with(loaded, "=> not found");
    if (reason.empty()) return;
    problem = fmt::format("the loader does not find a library that {} or {} needs", library.string(), file.string());
  }
  throw error("mpi", no_rank, reason.empty() ? problem : fmt::format("{} ({})", problem, reason),
              "check with `LD_PRELOAD=LIBRARY ldd PROGRAM` which of its libraries is missing");
}

/// Lets the loader load the library before this file, which may be a script. Returns the library, and why it is this
/// one.
std::string preload_library(const fs::path& file, const std::string& wanted) {
  const fs::path executed = executed_file(file);
  if (const int failed = start_error(executed); failed != 0) {
    throw error("mpi", no_rank,
                fmt::format("the interpreter {} of {} cannot be started: {}", executed.string(), file.string(),
                            std::strerror(failed)),
                "check the first line of the script");
  }
  if (!is_loaded_dynamically(executed)) {
    throw error("mpi", no_rank,
                fmt::format("no library can be loaded before {}, which is not a dynamic program for "
                            "this processor",
                            executed.string()),
                "link the program dynamically with its MPI, or set AMITY_MPI=0 for all processes");
  }
  const mpi_choice chosen = choose(wanted, loaded_libraries(executed, ""));
  const fs::path library = find_library(chosen.name);
  const char* const others = std::getenv("LD_PRELOAD");
  const std::string preload =
      others == nullptr || *others == '\0' ? library.string() : fmt::format("{}:{}", library.string(), others);
  check_preload(executed, preload, library);
  ::setenv("LD_PRELOAD", preload.c_str(), 1);
  return fmt::format("{} ({})", library.string(), chosen.reason);
}

}  // namespace

int mpi(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto rest = arguments.begin() + static_cast<std::ptrdiff_t>(own_arguments(arguments, mpi_options_with_value));
  std::string wanted, program;
  bool shows = false;
  CLI::App app("Starts a program of MPI whose one-sided calls amity serves.", "amity mpi");
  app.footer(footer);
  app.add_option("--mpi", wanted, "MPI of the program, if nothing shows it: openmpi or mpich")
      ->check(CLI::IsMember({"openmpi", "mpich"}))
      ->type_name("NAME");
  app.add_flag("--show", shows, "Print which library is loaded, and why");
  app.add_option("PROGRAM", program, "Program or script to start; searched in PATH if it contains no '/'")->required();
  try {
    app.parse(std::vector<std::string>(std::reverse_iterator(rest), arguments.rend()));
  } catch (const CLI::ParseError& stop) {
    return app.exit(stop) == 0 ? 0 : usage_error;
  }

  const fs::path file = find_program(program);
  // A library that is switched off is loaded if it can be: processes whose library is switched on agree with it.
  const bool is_switched_off = settings::from_environment().integer("AMITY_MPI") == 0;
  std::string loaded = "no library";
  try {
    loaded = preload_library(file, wanted);
  } catch (const error&) {
    if (!is_switched_off) throw;
  }
  if (shows) std::fprintf(stderr, "amity mpi: %s%s\n", loaded.c_str(), is_switched_off ? " (AMITY_MPI=0)" : "");

  std::vector<char*> line{program.data()};
  for (auto each = rest; each != arguments.end(); ++each) line.push_back(each->data());
  line.push_back(nullptr);
  ::execv(file.c_str(), line.data());
  throw error("mpi", no_rank, fmt::format("cannot start {}: {}", file.string(), std::strerror(errno)),
              "check the path and the permissions of the program");
}

}  // namespace amity::tools
