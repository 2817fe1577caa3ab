/// A payload copied once, from memory of one process to memory of another, back and forth.
///
/// Three ways. `put`: the source writes it into memory that both share, and hands a line over. `get`: the source hands
/// the line over, and the target reads what lies in memory that both share. `kernel`: the same for private memory, by
/// `process_vm_readv`; left out where the system forbids it. `WAY_N_ns`: the target leaves the copy alone.
/// `WAY_N_read_ns`: the source writes into each line of its payload before it sends it, and the target adds up its
/// words. `best_...`: of the ways.

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/base/clock.hpp"
#include "amity/base/copy_bytes.hpp"
#include "bench/raw/raw.hpp"
#include "bench/raw/two_processes.hpp"
#include "bench/statistics.hpp"
#include "bench/workload.hpp"

namespace amity::bench {
namespace {

constexpr std::size_t bytes_max = std::size_t{1} << 20;

struct alignas(4096) side_memory {
  std::array<std::byte, bytes_max> source;
  std::array<std::byte, bytes_max> target;
  lonely_word round;  ///< how many payloads this side has handed over
  pid_t process;
  bool reads_other;  ///< through the kernel
};

using both_sides = std::array<side_memory, 2>;

enum class way { put, get, kernel };
enum class reading : bool { no, yes };

/// One process's part of the ping-pong.
class player {
 public:
  /// `source` and `target` are private, and lie at the same addresses in the other process, which was forked.
  player(int me, both_sides& shared, mutable_bytes source, mutable_bytes target)
      : me_(me),
        own_(shared[static_cast<std::size_t>(me)]),
        other_(shared[static_cast<std::size_t>(1 - me)]),
        source_(source),
        target_(target) {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);  // where only children may be read otherwise
    own_.process = getpid();
    own_.source.fill(std::byte{1});
    meet();
  }

  /// Mean one-way time of a batch in nanoseconds.
  double play(way how, reading reads, std::size_t bytes, std::uint64_t round_trips) {
    const auto begin_ns = steady_now_ns();
    for (std::uint64_t i = 0; i < round_trips; ++i) {
      if (me_ == 0) send(how, reads, bytes);
      const bytes_view arrived = receive(how, bytes);
      if (reads == reading::yes) sum_ += sum_words(arrived);
      if (me_ == 1) send(how, reads, bytes);
    }
    return static_cast<double>(steady_now_ns() - begin_ns) / static_cast<double>(2 * round_trips);
  }

  /// Whether the system lets both sides read each other.
  bool kernel_copies() {
    own_.reads_other = copied_by_kernel(1);
    meet();
    return own_.reads_other && other_.reads_other;
  }

  std::uint64_t sum() const { return sum_; }

  /// Both sides wait for each other: before the end, too, since the other one may still read from this process.
  void meet() {
    hand_over();
    await_other();
  }

 private:
  void hand_over() {
    // Pairs with the acquire in the peer's `await_other`.
    own_.round.value.store(++handed_over_, std::memory_order_release);
  }
  void await_other() {
    ++received_;
    // Pairs with the release in `hand_over`; the other may be one ahead where both have met.
    while (other_.round.value.load(std::memory_order_acquire) < received_) __builtin_ia32_pause();
  }

  void send(way how, reading reads, std::size_t bytes) {
    if (reads == reading::yes) touch_lines((how == way::get ? mutable_bytes(own_.source) : source_).first(bytes));
    if (how == way::put) copy_bytes(other_.target.data(), source_.data(), bytes);
    hand_over();
  }
  bytes_view receive(way how, std::size_t bytes) {
    await_other();
    if (how == way::put) return bytes_view(own_.target).first(bytes);
    if (how == way::get) {
      copy_bytes(target_.data(), other_.source.data(), bytes);
    } else if (!copied_by_kernel(bytes)) {
      throw std::system_error(errno, std::generic_category(), "process_vm_readv");
    }
    return target_.first(bytes);
  }

  bool copied_by_kernel(std::size_t bytes) {
    const iovec here{target_.data(), bytes};
    const iovec there{source_.data(), bytes};
    return process_vm_readv(other_.process, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
  }

  int me_;
  side_memory& own_;
  side_memory& other_;
  mutable_bytes source_;
  mutable_bytes target_;
  std::uint64_t handed_over_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t sum_ = 0;
};

sample measure(const job_context& job) {
  shared_object<both_sides> shared;
  std::vector<std::byte> source(bytes_max, std::byte{1});
  std::vector<std::byte> target(bytes_max);
  const auto batches = job.scaled(21, 3);
  sample result;
  two_processes([&](int me) {
    player side(me, *shared, source, target);
    std::vector<std::pair<std::string, way>> ways{{"put", way::put}, {"get", way::get}};
    if (side.kernel_copies()) ways.emplace_back("kernel", way::kernel);
    std::uint64_t expected = 0;
    for (const std::size_t bytes : {std::size_t{1024}, std::size_t{4096}, std::size_t{65536}, bytes_max}) {
      const auto round_trips =
          std::max<std::uint64_t>(job.scaled<std::uint64_t>(20'000'000, 50'000) / (bytes + 9000), 3);
      for (const auto reads : {reading::no, reading::yes}) {
        const auto figure = fmt::format("_{}{}_ns", bytes, reads == reading::yes ? "_read" : "");
        double& best_ns = result["best" + figure];
        for (const auto& [name, how] : ways) {
          const double ns = median_of(batches, [&, w = how] { return side.play(w, reads, bytes, round_trips); });
          result[name + figure] = ns;
          best_ns = how == way::put ? ns : std::min(best_ns, ns);
          if (reads == reading::yes) expected += static_cast<std::uint64_t>(batches) * round_trips * bytes;
        }
      }
    }
    side.meet();
    expect_equal("sum of the payloads", side.sum(), expected / 8 * 0x0101'0101'0101'0101u);
  });
  return result;
}

}  // namespace

const raw_limit single_copy{"single_copy", measure};

}  // namespace amity::bench
