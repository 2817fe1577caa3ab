#include "amity/base/log.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "amity/base/error.hpp"

namespace amity {
namespace {

TEST(log, writes_one_line_with_the_rank) {
  ::testing::internal::CaptureStderr();
  log_warning(2, "nothing arrived");
  log_warning(no_rank, "a setting was ignored");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "amity: rank 2: nothing arrived\namity: a setting was ignored\n");
}

/// Standard error is a pipe with a text in it that no reader has read.
class unread_standard_error : public ::testing::Test {
 protected:
  unread_standard_error() {
    EXPECT_EQ(::pipe(ends_.data()), 0);
    EXPECT_GE(::dup2(ends_[1], STDERR_FILENO), 0);
    EXPECT_EQ(::write(STDERR_FILENO, "rank 1: it went wrong\n", 22), 22);
  }
  ~unread_standard_error() override {
    ::dup2(before_, STDERR_FILENO);
    for (const int each : {before_, ends_[0], ends_[1]}) ::close(each);
  }
  static int unread_bytes() {
    int count = -1;
    ::ioctl(STDERR_FILENO, FIONREAD, &count);
    return count;
  }
  int reader() const { return ends_[0]; }

 private:
  int before_ = ::dup(STDERR_FILENO);
  std::array<int, 2> ends_{};
};

TEST_F(unread_standard_error, drain_returns_after_the_last_byte) {
  std::thread reads([this] {
    std::array<char, 1> byte{};
    for (int i = 0; i < 22; ++i) {
      std::this_thread::yield();
      EXPECT_EQ(::read(reader(), byte.data(), 1), 1);
    }
  });
  drain_standard_error(std::chrono::minutes(1));
  EXPECT_EQ(unread_bytes(), 0);
  reads.join();
}

TEST_F(unread_standard_error, drain_without_reader_ends_at_the_limit) {
  const auto begin = std::chrono::steady_clock::now();
  drain_standard_error(std::chrono::milliseconds(20));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  EXPECT_EQ(unread_bytes(), 22);
}

}  // namespace
}  // namespace amity
