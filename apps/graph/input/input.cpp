#include "apps/graph/input/input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"

extern char** environ;

namespace amity::apps::graph {

void fail(std::string_view where, std::string_view reason, std::string_view remedy, std::uint64_t place) {
  throw input_error(where, reason, remedy, place);
}

namespace {

owned_descriptor open_file(const std::filesystem::path& file) {
  const bool is_standard_input = file == standard_input;
  const int descriptor = is_standard_input ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                                           : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    fail(is_standard_input ? "standard input" : file.string(), std::strerror(errno),
         is_standard_input ? "redirect standard input to a file or a pipe"
                           : "check the name and the permissions of the file");
  }
  return owned_descriptor(descriptor);
}

}  // namespace

input::input(const std::filesystem::path& file, progress& watcher, const turns& sharing, std::uint64_t first_block,
             std::uint64_t first_place)
    : name_(file == standard_input ? "standard input" : file.filename().string()),
      watcher_(&watcher),
      sharing_(sharing),
      next_block_(first_block),
      first_place_(first_place),
      buffer_(buffer_bytes) {
  AMITY_ASSERT(buffer_bytes % sharing.block_bytes == 0 && sharing.block_bytes % 48 == 0, sharing.block_bytes);
  owned_descriptor opened = open_file(file);
  struct stat about {};
  ::fstat(opened.get(), &about);
  if (S_ISDIR(about.st_mode)) {
    fail(file == standard_input ? name_ : file.string(), "this is a directory", "name a file in it");
  }
  if (S_ISREG(about.st_mode)) file_bytes_ = static_cast<std::uint64_t>(about.st_size);
  stream_.emplace(byte_source(std::move(opened)));
}

input::input(std::span<const char> bytes, std::string name, progress& watcher, const turns& sharing)
    : name_(std::move(name)), watcher_(&watcher), file_bytes_(bytes.size()), sharing_(sharing), buffer_(buffer_bytes) {
  stream_.emplace(byte_source(bytes));
}

input::input(const std::vector<std::string>& command, std::string name, progress& watcher)
    : name_(std::move(name)), watcher_(&watcher), buffer_(buffer_bytes) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail(name_, std::strerror(errno), "close some files");
  owned_descriptor printed(ends[0]);
  const owned_descriptor to_pipe(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to_pipe.get(), STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const int failed = ::posix_spawn(&child_, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    child_ = -1;
    fail(name_, fmt::format("cannot run {}: {}", command[0], std::strerror(failed)), "install the package that has it");
  }
  stream_.emplace(byte_source(std::move(printed)));
}

input::~input() {
  stream_.reset();
  if (child_ > 0) ::waitpid(child_, nullptr, 0);  // its pipe is closed: it ends
}

/// Fills the buffer; less only at the end of the input.
std::size_t input::fill() {
  constexpr std::uint64_t behind_all_lines = ~std::uint64_t{0} - 1;  // those in front are complete
  const auto fail_here = [&](std::string_view reason, std::string_view remedy) {
    fail(fmt::format("{}: byte {}", name_, stream_->position()), reason, remedy, behind_all_lines);
  };
  std::size_t got = 0;
  try {
    got = stream_->read(buffer_);
  } catch (const unpack_error& wrong) {
    fail_here(wrong.what(), "fetch or write the file again");
  } catch (const std::system_error& wrong) {
    fail_here(std::strerror(wrong.code().value()), "check the file and the file system");
  }
  if (got == 0) finish_command();
  return got;
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
  if (rest_.empty()) rest_ = std::span(buffer_).first(fill());
  return rest_;
}

std::span<const char> input::next_block() {
  peek();
  const auto block = rest_.first(std::min(rest_.size(), sharing_.block_bytes));
  rest_ = rest_.subspan(block.size());
  if (!block.empty()) ++next_block_;
  bytes_returned_ += block.size();
  if (rest_.empty()) watcher_->advance_by(stream_->position() - std::exchange(bytes_told_, stream_->position()));
  return block;
}

bool line_reader::load() {
  const auto block = from_.next_block();
  rest_ = {block.data(), block.size()};
  if (line_number_ == 0) rest_ = without_byte_order_mark(rest_);
  return !rest_.empty();
}

/// The next line, whoever's it is.
bool line_reader::take(std::string_view& line) {
  if (rest_.empty() && !load()) return false;
  ++line_number_;
  block_ = from_.block();
  mine_ = from_.mine();
  percent_lines_ += rest_[0] == '%';
  joined_.clear();
  std::size_t end = 0;
  while ((end = rest_.find('\n')) == std::string_view::npos) {
    joined_ += rest_;
    if (joined_.size() > line_bytes_allowed_) {
      fail(fmt::format("the line is longer than {} bytes", line_bytes_allowed_), "is this a text file? see --format");
    }
    if (!load()) {
      line = joined_;
      return true;
    }
  }
  line = joined_.empty() ? rest_.substr(0, end) : std::string_view(joined_.append(rest_, 0, end));
  rest_.remove_prefix(end + 1);
  return true;
}

/// Goes to the last line that begins in this block: a pass over the bytes that does nothing but count.
void line_reader::skip_whole_lines() {
  const std::size_t last = rest_.rfind('\n');
  if (last == std::string_view::npos) return;
  std::uint64_t lines = 1;
  std::uint64_t percents = rest_[0] == '%';
  for (std::size_t i = 0; i < last; ++i) {
    const bool ends = rest_[i] == '\n';
    lines += ends;
    percents += ends & (rest_[i + 1] == '%');
  }
  line_number_ += lines;
  percent_lines_ += percents;
  rest_.remove_prefix(last + 1);
}

bool line_reader::next(std::string_view& line) {
  do {
    if (shared_ && !rest_.empty() && !from_.mine()) skip_whole_lines();
    if (!take(line)) return false;
  } while (shared_ && !mine_);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

std::string line_reader::where() const { return fmt::format("{}:{}", from_.name(), line_number_); }

input_error line_reader::problem(std::string_view reason, std::string_view remedy) const {
  return {where(), reason, remedy, from_.place(line_number_)};
}

void line_reader::fail(std::string_view reason, std::string_view remedy) const { throw problem(reason, remedy); }

}  // namespace amity::apps::graph
