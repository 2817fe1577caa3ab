/// Short messages sent one way as fast as they go, each a packet of its own.

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

/// Rank 0 sends requests; rank 1 answers when the last one has been handled.
class request_flood {
 public:
  explicit request_flood(core::endpoint& endpoint) : endpoint_(endpoint) {
    message_ = endpoint_.add_handler("message", [this](core::request& from) {
      ++handled_;
      sum_ += from.args()[0];
    });
    done_ = endpoint_.add_handler("done", [this](core::request&) { ++answers_; });
  }
  ~request_flood() {
    endpoint_.remove_handler(done_);
    endpoint_.remove_handler(message_);
  }
  request_flood(const request_flood&) = delete;
  request_flood& operator=(const request_flood&) = delete;

  double m_per_s(std::size_t words, std::uint64_t messages) {
    ++batches_;
    expected_ += messages;
    expected_sum_ += messages * (messages - 1) / 2;
    const auto total_ns = wall_ns([&] {
      if (endpoint_.rank() == 0) {
        send_all(words, messages);
        endpoint_.wait_until("short_flood, answer", [&] { return answers_ == batches_; });
      } else {
        endpoint_.wait_until("short_flood", [&] { return handled_ == expected_; });
        endpoint_.request_short(0, done_);
      }
    });
    return static_cast<double>(messages) / total_ns * 1e3;
  }

  void check() const {
    if (endpoint_.rank() == 1) expect_equal("sum of the arguments", sum_, expected_sum_);
  }

 private:
  void send_all(std::size_t words, std::uint64_t messages) {
    std::array<std::uint64_t, core::args_max> args{};
    for (std::uint64_t i = 0; i < messages; ++i) {
      args[0] = i;
      endpoint_.request_short(1, message_, std::span(args).first(words));
    }
  }

  core::endpoint& endpoint_;
  core::handler_id message_{};
  core::handler_id done_{};
  std::uint64_t batches_ = 0;
  std::uint64_t answers_ = 0;
  std::uint64_t handled_ = 0;
  std::uint64_t expected_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t expected_sum_ = 0;
};

/// One epoch of typed messages without a policy, from rank 0 to rank 1.
double typed_m_per_s(world& w, std::uint64_t messages) {
  std::uint64_t sum = 0;
  auto add = w.message<std::uint64_t>([&](const std::uint64_t& value) { sum += value; });
  const auto total_ns = wall_ns([&] {
    w.epoch([&] {
      if (w.rank() != 0) return;
      for (std::uint64_t i = 0; i < messages; ++i) add.send(1, i);
    });
  });
  if (w.rank() == 1) expect_equal("sum", sum, messages * (messages - 1) / 2);
  return static_cast<double>(messages) / total_ns * 1e3;
}

sample measure_ranks(world& w, const job_context& job) {
  const auto batches = job.scaled(11, 3);
  const auto messages = job.scaled<std::uint64_t>(500'000, 2'000);
  sample result;
  {
    request_flood requests(w.endpoint());
    w.barrier();
    result["request_8_m_per_s"] = median_of(batches, [&] { return requests.m_per_s(1, messages); });
    result["request_48_m_per_s"] = median_of(batches, [&] { return requests.m_per_s(6, messages); });
    requests.check();
    w.barrier();
  }
  result["typed_8_m_per_s"] = median_of(batches, [&] { return typed_m_per_s(w, messages); });
  return result;
}

void drive(driver& d) {
  const auto batches = d.tiny() ? "3" : "5";
  const auto messages = d.tiny() ? "1000" : "200000";
  const contest jobs{d.ranks(2), std::nullopt, d.open_mpi("Open MPI send/recv", {batches, "10", messages, "8"})};
  d.compare(jobs, {
                      {"core request, 8 B", "rate", "M/s", "request_8_m_per_s", "", "flood_8_m_per_s", {at_least(30)}},
                      {"core request, 48 B", "rate", "M/s", "request_48_m_per_s", "", "flood_48_m_per_s", {}},
                      {"typed message, 8 B", "rate", "M/s", "typed_8_m_per_s", "", "flood_8_m_per_s", {}},
                  });
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_ranks(w, job); });
}

}  // namespace

const benchmark short_flood{"short_flood", "short messages one way, not coalesced", drive, measure};

}  // namespace amity::bench
