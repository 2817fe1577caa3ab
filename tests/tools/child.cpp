#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include <gtest/gtest.h>

namespace amity::tests {
namespace {

using namespace std::chrono_literals;

constexpr auto time_limit = 60s;

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

std::array<file_descriptor, 2> make_pipe() {
  int ends[2];
  require(::pipe2(ends, O_CLOEXEC) == 0, "pipe");
  return {file_descriptor(ends[0]), file_descriptor(ends[1])};
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (auto& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> clean_environment(const std::vector<std::string>& additions) {
  std::vector<std::string> result = additions;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("AMITY_")) result.emplace_back(*variable);
  }
  return result;
}

}  // namespace

child::child(std::vector<std::string> command, const child_options& options)
    : terminal_(options.terminal), deadline_(std::chrono::steady_clock::now() + time_limit) {
  auto environment = clean_environment(options.environment);
  const auto arguments = pointers_to(command);
  const auto variables = pointers_to(environment);
  if (terminal_) {
    int master = -1;
    pid_ = ::forkpty(&master, nullptr, nullptr, nullptr);
    require(pid_ >= 0, "forkpty");
    if (pid_ == 0) {
      ::execvpe(arguments.front(), arguments.data(), variables.data());
      ::_exit(127);
    }
    output_ = file_descriptor(master);
    input_ = file_descriptor(::fcntl(master, F_DUPFD_CLOEXEC, 0));
    return;
  }
  auto [input_from, input_to] = make_pipe();
  auto [output_from, output_to] = make_pipe();
  auto [errors_from, errors_to] = make_pipe();
  pid_ = ::fork();
  require(pid_ >= 0, "fork");
  if (pid_ == 0) {
    ::dup2(input_from.get(), STDIN_FILENO);
    ::dup2(output_to.get(), STDOUT_FILENO);
    ::dup2(errors_to.get(), STDERR_FILENO);
    ::execvpe(arguments.front(), arguments.data(), variables.data());
    ::_exit(127);
  }
  input_ = std::move(input_to);
  output_ = std::move(output_from);
  errors_ = std::move(errors_from);
}

child::~child() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void child::type(const std::string& text) {
  require(::write(input_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()), "write");
}

void child::close_input() { input_.reset(); }

void child::signal(int number) const { require(::kill(pid_, number) == 0, "kill"); }

/// Reads what there is, waiting for something if there is nothing; false when all output has been closed.
bool child::read_more() {
  std::array<pollfd, 2> entries{{{output_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}}};
  if (!output_ && !errors_) return false;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now());
  if (::poll(entries.data(), entries.size(), std::max(0, static_cast<int>(left.count()))) <= 0) {
    ADD_FAILURE() << "still running after the time limit; output: " << outcome_.output
                  << "; errors: " << outcome_.errors;
    ::kill(pid_, SIGKILL);
    return false;
  }
  const auto read_from = [](file_descriptor& from, short ready, std::string& text) {
    if (ready == 0) return;
    std::array<char, 16384> buffer;
    const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
    if (count > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    } else {
      from.reset();
    }
  };
  read_from(output_, entries[0].revents, outcome_.output);
  read_from(errors_, entries[1].revents, outcome_.errors);
  return true;
}

std::vector<std::string> child::wait_for_lines(std::size_t count) {
  const auto lines_now = [&] { return static_cast<std::size_t>(std::ranges::count(outcome_.output, '\n')); };
  while (lines_now() < count && read_more()) {
  }
  std::vector<std::string> lines;
  std::string_view rest = outcome_.output;
  while (lines.size() < count && rest.find('\n') != std::string_view::npos) {
    auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);  // a terminal ends lines so
    lines.emplace_back(line);
  }
  EXPECT_EQ(lines.size(), count) << "output: " << outcome_.output << "; errors: " << outcome_.errors;
  return lines;
}

const std::string& child::wait_for_errors(const std::string& part) {
  while (!contains(outcome_.errors, part) && read_more()) {
  }
  EXPECT_PRED2(contains, outcome_.errors, part);
  return outcome_.errors;
}

void child::wait_until_stopped() const {
  siginfo_t info{};
  require(::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT) == 0, "waitid");
  EXPECT_EQ(info.si_code, CLD_STOPPED);
}

outcome child::finish() {
  if (!terminal_) close_input();
  while (read_more()) {
  }
  int status = 0;
  rusage used{};
  require(::wait4(pid_, &status, 0, &used) == pid_, "wait4");
  pid_ = 0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  outcome_.status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
  outcome_.cpu_seconds = seconds(used.ru_utime) + seconds(used.ru_stime);
  outcome_.memory_bytes_max = static_cast<std::size_t>(used.ru_maxrss) * 1024;
  return outcome_;
}

std::vector<std::string> amity_command(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), AMITY_COMMAND);
  return arguments;
}

std::vector<std::string> run_ranks(int ranks, std::vector<std::string> what) {
  auto command = amity_command({"run", "-n", std::to_string(ranks), RANK_PROGRAM});
  command.insert(command.end(), what.begin(), what.end());
  return command;
}

process_watch::process_watch(pid_t process) : fd_(static_cast<int>(::syscall(SYS_pidfd_open, process, 0))) {
  require(static_cast<bool>(fd_), "pidfd_open");
}

bool process_watch::ends() const {
  pollfd entry{fd_.get(), POLLIN, 0};
  return ::poll(&entry, 1, static_cast<int>(std::chrono::milliseconds(time_limit).count())) == 1;
}

std::vector<pid_t> processes_in(const std::vector<std::string>& lines) {
  std::vector<pid_t> processes;
  for (const auto& line : lines) processes.push_back(std::stoi(line.substr(line.rfind(' ') + 1)));
  return processes;
}

watches::watches(const std::vector<std::string>& lines) {
  for (const pid_t process : processes_in(lines)) watches_.emplace_back(process);
}

bool watches::all_end() const {
  return std::ranges::all_of(watches_, [](const process_watch& each) { return each.ends(); });
}

void PrintTo(const fabric_job& what, std::ostream* out) { *out << what.ranks << " ranks on " << what.fabric; }

std::string job_name(const ::testing::TestParamInfo<fabric_job>& info) {
  return info.param.fabric + "_" + std::to_string(info.param.ranks);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void expect_failure(const outcome& ended, const std::string& problem, int status) {
  EXPECT_EQ(ended.status, status) << problem;
  EXPECT_PRED2(contains, ended.errors, problem);
}

}  // namespace amity::tests
