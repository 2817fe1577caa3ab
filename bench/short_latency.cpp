/// One-way time of a short message, its handler's call included: half a ping-pong.

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

/// Rank 0 requests, rank 1's handler replies, rank 0's handler counts.
class request_ping_pong {
 public:
  explicit request_ping_pong(core::endpoint& endpoint) : endpoint_(endpoint) {
    pong_ = endpoint_.add_handler("pong", [this](core::request& from) { take(from); });
    ping_ = endpoint_.add_handler("ping", [this](core::request& from) {
      take(from);
      from.reply_short(pong_, from.args());
    });
  }
  ~request_ping_pong() {
    endpoint_.remove_handler(ping_);
    endpoint_.remove_handler(pong_);
  }
  request_ping_pong(const request_ping_pong&) = delete;
  request_ping_pong& operator=(const request_ping_pong&) = delete;

  /// Mean over a batch; `words` is the size of a message.
  double one_way_ns(std::size_t words, std::uint64_t round_trips) {
    std::array<std::uint64_t, core::args_max> args{};
    const auto total_ns = wall_ns([&] {
      for (std::uint64_t i = 0; i < round_trips; ++i) {
        args[0] = ++expected_;
        expected_sum_ += expected_;
        if (endpoint_.rank() == 0) endpoint_.request_short(1, ping_, std::span(args).first(words));
        endpoint_.wait_until("short_latency", [&] { return handled_ >= expected_; });
      }
    });
    return total_ns / static_cast<double>(2 * round_trips);
  }

  void check() const {
    expect_equal("messages", handled_, expected_);
    expect_equal("sum of the arguments", sum_, expected_sum_);
  }

 private:
  void take(const core::request& from) {
    ++handled_;
    sum_ += from.args()[0];
  }

  core::endpoint& endpoint_;
  core::handler_id ping_{};
  core::handler_id pong_{};
  std::uint64_t handled_ = 0;
  std::uint64_t expected_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t expected_sum_ = 0;
};

/// One epoch in which a typed message bounces between the ranks; no policy, so each hop is a packet of its own.
double typed_one_way_ns(world& w, std::uint64_t hops) {
  std::uint64_t handled = 0;
  const rank_t peer = 1 - w.rank();
  auto bounce = w.message<std::uint64_t>([&](const std::uint64_t& hops_left, auto& self) {
    ++handled;
    if (hops_left > 1) self.send(peer, hops_left - 1);
  });
  const auto total_ns = wall_ns([&] {
    w.epoch([&] {
      if (w.rank() == 0) bounce.send(peer, hops);
    });
  });
  expect_equal("hops", handled, hops / 2);
  return total_ns / static_cast<double>(hops);
}

sample measure_ranks(world& w, const job_context& job) {
  const auto batches = job.scaled(21, 3);
  const auto round_trips = job.scaled<std::uint64_t>(4000, 100);
  sample result;
  {
    request_ping_pong requests(w.endpoint());
    w.barrier();
    result["request_8_ns"] = median_of(batches, [&] { return requests.one_way_ns(1, round_trips); });
    result["request_48_ns"] = median_of(batches, [&] { return requests.one_way_ns(6, round_trips); });
    requests.check();
    w.barrier();
  }
  result["typed_8_ns"] = median_of(batches, [&] { return typed_one_way_ns(w, 2 * round_trips); });
  return result;
}

void drive(driver& d) {
  const std::vector<std::string> peer_words = d.tiny() ? std::vector<std::string>{"3", "100", "0", "8"}
                                                       : std::vector<std::string>{"21", "4000", "0", "8", "48"};
  const contest jobs{d.ranks(2), d.raw("line_handover", "one line handed over"),
                     d.open_mpi("Open MPI send/recv", peer_words)};
  const std::string peer_48 = d.tiny() ? "" : "ping_pong_48_ns";
  d.compare(jobs, {
                      {"core request, 8 B",
                       "one-way time",
                       "ns",
                       "request_8_ns",
                       "one_line_ns",
                       "ping_pong_8_ns",
                       {at_most(170), ratio_at_most(0.7)}},
                      {"core request, 48 B", "one-way time", "ns", "request_48_ns", "one_line_ns", peer_48, {}},
                      {"typed message, 8 B", "one-way time", "ns", "typed_8_ns", "one_line_ns", "ping_pong_8_ns", {}},
                  });
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_ranks(w, job); });
}

/// Providers of libfabric that carry datagrams over TCP.
void drive_ofi(driver& d) {
  for (const auto& [provider, sealed] :
       {std::pair<std::string, bool>{"tcp;ofi_rxm", true}, {"tcp;ofi_rxm", false}, {"net", true}, {"net", false}}) {
    const contest jobs{d.ranks(2, {},
                               {"AMITY_FABRIC=ofi", std::string("AMITY_OFI_SEALED=") + (sealed ? "1" : "0"),
                                "AMITY_OFI_PROVIDER=" + provider}),
                       d.raw("tcp_ping_pong", "bare TCP")};
    const std::string row = provider + (sealed ? ", sealed: " : ": ");
    d.compare(jobs, {
                        {row + "core request, 8 B", "one-way time", "ns", "request_8_ns", "one_way_ns", "",
                         sealed ? std::vector<asked>{} : std::vector<asked>{at_most(4000), limit_at_most(1.4)}},
                        {row + "typed message, 8 B", "one-way time", "ns", "typed_8_ns", "one_way_ns"},
                    });
  }
}

}  // namespace

const benchmark ofi_short_latency{"ofi_short_latency", "one-way time of a short message through libfabric over TCP",
                                  drive_ofi, measure};

const benchmark short_latency{"short_latency", "one-way time of a short message, handler call included", drive,
                              measure};

}  // namespace amity::bench
