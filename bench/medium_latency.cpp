/// One-way time of a payload of 1 KiB and 8 KiB, copied in by the source: half a ping-pong. The handler leaves the
/// payload alone, as the peers measure it, or adds up its words.

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

constexpr std::size_t bytes_max = 8192;

/// Whether handlers read what arrives.
enum class reading : bool { no, yes };

/// Rank 0 requests, rank 1's handler replies with a payload of the same size.
class ping_pong {
 public:
  ping_pong(core::endpoint& endpoint, std::size_t bytes, reading reads)
      : endpoint_(endpoint), source_(bytes, std::byte{1}), reads_(reads) {
    pong_ = endpoint_.add_handler("pong", [this](core::request& from) { take(from); });
    ping_ = endpoint_.add_handler("ping", [this](core::request& from) {
      take(from);
      from.reply_medium(pong_, source_);
    });
  }
  ~ping_pong() {
    endpoint_.remove_handler(ping_);
    endpoint_.remove_handler(pong_);
  }
  ping_pong(const ping_pong&) = delete;
  ping_pong& operator=(const ping_pong&) = delete;

  /// Mean over a batch.
  double one_way_ns(std::uint64_t round_trips) {
    const auto total_ns = wall_ns([&] {
      for (std::uint64_t i = 0; i < round_trips; ++i) {
        ++expected_;
        if (endpoint_.rank() == 0) endpoint_.request_medium(1, ping_, source_);
        endpoint_.wait_until("medium_latency", [&] { return handled_ >= expected_; });
      }
    });
    return total_ns / static_cast<double>(2 * round_trips);
  }

  void check() const {
    expect_equal("payloads", handled_, expected_);
    expect_equal("bytes", bytes_, expected_ * source_.size());
    if (reads_ == reading::yes) expect_equal("sum of the payloads", sum_, expected_ * sum_words(source_));
  }

 private:
  void take(const core::request& from) {
    ++handled_;
    bytes_ += from.payload().size();
    if (reads_ == reading::yes) sum_ += sum_words(from.payload());
  }

  core::endpoint& endpoint_;
  std::vector<std::byte> source_;
  reading reads_;
  core::handler_id ping_{};
  core::handler_id pong_{};
  std::uint64_t handled_ = 0;
  std::uint64_t expected_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t sum_ = 0;
};

sample measure_ranks(world& w, const job_context& job) {
  sample result;
  for (const std::size_t bytes : {std::size_t{1024}, bytes_max}) {
    for (const auto reads : {reading::no, reading::yes}) {
      ping_pong players(w.endpoint(), bytes, reads);
      w.barrier();
      const auto name = (reads == reading::yes ? "read_" : "unread_") + std::to_string(bytes) + "_ns";
      result[name] =
          median_of(job.scaled(21, 3), [&] { return players.one_way_ns(job.scaled<std::uint64_t>(1000, 50)); });
      players.check();
      w.barrier();
    }
  }
  return result;
}

void drive(driver& d) {
  const std::string batches = d.tiny() ? "3" : "21";
  const std::string round_trips = d.tiny() ? "50" : "1000";
  const contest jobs{d.ranks(2), d.raw("copy_in_out", "raw copy in, read in place"),
                     d.open_mpi("Open MPI send/recv", {batches, round_trips, "0", "1024", "8192"})};
  d.compare(jobs,
            {
                {"1 KiB, unread", "one-way time", "ns", "unread_1024_ns", "", "ping_pong_1024_ns", {at_most(400)}},
                {"8 KiB, unread", "one-way time", "ns", "unread_8192_ns", "", "ping_pong_8192_ns", {at_most(520)}},
                {"1 KiB, read",
                 "one-way time",
                 "ns",
                 "read_1024_ns",
                 "in_place_1024_ns",
                 "ping_pong_1024_ns",
                 {limit_at_most(1.15)}},
                {"8 KiB, read",
                 "one-way time",
                 "ns",
                 "read_8192_ns",
                 "in_place_8192_ns",
                 "ping_pong_8192_ns",
                 {limit_at_most(1.15)}},
            });
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_ranks(w, job); });
}

}  // namespace

const benchmark medium_latency{"medium_latency", "one-way time of 1 KiB and 8 KiB, unread and read by the handler",
                               drive, measure};

}  // namespace amity::bench
