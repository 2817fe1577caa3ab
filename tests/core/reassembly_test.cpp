/// Fragments that no source sends which runs the same build: each is an error that names its source.

#include "amity/core/reassembly.hpp"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "amity/core/packet_header.hpp"
#include "amity/core/stream.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();

std::vector<std::byte> forged(std::uint64_t total, std::uint64_t offset, std::size_t content_bytes,
                              std::uint64_t message = 0) {
  const fragment_header head{.message = message, .total = total, .offset = offset};
  std::vector<std::byte> bytes(sizeof head + content_bytes);
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

struct invalid_case {
  std::vector<std::byte> fragment;
  std::string content;
};

std::vector<invalid_case> invalid_alone() {
  return {{{}, "a fragment of 0 bytes"},
          {std::vector<std::byte>(23), "a fragment of 23 bytes"},
          {forged(8, 0, 0), "a fragment of 24 bytes"},
          {forged(0, 0, 8), "a fragment of 32 bytes"},
          {forged(7, 0, 8), "a fragment of 32 bytes"},
          {forged(8, 9, 8), "a fragment of 32 bytes"},
          {forged(16, 9, 8), "a fragment of 32 bytes"},
          {forged(largest, largest, 8), "a fragment of 32 bytes"}};
}

std::string reason(reassembly& own, const std::vector<std::byte>& fragment) {
  try {
    own.add(1, fragment);
  } catch (const invalid_fragment& it) {
    return it.content;
  }
  return "none";
}

TEST(invalid_fragments, alone) {
  for (const auto& [fragment, content] : invalid_alone()) {
    EXPECT_FALSE(header_of_fragment(fragment));
    for (const bool after_another : {false, true}) {
      reassembly own;
      if (after_another) own.add(1, forged(16, 0, 8));
      EXPECT_TRUE(own.completes(1, fragment));
      EXPECT_EQ(reason(own, fragment), content);
    }
    EXPECT_TRUE(incoming_streams().completes(1, fragment));
  }
}

TEST(invalid_fragments, other_message) {
  for (const auto& fragment : {forged(17, 0, 8), forged(32, 24, 8), forged(16, 0, 9), forged(16, 0, 16)}) {
    reassembly own;
    own.add(1, forged(16, 0, 8));
    testing::expect_parts(reason(own, fragment), {"bytes of message 0 of ", ", of which 8 of 16 are missing"});
  }
}

// The sum with a cache line would be a few bytes.
TEST(invalid_fragments, size_beyond_memory) {
  for (const std::uint64_t total : {largest, largest - 63, std::uint64_t{1} << 63}) {
    reassembly own;
    EXPECT_THROW(own.add(1, forged(total, 0, 8)), std::bad_alloc);
  }
}

/// How a job ends in which rank 0 sends rank 1 this packet.
std::string end_of_fragment(const std::vector<std::byte>& fragment, bool has_priorities) {
  return testing::failure_in_simulation(2, {}, [&](endpoint& own) {
    const handler_id take = own.add_handler("take", [](request&) {});
    if (has_priorities) own.set_priority(own.add_handler("urgent", [](request&) {}), 1);
    own.barrier();
    const packet_header header({.handler = take, .kind = packet_kind::fragment});
    if (own.rank() == 0) own.own_engine().send_control(1, 0, header, fragment);
    own.wait_until("the end of the job", [] { return false; });
  });
}

TEST(invalid_fragments, end_job) {
  for (const bool has_priorities : {false, true}) {
    for (const auto& [fragment, content] : invalid_alone()) {
      testing::expect_parts(end_of_fragment(fragment, has_priorities),
                            {"message arrival (rank 1)", "rank 0 sent an invalid packet: " + content, "same build"});
    }
    testing::expect_parts(end_of_fragment(forged(largest, 0, 8), has_priorities),
                          {"(rank 1)", "rank 0 has sent 18446744073709551615 bytes"});
  }
  testing::expect_parts(end_of_fragment(forged(7, 0, 8, incoming_streams::mark), false),
                        {"(rank 1)", "rank 0 sent an invalid packet: a fragment of 32 bytes"});
}

}  // namespace
}  // namespace amity::core
