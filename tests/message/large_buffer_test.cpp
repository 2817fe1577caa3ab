/// A buffer of 1 GiB is sent from where it lies: neither side holds it a second time.

#include <cstdint>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "tests/support/worlds.hpp"

namespace amity {
namespace {

constexpr std::size_t count = (std::size_t{1} << 30) / sizeof(std::uint64_t);

/// The most memory that this process has had, in bytes.
std::size_t memory_bytes_peak() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib << 10;
  }
  return 0;
}

TEST(large_buffer, of_a_gibibyte_is_not_copied) {
  // From here on the peak is what the system counts for this process now.
  std::ofstream("/proc/self/clear_refs") << 5;
  run_worlds(testing::threads("threads"), 2, [](world& w) {
    std::uint64_t seen = 0, wrong = 0;
    auto message = w.message<std::uint64_t>([&](std::span<const std::uint64_t> values) {
      for (const std::uint64_t value : values) wrong += value != seen++;  // packets of this fabric are in order
    });
    std::vector<std::uint64_t> memory;
    if (w.rank() == 0) {
      memory.resize(count);
      for (std::size_t i = 0; i < count; ++i) memory[i] = i;
    }
    w.barrier();
    const std::size_t before = memory_bytes_peak();
    bool released = false;
    w.epoch([&] {
      if (w.rank() == 0) message.send_buffer(1, memory, [&] { released = true; });
    });
    EXPECT_EQ(released, w.rank() == 0);
    EXPECT_EQ(seen, w.rank() == 1 ? count : 0);
    EXPECT_EQ(wrong, 0u);
    EXPECT_GT(before, count * sizeof(std::uint64_t));
    EXPECT_LT(memory_bytes_peak(), before + (std::size_t{32} << 20));
  });
}

}  // namespace
}  // namespace amity
