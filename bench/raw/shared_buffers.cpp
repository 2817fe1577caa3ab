/// Two processes exchange 8-byte messages through 4 KiB buffers in shared memory; the receiver adds one to the slot of
/// its table that a message names. The bound of what coalescing over shared memory can reach.
///
/// Arguments: `ways` (1: process 0 sends; 2: both do), `slots` of the table (a power of two), `messages` that a process
/// sends. Measures `m_per_s`, millions of messages per second and sending process.

#include <array>
#include <bit>

#include "amity/base/clock.hpp"
#include "bench/raw/raw.hpp"
#include "bench/raw/two_processes.hpp"
#include "bench/workload.hpp"

namespace amity::bench {
namespace {

constexpr std::size_t buffer_words = 512;
constexpr std::size_t buffers = 64;

struct channel {
  /// Messages in each buffer; 0: empty. Handed back and forth between the two processes.
  struct alignas(64) fill {
    std::atomic<std::uint64_t> words{0};
  };
  std::array<fill, buffers> fills;
  alignas(4096) std::array<std::array<std::uint64_t, buffer_words>, buffers> words;
};

struct exchange {
  std::array<channel, 2> from;  ///< indexed by the sender
  std::atomic<int> ready{0};
  std::array<double, 2> seconds{};
};

class sender {
 public:
  sender(channel& out, std::uint64_t messages, std::uint64_t slots, int stream)
      : out_(out), left_(messages), mask_(slots - 1), random_(static_cast<std::uint64_t>(stream)) {}

  bool done() const { return left_ == 0; }

  /// Fills one buffer if there is an empty one.
  void step() {
    auto& fill = out_.fills[next_].words;
    if (fill.load(std::memory_order_acquire) != 0) return;  // Pairs with the receiver's release of the buffer.
    auto& words = out_.words[next_];
    const auto count = std::min<std::uint64_t>(left_, buffer_words);
    // A copy that the compiler can keep in a register: the stores might change the member, for all it knows.
    auto random = random_;
    for (std::uint64_t i = 0; i < count; ++i) words[i] = random() & mask_;
    random_ = random;
    fill.store(count, std::memory_order_release);  // Pairs with the receiver's acquire.
    left_ -= count;
    next_ = (next_ + 1) % buffers;
  }

 private:
  channel& out_;
  std::uint64_t left_;
  std::uint64_t mask_;
  xorshift64 random_;
  std::size_t next_ = 0;
};

class receiver {
 public:
  receiver(channel& in, std::uint64_t messages, huge_words& table) : in_(in), left_(messages), table_(table) {}

  bool done() const { return left_ == 0; }

  /// Empties one buffer if there is a full one.
  void step() {
    auto& fill = in_.fills[next_].words;
    const auto count = fill.load(std::memory_order_acquire);  // Pairs with the sender's release of the filled buffer.
    if (count == 0) return;
    apply(std::span(in_.words[next_]).first(count));
    fill.store(0, std::memory_order_release);  // Pairs with the sender's acquire.
    left_ -= count;
    next_ = (next_ + 1) % buffers;
  }

 private:
  void apply(std::span<const std::uint64_t> slots) {
    constexpr std::size_t ahead = 16;
    std::size_t i = 0;
    for (; i + ahead < slots.size(); ++i) {
      __builtin_prefetch(&table_[slots[i + ahead]], 1);
      ++table_[slots[i]];
    }
    for (; i < slots.size(); ++i) ++table_[slots[i]];
  }

  channel& in_;
  std::uint64_t left_;
  huge_words& table_;
  std::size_t next_ = 0;
};

std::uint64_t argument(const job_context& job, std::string_view name) {
  const auto found = job.args.find(name);
  if (found == job.args.end()) throw std::runtime_error("shared_buffers needs --with=" + std::string(name) + "=N");
  return std::stoull(found->second);
}

sample measure(const job_context& job) {
  const auto ways = argument(job, "ways");
  const auto slots = std::bit_ceil(argument(job, "slots"));
  const auto messages = argument(job, "messages");
  shared_object<exchange> shared;
  two_processes([&](int me) {
    huge_words table(slots);
    const auto sent = ways == 2 || me == 0 ? messages : 0;
    const auto awaited = ways == 2 || me == 1 ? messages : 0;
    sender out(shared->from[static_cast<std::size_t>(me)], sent, slots, me);
    receiver in(shared->from[static_cast<std::size_t>(1 - me)], awaited, table);
    shared->ready.fetch_add(1);
    while (shared->ready.load() != 2) __builtin_ia32_pause();
    const auto begin_ns = steady_now_ns();
    while (!out.done() || !in.done()) {
      if (!out.done()) out.step();
      if (!in.done()) in.step();
    }
    shared->seconds[static_cast<std::size_t>(me)] = static_cast<double>(steady_now_ns() - begin_ns) * 1e-9;
    expect_equal("sum of the table", table.sum(), awaited);
  });
  const auto seconds = std::max(shared->seconds[0], shared->seconds[1]);
  return {{"m_per_s", static_cast<double>(messages) / seconds * 1e-6}};
}

}  // namespace

const raw_limit shared_buffers{"shared_buffers", measure};

}  // namespace amity::bench
