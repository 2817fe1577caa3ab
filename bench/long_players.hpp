#pragma once

/// Two ranks, of which each puts Long messages into the other's segment.

#include <string>
#include <vector>

#include "amity/amity.hpp"
#include "amity/core/memory.hpp"
#include "bench/harness.hpp"
#include "bench/workload.hpp"

namespace amity::bench {

/// Whether handlers read what arrives, which was then written just before it is sent.
enum class reading : bool { no, yes };

class long_players {
 public:
  /// Longs of up to `bytes_max` bytes, by the protocol of this name.
  long_players(world& w, std::size_t bytes_max, const std::string& protocol, reading reads = reading::no)
      : endpoint_(w.endpoint()),
        memory_(endpoint_.memory()),
        own_(memory_.allocate(bytes_max)),
        source_(bytes_max, std::byte{1}),
        reads_(reads) {
    choose_long_protocol(endpoint_, protocol);
    take_ = endpoint_.add_handler("take", [this](core::request& from) {
      ++handled_;
      bytes_ += from.payload().size();
      if (reads_ == reading::yes) sum_ += sum_words(from.payload());
    });
    all_ = exchange(endpoint_, own_);
    w.barrier();
  }
  ~long_players() {
    endpoint_.barrier();
    for (core::remote_segment& each : all_) memory_.close(each);
    memory_.release(own_);
    endpoint_.remove_handler(take_);
  }
  long_players(const long_players&) = delete;
  long_players& operator=(const long_players&) = delete;

  void send(std::size_t bytes) {
    if (reads_ == reading::yes) touch_lines(mutable_bytes(source_).first(bytes));
    endpoint_.request_long({all_[static_cast<std::size_t>(1 - endpoint_.rank())], 0}, take_,
                           bytes_view(source_).first(bytes), {}, memory_.implicit());
  }
  void await_handled(std::uint64_t count) {
    endpoint_.wait_until("Longs", [&] { return handled_ >= count; });
  }
  void await_sources() { memory_.wait(memory_.implicit()); }

  void check() const {
    expect_equal("bytes of Longs", bytes_, expected_bytes_);
    if (reads_ == reading::yes) expect_equal("sum of Longs", sum_, expected_bytes_ / 8 * 0x0101'0101'0101'0101u);
  }

  /// Half a round trip, mean over a batch. No handler sends: each rank waits for the message and then sends its own.
  double one_way_ns(std::size_t bytes, std::uint64_t round_trips) {
    const std::uint64_t begin_ns = endpoint_.transport().now_ns();
    for (std::uint64_t i = 0; i < round_trips; ++i) {
      if (endpoint_.rank() == 0) send(bytes);
      // Not from what has been handled by now: the other rank may be ahead, in the next batch.
      expected_bytes_ += bytes;
      await_handled(++expected_);
      if (endpoint_.rank() == 1) send(bytes);
    }
    const std::uint64_t end_ns = endpoint_.transport().now_ns();
    await_sources();
    return static_cast<double>(end_ns - begin_ns) / static_cast<double>(2 * round_trips);
  }

  /// Time that rank 0 needs to begin one of `depth` Longs. All are handled before the call returns.
  double injection_ns(std::size_t bytes, std::uint64_t depth) {
    endpoint_.barrier();
    const std::uint64_t begin_ns = endpoint_.transport().now_ns();
    if (endpoint_.rank() == 0) {
      for (std::uint64_t i = 0; i < depth; ++i) send(bytes);
    }
    const std::uint64_t end_ns = endpoint_.transport().now_ns();
    await_sources();
    if (endpoint_.rank() == 1) {
      expected_bytes_ += depth * bytes;
      await_handled(expected_ += depth);
    }
    endpoint_.barrier();
    return static_cast<double>(end_ns - begin_ns) / static_cast<double>(depth);
  }

 private:
  core::endpoint& endpoint_;
  core::memory& memory_;
  core::local_segment own_;
  std::vector<std::byte> source_;
  reading reads_;
  std::vector<core::remote_segment> all_;
  core::handler_id take_ = 0;
  std::uint64_t handled_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t expected_ = 0;
  std::uint64_t expected_bytes_ = 0;
};

}  // namespace amity::bench
