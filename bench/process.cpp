#include "bench/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "amity/base/clock.hpp"

namespace amity::bench {
namespace {

std::string as_typed(const command& what) {
  std::string line;
  for (const auto& setting : what.environment) line += setting + ' ';
  for (const auto& word : what.words) line += word + ' ';
  line.pop_back();
  return line;
}

/// `errors` is -1 if standard error passes through.
[[noreturn]] void become(const command& what, int output, int errors) {
  // A group of its own, so that a time-out reaches all its processes; the kernel ends it should this process die.
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const int input = open("/dev/null", O_RDONLY);
  if (input < 0 || dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0) _exit(126);
  if (errors >= 0 && dup2(errors, STDERR_FILENO) < 0) _exit(126);
  for (const auto& setting : what.environment) putenv(const_cast<char*>(setting.c_str()));
  std::vector<char*> words;
  for (const auto& word : what.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  _exit(127);
}

std::uint64_t after_s(double seconds) { return steady_now_ns() + static_cast<std::uint64_t>(seconds * 1e9); }

bool ends_with_sample(std::string_view text) {
  if (!text.ends_with('\n')) return false;
  text.remove_suffix(1);
  return text.substr(text.rfind('\n') + 1).starts_with('{');
}

/// Reads until the other end closes; false if that takes past the deadline, or past `end_seconds_max` after a sample.
bool read_all(int from, std::uint64_t latest_ns, double end_seconds_max, std::string& text) {
  std::array<char, 4096> buffer;
  std::uint64_t deadline_ns = latest_ns;
  for (;;) {
    const auto now = steady_now_ns();
    if (now >= deadline_ns) return false;
    pollfd ready{from, POLLIN, 0};
    const int wait_ms = static_cast<int>(std::min<std::uint64_t>((deadline_ns - now) / 1'000'000 + 1, 60'000));
    if (poll(&ready, 1, wait_ms) <= 0) continue;
    const auto bytes = read(from, buffer.data(), buffer.size());
    if (bytes == 0) return true;
    if (bytes > 0) text.append(buffer.data(), static_cast<std::size_t>(bytes));
    if (end_seconds_max > 0)
      deadline_ns = ends_with_sample(text) ? std::min(latest_ns, after_s(end_seconds_max)) : latest_ns;
  }
}

/// Returns the content of a file from its beginning.
std::string content_of(int file) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const auto bytes = pread(file, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (bytes <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
}

std::string outcome(int wait_status) {
  if (WIFSIGNALED(wait_status)) return "was ended by signal " + std::to_string(WTERMSIG(wait_status));
  return "returned " + std::to_string(WEXITSTATUS(wait_status));
}

}  // namespace

std::string run_command(const command& what, double seconds_max, std::string* errors) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> error_file(errors == nullptr ? nullptr : std::tmpfile(),
                                                                   &std::fclose);
  if (errors != nullptr && !error_file) throw std::system_error(errno, std::generic_category(), "tmpfile");
  const int error_descriptor = error_file ? fileno(error_file.get()) : -1;
  if (error_file) fcntl(error_descriptor, F_SETFD, FD_CLOEXEC);
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) become(what, ends[1], error_descriptor);
  setpgid(child, child);  // whichever of both comes first
  close(ends[1]);

  std::string output;
  const bool has_ended = read_all(ends[0], after_s(seconds_max), what.end_seconds_max, output);
  if (!has_ended) kill(-child, SIGKILL);
  close(ends[0]);
  int wait_status = 0;
  while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR) {
  }
  if (errors != nullptr) *errors = content_of(error_descriptor);
  const bool has_sample = what.end_seconds_max > 0 && ends_with_sample(output);
  if (!has_ended && !has_sample) {
    throw std::runtime_error("'" + as_typed(what) + "' took more than " + std::to_string(seconds_max) + " s");
  }
  const bool was_killed = !has_ended && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;
  if (wait_status != 0 && !was_killed) throw std::runtime_error("'" + as_typed(what) + "' " + outcome(wait_status));
  return output;
}

}  // namespace amity::bench
