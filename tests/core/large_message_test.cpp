/// A payload that does not fit into 31 bits of length: it travels in fragments and is handled whole.

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "amity/fabric/shm/shm.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/sanitizer.hpp"
#include "tests/support/skip.hpp"

namespace amity::core {
namespace {

/// Zeros that take no memory until they are written.
class sparse_bytes {
 public:
  explicit sparse_bytes(std::size_t bytes)
      : bytes_(bytes),
        data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~sparse_bytes() { ::munmap(data_, bytes_); }
  sparse_bytes(const sparse_bytes&) = delete;
  sparse_bytes& operator=(const sparse_bytes&) = delete;

  mutable_bytes view() const { return {static_cast<std::byte*>(data_), bytes_}; }

 private:
  std::size_t bytes_;
  void* data_;
};

// Where something other than zero stands: the ends, both sides of 2 GiB, and every 100 MB.
template <class Visit>
void for_each_mark(std::size_t bytes, Visit&& visit) {
  for (std::size_t at = 0; at < bytes; at += 100'000'007) visit(at);
  for (const std::size_t at : {(std::size_t{1} << 31) - 1, std::size_t{1} << 31, bytes - 1}) visit(at);
}

std::byte mark_at(std::size_t at) { return static_cast<std::byte>(at % 251 + 1); }

TEST(large_message, of_more_than_two_gib_arrives_whole) {
  AMITY_SKIP_UNLESS(testing::available_memory_mib() >= 4096, "less than 4 GiB of memory are available");
  constexpr std::size_t bytes = (std::size_t{1} << 31) + 12'345'678;
  const settings config = testing::configured({{"AMITY_SHM_PACKET_BYTES", "256k"}});
  testing::run_endpoints(
      testing::threads("threads"), 2,
      [&](endpoint& own) {
        bool arrived = false;
        const handler_id take = own.add_handler("take", [&](request& r) {
          arrived = true;
          EXPECT_EQ(r.args()[0], 42u);
          ASSERT_EQ(r.payload().size(), bytes);
          for_each_mark(bytes, [&](std::size_t at) { EXPECT_EQ(r.payload()[at], mark_at(at)) << at; });
        });
        own.barrier();
        if (own.rank() == 0) {
          const sparse_bytes payload(bytes);
          for_each_mark(bytes, [&](std::size_t at) { payload.view()[at] = mark_at(at); });
          own.request_medium(1, take, payload.view(), {42});
          EXPECT_GT(own.counts().total().bytes_sent, bytes);
        }
        own.wait_until("the message", [&] { return arrived || own.rank() == 0; });
        own.barrier();
      },
      config);
}

// The first fragment says how large all of it is.
TEST(large_message, for_which_there_is_no_memory_is_an_error_that_says_so) {
  if (testing::sanitized) GTEST_SKIP() << "sanitizers end the process instead";
  constexpr std::size_t bytes = std::size_t{1} << 44;
  const std::string text = testing::failure_in_simulation(2, {}, [&](endpoint& own) {
    const handler_id take = own.add_handler("take", [&](request&) {});
    own.barrier();
    if (own.rank() == 0) own.request_medium(1, take, sparse_bytes(bytes).view(), {});
    own.barrier();
  });
  EXPECT_EQ(text,
            "amity: message arrival (rank 1): rank 0 has sent 17592186044416 bytes, for which there is no memory; send "
            "less at once, or a Long to a segment");
}

}  // namespace
}  // namespace amity::core
