#include "apps/graph/output/temporary_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>
#include <utility>

#include "amity/base/clock.hpp"

extern char** environ;

namespace amity::apps::graph {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_with(int code) { throw std::system_error(code, std::generic_category()); }

/// A name that no file has.
fs::path unused_name(const fs::path& folder) {
  constexpr int attempts_max = 1000;
  const std::uint64_t begin = steady_now_ns();
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    const fs::path path =
        folder / fmt::format(".amity-{:x}-{:x}", ::getpid(), begin + static_cast<std::uint64_t>(attempt));
    struct stat about {};
    if (::lstat(path.c_str(), &about) != 0) return path;
  }
  fail_with(EEXIST);
}

/// Copies mode and owner of the existing file. Only root can give a file to another user, and some file systems have no
/// modes.
void take_attributes(int file, const fs::path& target) {
  struct stat about {};
  if (::stat(target.c_str(), &about) != 0) return;
  if (::fchown(file, about.st_uid, about.st_gid) != 0) {
    [[maybe_unused]] const int group = ::fchown(file, static_cast<uid_t>(-1), about.st_gid);
  }
  if (::fchmod(file, about.st_mode & 07777) != 0 && errno != EPERM && errno != EOPNOTSUPP) fail_with(errno);
}

}  // namespace

file_remover::file_remover(const fs::path& file) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const owned_descriptor read_end(ends[0]);
  alive_ = owned_descriptor(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, read_end.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  // It has its own session, because a signal to the process group of this process must not end it.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::string shell = "sh", option = "-c", name = file.string();
  std::string script = "trap '' HUP INT QUIT TERM; read -r end || rm -f -- \"$0\"";
  std::array<char*, 5> arguments{shell.data(), option.data(), script.data(), name.data(), nullptr};
  if (::posix_spawn(&process_, "/bin/sh", &actions, &attributes, arguments.data(), environ) != 0) process_ = -1;
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
}

file_remover::~file_remover() {
  if (process_ < 0) return;
  ssize_t written = 0;
  do written = ::write(alive_.get(), "\n", 1);
  while (written < 0 && errno == EINTR);
  alive_.reset();
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// The remover comes first: it must know the name before the file exists.
temporary_file::temporary_file(fs::path target)
    : target_(std::move(target)), path_(unused_name(target_.parent_path())), remover_(path_) {
  file_ = owned_descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file_) fail_with(errno);
  try {
    take_attributes(file_.get(), target_);
  } catch (...) {
    ::unlink(path_.c_str());
    throw;
  }
}

temporary_file::~temporary_file() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

void temporary_file::replace_target() {
  if (::fsync(file_.get()) != 0) fail_with(errno);
  if (::rename(path_.c_str(), target_.c_str()) != 0) fail_with(errno);
  path_.clear();
}

}  // namespace amity::apps::graph
