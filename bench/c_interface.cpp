/// What the interface of C adds to that of C++: the same requests and Longs through amity.h (bench/c/operations.c).

#include "amity/core/memory.hpp"
#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/statistics.hpp"

namespace amity::bench {
namespace {

constexpr std::uint64_t row = 64;

class core_messages {
 public:
  explicit core_messages(world& w) : own_(w.endpoint()), memory_(own_.memory()) {
    pong_ = own_.add_handler("pong", [this](core::request&) { ++handled_; });
    ping_ = own_.add_handler("ping", [this](core::request& from) {
      ++handled_;
      from.reply_short(pong_, from.args());
    });
    take_ = own_.add_handler("take", [this](core::request&) { ++handled_; });
    done_ = own_.add_handler("done", [this](core::request&) { ++ended_; });
    all_ = exchange(own_, memory_.allocate(8 * row));
    own_.barrier();
  }
  ~core_messages() {
    for (const core::handler_id each : {done_, take_, ping_, pong_}) own_.remove_handler(each);
  }
  core_messages(const core_messages&) = delete;
  core_messages& operator=(const core_messages&) = delete;

  double latency_ns(std::uint64_t round_trips) {
    own_.barrier();
    const auto total_ns = wall_ns([&] {
      for (std::uint64_t word = 1; word <= round_trips; ++word) {
        ++expected_;
        if (own_.rank() == 0) own_.request_short(1, ping_, {word});
        own_.wait_until("latency", [&] { return handled_ >= expected_; });
      }
    });
    return total_ns / static_cast<double>(2 * round_trips);
  }

  double flood_m_per_s(std::uint64_t messages) {
    ended_ = 0;
    own_.barrier();
    const auto total_ns = wall_ns([&] {
      if (own_.rank() == 0) {
        for (std::uint64_t i = 0; i < messages; ++i) own_.request_short(1, take_, {i});
        own_.wait_until("the answer", [&] { return ended_ > 0; });
      } else {
        expected_ += messages;
        own_.wait_until("the flood", [&] { return handled_ >= expected_; });
        own_.request_short(0, done_);
      }
    });
    return static_cast<double>(messages) / total_ns * 1e3;
  }

  double short_ns() {
    return row_ns([&](std::uint64_t) { own_.request_short(1, take_, {1}); });
  }
  double medium_ns() {
    return row_ns([&](std::uint64_t) { own_.request_medium(1, take_, std::as_bytes(std::span(&word_, 1))); });
  }
  double long_ns() {
    return row_ns([&](std::uint64_t i) {
      own_.request_long({all_[1], 8 * i}, take_, std::as_bytes(std::span(&word_, 1)), {}, memory_.implicit());
    });
  }

  void check() const { expect_equal("messages", handled_, expected_); }

 private:
  /// A row is begun and timed by rank 0, and handled by rank 1.
  template <class Send>
  double row_ns(Send&& send) {
    own_.barrier();
    const auto total_ns = wall_ns([&] {
      for (std::uint64_t i = 0; own_.rank() == 0 && i < row; ++i) send(i);
    });
    if (own_.rank() == 0) {
      memory_.wait(memory_.implicit());
    } else {
      expected_ += row;
      own_.wait_until("a row", [&] { return handled_ >= expected_; });
    }
    own_.barrier();
    return total_ns / static_cast<double>(row);
  }

  core::endpoint& own_;
  core::memory& memory_;
  core::handler_id ping_{}, pong_{}, take_{}, done_{};
  std::vector<core::remote_segment> all_;
  std::uint64_t handled_ = 0, expected_ = 0, ended_ = 0;
  const std::uint64_t word_ = 1;
};

sample measure_ranks(world& w, const job_context& job) {
  core_messages messages(w);
  const auto rows = job.scaled(2001, 11);
  sample result;
  result["latency_ns"] = median_of(job.scaled(21, 3), [&] { return messages.latency_ns(job.scaled(4000, 100)); });
  result["flood_m_per_s"] =
      median_of(job.scaled(11, 3), [&] { return messages.flood_m_per_s(job.scaled(500'000, 2'000)); });
  result["short_ns"] = median_of(rows, [&] { return messages.short_ns(); });
  result["medium_ns"] = median_of(rows, [&] { return messages.medium_ns(); });
  result["long_ns"] = median_of(rows, [&] { return messages.long_ns(); });
  messages.check();
  return result;
}

void drive(driver& d) {
  job in_c{"C", {{AMITY_BENCH_C_PROGRAM, d.tiny() ? "tiny" : "full"}, {"AMITY_FABRIC=shm", "AMITY_RANKS=2"}}};
  job in_cpp = d.ranks(2);
  in_cpp.name = "C++";
  const contest jobs{.ours = std::move(in_c), .peer = std::move(in_cpp)};
  d.compare(jobs, {{"request, 8 B", "one-way time", "ns", "latency_ns", "", "latency_ns", {ratio_at_most(1.1)}},
                   {"request, 8 B", "rate", "M/s", "flood_m_per_s", "", "flood_m_per_s", {ratio_at_least(0.9)}},
                   {"short, 8 B", "injection", "ns", "short_ns", "", "short_ns", {ratio_at_most(1.25)}},
                   {"medium, 8 B", "injection", "ns", "medium_ns", "", "medium_ns", {ratio_at_most(1.25)}},
                   {"Long, 8 B", "injection", "ns", "long_ns", "", "long_ns", {ratio_at_most(1.25)}}});
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_ranks(w, job); });
}

}  // namespace

const benchmark c_interface{"c_interface", "requests and Longs through amity.h, beside the same in C++", drive,
                            measure};

}  // namespace amity::bench
