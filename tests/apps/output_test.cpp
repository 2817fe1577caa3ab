// Outputs: what a name stands for, and files that are replaced as a whole or not at all.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "apps/graph/output/destination.hpp"
#include "apps/graph/output/output_file.hpp"
#include "scratch.hpp"

namespace amity::apps::graph::tests {
namespace {

namespace fs = std::filesystem;

std::ptrdiff_t files_in(const fs::path& folder) {
  return std::distance(fs::directory_iterator(folder), fs::directory_iterator());
}

unsigned mode_of(const fs::path& file) {
  struct stat about {};
  ::stat(file.c_str(), &about);
  return about.st_mode & 07777u;
}

std::string write_error(const std::string& name, const std::string& text = "text") {
  return error_of([&] { write_output_file(name, text); });
}

/// A pipe whose ends close with the test.
struct pipe_ends {
  pipe_ends() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    from = owned_descriptor(ends[0]);
    to = owned_descriptor(ends[1]);
  }
  std::string name() const { return "/dev/fd/" + std::to_string(to.get()); }
  owned_descriptor from, to;
};

TEST(output_file, replaces_content_and_keeps_mode) {
  scratch files;
  for (const unsigned mode : {0600u, 0664u, 0755u}) {
    const auto file = files.write("out", "old content that is longer");
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
    EXPECT_EQ(write_error(file), "no error");
    EXPECT_EQ(contents(file), "text");
    EXPECT_EQ(mode_of(file), mode);
  }
  const mode_t mask = ::umask(0027);
  EXPECT_EQ(write_error(files.folder() / "new"), "no error");
  ::umask(mask);
  EXPECT_EQ(mode_of(files.folder() / "new"), 0640u);
  EXPECT_EQ(files_in(files.folder()), 2);
}

TEST(output_file, uncommitted_output_leaves_nothing) {
  scratch files;
  const auto file = files.write("out", "old");
  {
    output_file replaced(file), created(files.folder() / "new");
    replaced.write("text");
    created.write("text");
    EXPECT_EQ(files_in(files.folder()), 3) << "two temporary files";
  }
  EXPECT_EQ(contents(file), "old");
  EXPECT_EQ(files_in(files.folder()), 1);
}

TEST(output_file, link_keeps_leading_to_target) {
  scratch files;
  const auto file = files.write("out", "old");
  const auto link = files.folder() / "link", second = files.folder() / "second", hard = files.folder() / "hard";
  fs::create_symlink("out", link);
  fs::create_symlink(link, second);
  fs::create_hard_link(file, hard);
  EXPECT_EQ(write_error(second), "no error");
  EXPECT_TRUE(fs::is_symlink(link) && fs::is_symlink(second));
  EXPECT_EQ(contents(file), "text");
  EXPECT_EQ(contents(hard), "old") << "the file is replaced, not overwritten";
}

TEST(output_file, devices_and_fifos_are_written_directly) {
  scratch files;
  EXPECT_EQ(write_error("/dev/null"), "no error");
  const auto fifo = files.folder() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const owned_descriptor reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK));
  EXPECT_EQ(write_error(fifo), "no error");
  std::array<char, 8> text{};
  EXPECT_EQ(::read(reader.get(), text.data(), text.size()), 4);
  EXPECT_TRUE(fs::is_fifo(fifo));
  EXPECT_EQ(files_in(files.folder()), 1);
}

TEST(output_file, descriptor_is_written_and_stays_open) {
  scratch files;
  pipe_ends ends;
  EXPECT_EQ(write_error(ends.name()), "no error");
  EXPECT_EQ(write_error(ends.name()), "no error");
  std::array<char, 16> text{};
  EXPECT_EQ(::read(ends.from.get(), text.data(), text.size()), 8);
  ends.from.reset();
  EXPECT_EQ(
      write_error(ends.name()),
      "amity: " + ends.name() + ": Broken pipe; check for a full disk, a quota or a closed pipe, or name another file");
  EXPECT_EQ(write_error(ends.name()).find("no error"), std::string::npos) << "no signal is left";
}

