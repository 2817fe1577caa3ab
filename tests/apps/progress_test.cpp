#include "apps/graph/console/progress.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>

namespace amity::apps::graph {
namespace {

/// A progress whose clock the test turns and whose output it reads.
class watched_progress : public ::testing::Test {
 protected:
  static constexpr std::uint64_t ms = 1'000'000;

  progress make(progress::style style) {
    return progress(style, out_.get(), [this] { return now_ns; });
  }

  std::string printed() {
    std::string text(static_cast<std::size_t>(std::ftell(out_.get())), '\0');
    std::rewind(out_.get());
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), out_.get()), text.size());
    return text;
  }

  std::uint64_t now_ns = 5'000'000'000'000;

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> out_{std::tmpfile(), std::fclose};
};

TEST_F(watched_progress, bar_redraws_one_line_ten_times_a_second) {
  auto p = make(progress::style::bar);
  p.begin("reading", 1'000'000, true);
  for (std::uint64_t done = 0; done < 500'000; done += 1000) {
    p.advance(done);
    now_ns += ms;
  }
  p.finish("3 edges");
  const std::string text = printed();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 6) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_NE(text.find("\r\x1b[Kreading: [#####...................]  20 % of 1 MB"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\r\x1b[Kreading: 3 edges (500 ms)\n")) << text;
}

TEST_F(watched_progress, a_bar_never_wraps) {
  auto p = make(progress::style::bar);
  p.begin(std::string(70, 'x'), 10, false, "vertex");
  p.show(5, "a remark that is long as well");
  EXPECT_EQ(printed().size(), 4u + 79u);
}

TEST_F(watched_progress, lines_are_plain_and_rare) {
  auto p = make(progress::style::lines);
  p.begin("searching", 0, false, "vertex");
  for (std::uint64_t done = 1; done <= 12; ++done) {
    now_ns += 1000 * ms;
    if (p.due()) p.show(done * 1000, "level " + std::to_string(done));
  }
  p.finish("12 levels");
  EXPECT_EQ(printed(),
            "searching: 5,000 vertices, level 5\nsearching: 10,000 vertices, level 10\nsearching: 12 levels (12 s)\n");
}

TEST_F(watched_progress, advances_by_steps) {
  auto p = make(progress::style::lines);
  p.begin("reading", 200, true);
  p.advance_by(20);
  now_ns += 6000 * ms;
  p.advance_by(30);
  EXPECT_EQ(printed(), "reading:  25 % of 200 B\n");
}

TEST_F(watched_progress, off_is_silent) {
  auto p = make(progress::style::off);
  p.begin("reading", 10, true);
  now_ns += 60'000 * ms;
  p.advance(5);
  p.finish("all");
  EXPECT_EQ(printed(), "");
}

TEST_F(watched_progress, a_file_is_no_terminal) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  EXPECT_EQ(progress::style_for(file.get()), progress::style::lines);
}

}  // namespace
}  // namespace amity::apps::graph
