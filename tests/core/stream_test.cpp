/// Messages that arrive in pieces.

#include <cstring>
#include <functional>
#include <initializer_list>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "amity/base/error.hpp"
#include "amity/core/stream.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

/// Collects what it consumes.
class collector final : public incoming_stream {
 public:
  explicit collector(std::string& text) : text_(text) {}
  void consume(bytes_view next, std::uint64_t left) override {
    text_.append(reinterpret_cast<const char*>(next.data()), next.size());
    text_ += '|' + std::to_string(left) + ' ';
  }
  void handle() override { text_ += "handled"; }

 private:
  std::string& text_;
};

std::unique_ptr<incoming_stream> open_collector(void* text) {
  return std::make_unique<collector>(*static_cast<std::string*>(text));
}

std::vector<std::byte> piece(std::uint64_t message, std::uint64_t total, std::uint64_t offset,
                             const std::string& content) {
  const fragment_header head{.message = message | incoming_streams::mark, .total = total, .offset = offset};
  std::vector<std::byte> bytes(sizeof head + content.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head, content.data(), content.size());
  return bytes;
}

struct fixture {
  incoming_streams streams;
  std::string text;

  bool add(const std::vector<std::byte>& fragment, rank_t source = 1, handler_id handler = 5) {
    const auto whole = streams.add(source, handler, fragment, &open_collector, &text);
    if (whole) whole->handle();
    return whole != nullptr;
  }
  std::string reason(const std::vector<std::byte>& fragment, handler_id handler = 5) {
    try {
      add(fragment, 1, handler);
    } catch (const invalid_fragment& it) {
      return it.content;
    }
    return "none";
  }
};

TEST(incoming_streams, pieces_in_any_order_are_consumed_in_order) {
  fixture f;
  EXPECT_FALSE(f.add(piece(1, 9, 6, "gh")));
  EXPECT_FALSE(f.add(piece(1, 9, 3, "def")));
  EXPECT_FALSE(f.add(piece(1, 9, 8, "i")));
  EXPECT_EQ(f.text, "");
  EXPECT_TRUE(f.streams.completes(1, piece(1, 9, 0, "abc")));
  EXPECT_FALSE(f.streams.completes(1, piece(1, 9, 0, "ab")));
  EXPECT_TRUE(f.add(piece(1, 9, 0, "abc")));
  EXPECT_EQ(f.text, "abc|6 def|3 gh|1 i|0 handled");
  EXPECT_EQ(f.streams.incomplete(), 0u);
}

TEST(incoming_streams, sources_and_messages_are_kept_apart) {
  fixture f;
  EXPECT_FALSE(f.add(piece(1, 4, 0, "ab"), 1));
  EXPECT_FALSE(f.add(piece(1, 4, 2, "cd"), 2));
  EXPECT_FALSE(f.add(piece(2, 4, 2, "ef"), 1));
  EXPECT_EQ(f.streams.incomplete(), 3u);
  EXPECT_TRUE(f.add(piece(1, 4, 2, "gh"), 1));
  EXPECT_EQ(f.text, "ab|2 gh|0 handled");
}

TEST(incoming_streams, piece_out_of_place_fails) {
  const auto reason_after_first = [](const std::vector<std::byte>& second, handler_id handler = 5) {
    fixture f;
    EXPECT_FALSE(f.add(piece(1, 8, 0, "abc")));
    EXPECT_FALSE(f.add(piece(1, 8, 6, "g")));
    return f.reason(second, handler);
  };
  const std::string of_one_byte = "a fragment of 1 bytes at offset ";
  EXPECT_EQ(reason_after_first(piece(1, 8, 2, "c")),
            of_one_byte + "2 does not fit message 1 of 8 bytes, of which 3 bytes were there before");
  for (const auto& second : {piece(1, 9, 3, "d"), piece(1, 8, 6, "g")}) {
    EXPECT_EQ(reason_after_first(second).substr(0, of_one_byte.size()), of_one_byte);
  }
  EXPECT_EQ(reason_after_first(piece(1, 8, 3, "defgh")).substr(0, 24), "a fragment of 5 bytes at");
  // These do not fit any message.
  for (const auto& second : {piece(1, 8, 9, "d"), piece(1, 8, 7, "hi"), piece(1, 8, ~std::uint64_t{0}, "d")}) {
    EXPECT_EQ(reason_after_first(second), fmt::format("a fragment of {} bytes", second.size()));
  }
  EXPECT_NE(reason_after_first(piece(1, 8, 3, "d"), 6), "none");
}

TEST(incoming_streams, size_beyond_memory_fails) {
  fixture f;
  EXPECT_THROW(f.add(piece(1, std::uint64_t{1} << 60, 0, "abc")), std::bad_alloc);
}

TEST(incoming_streams, dropped_handler_is_forgotten) {
  fixture f;
  EXPECT_FALSE(f.add(piece(1, 4, 0, "ab"), 1, 5));
  EXPECT_FALSE(f.add(piece(2, 4, 0, "ab"), 1, 6));
  f.streams.drop(5);
  EXPECT_EQ(f.streams.incomplete(), 1u);
}

/// How a job ends in which rank 0 does this with a handler of rank 1.
std::string end_of(const std::function<void(endpoint&, handler_id)>& send) {
  return testing::failure_in_simulation(2, {}, [&](endpoint& own) {
    const handler_id take = own.add_handler("take", [](request&) {});
    own.barrier();
    if (own.rank() == 0) send(own, take);
    own.barrier();
  });
}

// A target without a stream for the handler, as another build of the program may be.
TEST(stream, unexpected_by_target_fails) {
  const std::vector<std::byte> bytes(20'000);
  testing::expect_parts(end_of([&](endpoint& own, handler_id take) {
                          memory_stream pieces(bytes);
                          own.send_stream(1, take, pieces, bytes.size(), endpoint::stream_target::pieces);
                        }),
                        {"rank 0 sent a message for handler #"});
}

// A stream that ends early: the message has been announced, so the job ends. Nothing of it can be taken back, whatever
// a handler does that sends it.
TEST(stream, shorter_than_announced_ends_job) {
  const std::vector<std::byte> bytes(9'000);
  const auto send_short = [&](endpoint& own, handler_id take) {
    memory_stream pieces(bytes);
    own.send_stream(1, take, pieces, 9'100, endpoint::stream_target::whole);
  };
  const std::initializer_list<std::string_view> parts{
      "a value of type 'take' produced ", " of 9100; do not change the value from another thread while it is sent"};
  testing::expect_parts(end_of(send_short), parts);
  const std::string failure = testing::failure_in_simulation(2, {}, [&](endpoint& own) {
    const handler_id take = own.add_handler("take", [](request&) {});
    const handler_id start = own.add_handler("start", [&](request&) { EXPECT_THROW(send_short(own, take), error); });
    own.barrier();
    if (own.rank() == 0) own.request_short(0, start);
    own.barrier();
  });
  testing::expect_parts(failure, parts);
}

}  // namespace
}  // namespace amity::core
