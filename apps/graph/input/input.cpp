#include "apps/graph/input/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"

extern char** environ;

namespace amity::apps::graph {

void fail(std::string_view where, std::string_view reason, std::string_view remedy) {
  throw error(where, no_rank, reason, remedy);
}

input::input(const std::filesystem::path& file, progress& watcher)
    : name_(file.filename().string()), watcher_(&watcher) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(file.string(), std::strerror(errno), "check the name and the permissions of the file");
  struct stat about {};
  ::fstat(descriptor, &about);
  if (S_ISDIR(about.st_mode)) {
    ::close(descriptor);
    fail(file.string(), "this is a directory", "name a file in it");
  }
  if (S_ISREG(about.st_mode)) file_bytes_ = static_cast<std::uint64_t>(about.st_size);
  open(descriptor);
}

input::input(const std::vector<std::string>& command, std::string name, progress& watcher)
    : name_(std::move(name)), watcher_(&watcher) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail(name_, std::strerror(errno), "close some files");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int failed = ::posix_spawn(&child_, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (failed != 0) {
    ::close(ends[0]);
    child_ = -1;
    fail(name_, fmt::format("cannot run {}: {}", command[0], std::strerror(failed)), "install the package that has it");
  }
  open(ends[0]);
}

input::~input() {
  if (stream_ != nullptr) ::gzclose(stream_);
  if (child_ > 0) ::waitpid(child_, nullptr, 0);  // its pipe is closed: it ends
}

void input::open(int descriptor) {
  stream_ = ::gzdopen(descriptor, "rb");
  AMITY_ASSERT(stream_ != nullptr, descriptor);
  ::gzbuffer(stream_, 1 << 18);
  block_.resize(block_bytes);
}

/// Reads a block, and finds out why if it is a short one.
std::size_t input::fill() {
  const int got = ::gzread(stream_, block_.data(), block_bytes);
  if (got == static_cast<int>(block_bytes)) return block_bytes;
  int code = Z_OK;
  const char* reason = ::gzerror(stream_, &code);
  if (got < 0 || code == Z_BUF_ERROR) {
    fail(fmt::format("{}: byte {}", name_, position()),
         code == Z_BUF_ERROR ? "the gzip stream ends before its end mark"
         : code == Z_ERRNO   ? std::strerror(errno)
                             : fmt::format("the gzip stream is damaged ({})", reason),
         "fetch or write the file again");
  }
  if (got == 0) finish_command();
  return static_cast<std::size_t>(got);
}

std::uint64_t input::position() const {
  const auto offset = ::gzoffset(stream_);
  return offset < 0 ? bytes_returned_ : static_cast<std::uint64_t>(offset);  // a pipe has none
}

void input::finish_command() {
  if (child_ <= 0) return;
  int status = 0;
  ::waitpid(std::exchange(child_, -1), &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fail(name_, fmt::format("the command that unpacks it failed with wait status {}", status), "run apt-get update");
  }
}

std::span<const char> input::peek() {
  if (peeked_bytes_ == 0) peeked_bytes_ = fill();
  return std::span(block_).first(peeked_bytes_);
}

std::span<const char> input::next_block() {
  const std::size_t bytes = peeked_bytes_ > 0 ? std::exchange(peeked_bytes_, 0) : fill();
  bytes_returned_ += bytes;
  watcher_->advance_by(position() - std::exchange(bytes_told_, position()));
  return std::span(block_).first(bytes);
}

bool line_reader::next(std::string_view& line) {
  joined_.clear();
  ++line_number_;
  while (true) {
    const std::string_view rest(rest_.data(), rest_.size());
    const std::size_t end = rest.find('\n');
    if (end != std::string_view::npos) {
      rest_ = rest_.subspan(end + 1);
      line = joined_.empty() ? rest.substr(0, end) : std::string_view(joined_.append(rest, 0, end));
      break;
    }
    joined_ += rest;
    if (joined_.size() > line_bytes_max) {
      fail(fmt::format("the line is longer than {} bytes", line_bytes_max), "is this a text file? see --format");
    }
    rest_ = from_.next_block();
    if (rest_.empty()) {
      line = joined_;
      if (!line.empty()) break;
      --line_number_;
      return false;
    }
  }
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

std::string line_reader::where() const { return fmt::format("{}:{}", from_.name(), line_number_); }

void line_reader::fail(std::string_view reason, std::string_view remedy) const { graph::fail(where(), reason, remedy); }

}  // namespace amity::apps::graph
