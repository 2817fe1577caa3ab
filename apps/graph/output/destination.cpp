#include "apps/graph/output/destination.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace amity::apps::graph {
namespace {

namespace fs = std::filesystem;

constexpr int links_max = 40;  // as the kernel follows

[[noreturn]] void fail_with(int code) { throw destination_error(std::strerror(code)); }

/// N of "/proc/self/fd/N" and of all names that lead there, such as /dev/stdout.
std::optional<int> descriptor_of(const fs::path& folder, const std::string& name) {
  std::error_code absent;
  if (folder != fs::canonical("/proc/self/fd", absent) || absent) return {};
  int number = -1;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failed != std::errc{} || end != name.data() + name.size()) return {};
  return number;
}

std::optional<file_identity> identity_of(const struct stat& about) {
  if (S_ISCHR(about.st_mode) || S_ISSOCK(about.st_mode)) return {};
  return file_identity{about.st_dev, about.st_ino, {}};
}

destination of_descriptor(int number) {
  const int flags = ::fcntl(number, F_GETFL);
  if (flags < 0) fail_with(errno);
  if ((flags & O_ACCMODE) == O_RDONLY) fail_with(EBADF);
  return {.what = destination::kind::descriptor, .descriptor = number, .path = {}};
}

}  // namespace

std::optional<file_identity> destination::identity() const {
  struct stat about {};
  if (what == kind::descriptor) {
    if (::fstat(descriptor, &about) != 0) return {};
    return identity_of(about);
  }
  if (::stat(path.c_str(), &about) == 0) return identity_of(about);
  if (::stat(path.parent_path().c_str(), &about) != 0) return {};
  return file_identity{about.st_dev, about.st_ino, path.filename().string()};
}

destination find_destination(const std::string& name) {
  if (name == standard_output) return {.what = destination::kind::descriptor, .descriptor = STDOUT_FILENO, .path = {}};
  std::error_code failed;
  fs::path path = fs::absolute(name, failed);
  if (name.empty() || failed) fail_with(ENOENT);
  for (int links = 0; links <= links_max; ++links) {
    if (!path.has_filename()) {  // "folder/"
      std::error_code unknown;
      fail_with(fs::is_directory(path, unknown) ? EISDIR : ENOENT);
    }
    const fs::path folder = fs::canonical(path.parent_path(), failed);
    if (failed) fail_with(failed.value());
    if (const auto number = descriptor_of(folder, path.filename().string())) return of_descriptor(*number);
    path = folder / path.filename();
    struct stat about {};
    if (::lstat(path.c_str(), &about) != 0) {
      if (errno != ENOENT) fail_with(errno);
      if (links > 0) throw destination_error("the link leads to " + path.string() + ", which does not exist");
      return {.what = destination::kind::file, .path = path};
    }
    if (S_ISDIR(about.st_mode)) fail_with(EISDIR);
    if (S_ISREG(about.st_mode)) return {.what = destination::kind::file, .path = path};
    if (!S_ISLNK(about.st_mode)) return {.what = destination::kind::direct, .path = path};
    const fs::path target = fs::read_symlink(path, failed);
    if (failed) fail_with(failed.value());
    path = folder / target;
  }
  fail_with(ELOOP);
}

bool names_standard_output(const std::string& name) try {
  return find_destination(name).descriptor == STDOUT_FILENO;
} catch (const destination_error&) {
  return false;
}

void check_permissions(const destination& to) {
  if (to.what == destination::kind::descriptor) return;
  if (::access(to.path.c_str(), W_OK) != 0 && errno != ENOENT) fail_with(errno);
  if (to.what == destination::kind::direct) return;
  const fs::path folder = to.path.parent_path();
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    throw destination_error("cannot create a temporary file in " + folder.string() + ": " + std::strerror(errno));
  }
}

std::optional<file_identity> identity_of_input(const fs::path& name) {
  struct stat about {};
  const bool there = name == "-" ? ::fstat(STDIN_FILENO, &about) == 0 : ::stat(name.c_str(), &about) == 0;
  if (!there) return {};
  return identity_of(about);
}

}  // namespace amity::apps::graph
