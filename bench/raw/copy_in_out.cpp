/// A payload copied into shared memory by one process and read out of it by another, back and forth.
///
/// `copied_N_ns`: the reader copies N bytes to private memory and adds their words there. `in_place_N_ns`: it adds them
/// where they are, which is what a handler does that reads its payload in the packet.

#include <array>
#include <cstring>

#include "amity/base/clock.hpp"
#include "bench/raw/raw.hpp"
#include "bench/raw/two_processes.hpp"
#include "bench/workload.hpp"

namespace amity::bench {
namespace {

constexpr std::size_t bytes_max = 8192;

using payload = std::array<std::byte, bytes_max>;

struct direction {
  lonely_word flag;  ///< number of the payload that lies in `data`
  alignas(4096) payload data;
};

struct both_directions {
  std::array<direction, 2> from;  ///< indexed by the writer
};

std::uint64_t sum_copy(bytes_view source) {
  payload copy;
  std::memcpy(copy.data(), source.data(), source.size());
  return sum_words(bytes_view(copy).first(source.size()));
}

/// One process's part of the ping-pong.
struct player {
  int me;
  direction& out;
  direction& in;
  payload source;
  std::uint64_t round = 0;
  std::uint64_t sum = 0;

  void send(std::size_t bytes) {
    std::memcpy(out.data.data(), source.data(), bytes);
    out.flag.value.store(round, std::memory_order_release);  // Pairs with the acquire in the peer's `await`.
  }

  template <class Read>
  void receive(std::size_t bytes, Read read) {
    await(in.flag.value, round);
    sum += read(bytes_view(in.data).first(bytes));
  }

  /// Mean one-way time of a batch in nanoseconds.
  template <class Read>
  double play(std::size_t bytes, std::uint64_t round_trips, Read read) {
    const auto begin_ns = steady_now_ns();
    for (std::uint64_t i = 0; i < round_trips; ++i) {
      ++round;
      if (me == 0) send(bytes);
      receive(bytes, read);
      if (me == 1) send(bytes);
    }
    return static_cast<double>(steady_now_ns() - begin_ns) / static_cast<double>(2 * round_trips);
  }
};

sample measure(const job_context& job) {
  shared_object<both_directions> shared;
  sample result;
  two_processes([&](int me) {
    const auto batches = job.scaled(21, 3);
    const auto round_trips = job.scaled<std::uint64_t>(1000, 50);
    player side{me, shared->from[static_cast<std::size_t>(me)], shared->from[static_cast<std::size_t>(1 - me)], {}};
    side.source.fill(std::byte{1});
    std::uint64_t expected = 0;
    for (const std::size_t bytes : {std::size_t{1024}, bytes_max}) {
      const auto size = std::to_string(bytes);
      result["copied_" + size + "_ns"] = median_of(batches, [&] { return side.play(bytes, round_trips, sum_copy); });
      result["in_place_" + size + "_ns"] = median_of(batches, [&] { return side.play(bytes, round_trips, sum_words); });
      expected +=
          2 * static_cast<std::uint64_t>(batches) * round_trips * sum_words(bytes_view(side.source).first(bytes));
    }
    expect_equal("sum of the payloads", side.sum, expected);
  });
  return result;
}

}  // namespace

const raw_limit copy_in_out{"copy_in_out", measure};

}  // namespace amity::bench