TEST(output_file, failed_write_names_file_and_reason) {
  scratch files;
  EXPECT_EQ(write_error("/dev/full").substr(0, 44), "amity: /dev/full: No space left on device; c");
  const auto file = files.write("out", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 1000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const std::string message = write_error(file, std::string(2000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(message.starts_with("amity: " + file.string() + ": File too large; ")) << message;
  EXPECT_EQ(contents(file), "old");
  EXPECT_EQ(files_in(files.folder()), 1);
}

TEST(output_file, unusable_names_fail) {
  scratch files;
  const auto& folder = files.folder();
  const auto dangling = folder / "dangling", loop = folder / "loop";
  fs::create_symlink("nothing", dangling);
  fs::create_symlink("loop", loop);
  EXPECT_EQ(write_error(dangling), "amity: " + dangling.string() + ": the link leads to " +
                                       (fs::canonical(folder) / "nothing").string() +
                                       ", which does not exist; name a file that can be written");
  for (const auto& [name, reason] :
       {std::pair(folder.string(), "Is a directory"), std::pair(folder.string() + "/", "Is a directory"),
        std::pair(folder.string() + "/..", "Is a directory"), std::pair(folder.string() + "/new/", "No such file or"),
        std::pair(folder.string() + "/none/x", "No such file or"), std::pair(loop.string(), "Too many levels of"),
        std::pair(folder.string() + "/" + std::string(300, 'x'), "File name too long"),
        std::pair(std::string("/dev/fd/999"), "Bad file descriptor"),
        std::pair(std::string("/proc/none"), "cannot create a temporary file in /proc: ")}) {
    EXPECT_TRUE(write_error(name).starts_with("amity: " + name + ": " + reason)) << write_error(name);
  }
  EXPECT_EQ(files_in(folder), 2);
}

/// Leaves the process in the middle of an output, by a signal, and waits until the helper process has ended too: it has
/// inherited the end of a pipe.
void end_while_writing(const fs::path& file, int signal) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    ::setpgid(0, 0);
    ::signal(signal, SIG_DFL);  // a test in the background may ignore it
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    output_file out(file);
    out.write("text");
    [[maybe_unused]] const auto ready = ::write(ends[1], "", 1);
    for (;;) ::pause();
  }
  ::close(ends[1]);
  char ready = 0;
  ASSERT_EQ(::read(ends[0], &ready, 1), 1);
  EXPECT_EQ(files_in(file.parent_path()), 2) << "the temporary file";
  ::kill(-writer, signal);
  int status = 0;
  ::waitpid(writer, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(::read(ends[0], &ready, 1), 0);
  ::close(ends[0]);
}

TEST(output_file, killed_process_leaves_nothing) {
  for (const int signal : {SIGTERM, SIGINT, SIGKILL}) {
    scratch files;
    const auto file = files.write("it's \"$HOME\" out", "old");
    end_while_writing(file, signal);
    EXPECT_EQ(contents(file), "old");
    EXPECT_EQ(files_in(files.folder()), 1) << signal;
  }
}

TEST(output_destination, names_of_standard_output_are_known) {
  scratch files;
  const auto link = files.folder() / "link";
  fs::create_symlink("/dev/stdout", link);
  for (const std::string& name : {std::string("-"), std::string("/dev/stdout"), std::string("/dev/fd/1"),
                                  std::string("/proc/self/fd/1"), std::string("/dev/../dev/fd/1"), link.string()}) {
    EXPECT_TRUE(names_standard_output(name)) << name;
  }
  for (const std::string& name : {std::string("./-"), std::string("/dev/stderr"), std::string(), std::string("/none/x"),
                                  (files.folder() / "1").string()})
    EXPECT_FALSE(names_standard_output(name)) << name;
}

TEST(output_destination, one_file_has_one_identity) {
  scratch files;
  const auto& folder = files.folder();
  const auto file = files.write("out", "");
  fs::create_symlink("out", folder / "link");
  fs::create_hard_link(file, folder / "hard");
  fs::create_directory(folder / "sub");
  fs::create_directory_symlink(".", folder / "here");
  const auto identity = [](const fs::path& name) { return find_destination(name).identity(); };
  for (const char* other : {"link", "hard", "sub/../out", "here/link"})
    EXPECT_EQ(identity(folder / other), identity(file)) << other;
  EXPECT_EQ(identity_of_input(folder / "here/hard"), identity(file));
  EXPECT_EQ(identity(folder / "here/new"), identity(folder / "sub/../new"));
  EXPECT_NE(identity(folder / "new"), identity(folder / "sub/new"));
  EXPECT_NE(identity(folder / "new"), identity(folder / "newer"));
  EXPECT_FALSE(identity("/dev/null")) << "it may have several uses";
  EXPECT_FALSE(identity_of_input(folder / "none"));
}

}  // namespace
}  // namespace amity::apps::graph::tests
