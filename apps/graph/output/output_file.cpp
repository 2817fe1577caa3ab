#include "apps/graph/output/output_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>
#include <utility>

#include "amity/base/error.hpp"
#include "apps/graph/output/destination.hpp"

namespace amity::apps::graph {
namespace {

constexpr auto remedy = "check for a full disk, a quota or a closed pipe, or name another file";

/// While it exists, a write to a pipe without a reader, or beyond the size limit of files, is an error of the call on
/// this thread, not a signal that ends the process without a message.
class write_signal_block {
 public:
  write_signal_block() {
    sigset_t pending{};
    ::sigpending(&pending);
    ::sigemptyset(&blocked_);
    ::sigemptyset(&ours_);
    for (const int signal : {SIGPIPE, SIGXFSZ}) {
      ::sigaddset(&blocked_, signal);
      if (::sigismember(&pending, signal) == 0) ::sigaddset(&ours_, signal);
    }
    ::pthread_sigmask(SIG_BLOCK, &blocked_, &before_);
  }
  write_signal_block(const write_signal_block&) = delete;
  write_signal_block& operator=(const write_signal_block&) = delete;
  ~write_signal_block() {
    const timespec at_once{};
    while (::sigtimedwait(&ours_, nullptr, &at_once) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t blocked_{};
  sigset_t ours_{};  ///< those that only these writes can have caused
  sigset_t before_{};
};

/// Returns 0, or errno.
int write_all(int descriptor, std::string_view text) {
  const write_signal_block block;
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {  // another process has made the pipe or terminal non-blocking
      pollfd writable{.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

output_file::output_file(const std::string& name) : name_(name == standard_output ? "standard output" : name) {
  try {
    const destination to = find_destination(name);
    check_permissions(to);
    descriptor_ = to.descriptor;
    if (to.what == destination::kind::file) replace(to.path);
    if (to.what != destination::kind::direct) return;
    opened_ = owned_descriptor(::open(to.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!opened_) fail(errno);
    descriptor_ = opened_.get();
  } catch (const destination_error& wrong) {
    throw error(name_, no_rank, wrong.what(), "name a file that can be written");
  }
}

void output_file::replace(const std::filesystem::path& target) {
  try {
    descriptor_ = replacement_.emplace(target).descriptor();
  } catch (const std::system_error& wrong) {
    throw destination_error("cannot create a temporary file in " + target.parent_path().string() + ": " +
                            std::strerror(wrong.code().value()));
  }
}

output_file::output_file(int descriptor, std::string name) : name_(std::move(name)), descriptor_(descriptor) {}

void output_file::fail(int code) const { throw error(name_, no_rank, std::strerror(code), remedy); }

void output_file::write(std::string_view text) {
  if (const int code = write_all(descriptor_, text); code != 0) fail(code);
}

void output_file::commit() {
  try {
    if (replacement_) replacement_->replace_target();
  } catch (const std::system_error& wrong) {
    fail(wrong.code().value());
  }
  // Some file systems report a failed write at a close only. Standard output stays open: a copy is closed.
  const int copy = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0 || ::close(copy) != 0) fail(errno);
}

void write_output_file(const std::string& name, std::string_view text) {
  output_file file(name);
  file.write(text);
  file.commit();
}

}  // namespace amity::apps::graph
