/// What sending one large value takes in addition to the value and its decoded form: the source streams it, the target
/// builds it.

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/worlds.hpp"

namespace amity {
namespace {

/// Memory from operator new, of all ranks: they are threads of this process.
std::atomic<std::size_t> memory_now{0};
std::atomic<std::size_t> memory_peak{0};

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  const std::size_t now = memory_now += ::malloc_usable_size(memory);
  std::size_t peak = memory_peak;
  while (peak < now && !memory_peak.compare_exchange_weak(peak, now)) {
  }
  return memory;
}

void give_back(void* memory) noexcept {
  memory_now -= ::malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace
}  // namespace amity

void* operator new(std::size_t bytes) { return amity::counted(std::malloc(bytes)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return amity::counted(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept { amity::give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { amity::give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { amity::give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { amity::give_back(memory); }

namespace amity {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t allowed_bytes = 4 * mib;

struct text_block {
  std::string text;
};

}  // namespace

template <>
struct codec<text_block> {
  static std::size_t bytes(const text_block& value) { return encoded_bytes(value.text); }
  static void write(byte_writer& to, const text_block& value) { encode(to, value.text); }
  static text_block read(byte_reader& from) { return {decode<std::string>(from)}; }
};

namespace {

enum class way { copied, moved, moved_in_handler, async };

/// The peak of memory while rank 0 of two sends one value to rank 1, beyond what there was with the value.
template <class T, class Make>
std::size_t peak_beside_value(way how, const Make& make) {
  std::size_t extra = 0;
  testing::run_worlds(testing::threads("threads"), 2, [&](world& w) {
    T value;
    std::uint64_t arrived = 0;
    auto message = w.message<T>([&](const T&) { ++arrived; });
    auto start = w.message<int>([&](int) { message.send(1, std::move(value)); });
    const auto shared_arrived = w.share(arrived);
    if (w.rank() == 0) value = make();
    w.barrier();
    const std::size_t before = memory_now;
    if (w.rank() == 0) memory_peak = before;
    w.barrier();
    w.epoch([&] {
      if (w.rank() != 0) return;
      if (how == way::copied) message.send(1, value);
      if (how == way::moved) message.send(1, std::move(value));
      if (how == way::moved_in_handler) start.send(0, 1);
      if (how == way::async)
        w.async(
            1, [](std::uint64_t& here, const T&) { ++here; }, shared_arrived, value);
    });
    if (w.rank() == 0) extra = memory_peak - before;
    EXPECT_EQ(arrived, w.rank() == 1 ? 1u : 0u);
    w.barrier();
  });
  return extra;
}

TEST(large_value_memory, vector_is_built_once) {
  const auto make = [] { return std::vector<double>(64 * mib / sizeof(double), 0.5); };
  for (const way how : {way::copied, way::moved, way::moved_in_handler, way::async}) {
    EXPECT_LE(peak_beside_value<std::vector<double>>(how, make), 64 * mib + allowed_bytes) << static_cast<int>(how);
  }
}

TEST(large_value_memory, vector_of_strings_is_built_once) {
  constexpr std::size_t strings = 200'000, string_bytes = 200;
  const auto make = [] { return std::vector<std::string>(strings, std::string(string_bytes, 's')); };
  const std::size_t decoded_bytes = strings * (sizeof(std::string) + 208 + 8);
  for (const way how : {way::copied, way::moved_in_handler}) {
    EXPECT_LE(peak_beside_value<std::vector<std::string>>(how, make), decoded_bytes + allowed_bytes);
  }
}

// Both sides hold the encoded value while it is under way; the target builds the value from it.
TEST(large_value_memory, user_codec_costs_one_encoded_copy) {
  const auto make = [] { return text_block{std::string(32 * mib, 't')}; };
  const std::size_t extra = peak_beside_value<text_block>(way::copied, make);
  EXPECT_GT(extra, 64 * mib);
  EXPECT_LE(extra, 3 * 32 * mib + allowed_bytes);
}

}  // namespace
}  // namespace amity
