/// What a tag says, within the bound that every MPI keeps.

#include <gtest/gtest.h>

#include "amity/fabric/mpi/tag.hpp"

namespace amity::fabric::mpi {
namespace {

constexpr int tag_max_least = 32767;

void expect_same(const tag_code& code, const tag_code::parts& sent) {
  const int tag = code.pack(sent);
  EXPECT_TRUE(tag >= 0 && tag <= tag_max_least) << tag;
  const auto received = code.unpack(tag);
  EXPECT_EQ(received.content, sent.content);
  EXPECT_EQ(received.thread, sent.thread);
  EXPECT_EQ(received.credits, sent.credits);
}

TEST(mpi_tag, says_content_thread_and_credits) {
  for (const rank_t threads : {1, 2, 3, 64, 257}) {
    const tag_code code(threads, tag_max_least);
    ASSERT_GT(code.credits_max(), 0u);
    for (const auto what : {content::packet_with_header, content::packet, content::nothing}) {
      for (const rank_t thread : {0, threads / 2, threads - 1}) {
        for (const std::uint32_t credits : {0u, 1u, code.credits_max()}) expect_same(code, {what, thread, credits});
      }
    }
  }
}

}  // namespace
}  // namespace amity::fabric::mpi
