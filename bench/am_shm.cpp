/// One active message on a window over shared memory, and a request and its reply by the core, in turns.

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/am_variants.hpp"
#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/statistics.hpp"

namespace amity::bench {
namespace {

constexpr rank_t origin = 0, target = 1;

/// A request with the input of a segment, whose handler makes the output, and a reply with it.
template <class Workload>
class request_and_reply {
 public:
  using element = typename Workload::element;

  request_and_reply(core::endpoint& endpoint, std::span<element> memory) : endpoint_(endpoint), memory_(memory) {
    reply_ = endpoint_.add_handler("reply", [this](core::request& from) {
      std::memcpy(output_.data(), from.payload().data(), sizeof output_);
      ++replies_;
    });
    request_ = endpoint_.add_handler("request", [this](core::request& from) {
      std::array<element, Workload::outputs> made{};
      std::array<element, Workload::inputs> input;
      std::memcpy(input.data(), from.payload().data(), sizeof input);
      Workload::handle({.segments = 1,
                        .input = std::as_bytes(std::span(input)),
                        .persistent = std::as_writable_bytes(memory_),
                        .output = std::as_writable_bytes(std::span(made))});
      from.reply_medium(reply_, std::as_bytes(std::span(made)));
    });
  }
  ~request_and_reply() {
    endpoint_.remove_handler(request_);
    endpoint_.remove_handler(reply_);
  }
  request_and_reply(const request_and_reply&) = delete;
  request_and_reply& operator=(const request_and_reply&) = delete;

  void call(std::span<const element> input) {
    const std::uint64_t wanted = ++requests_;
    endpoint_.request_medium(target, request_, std::as_bytes(input));
    endpoint_.wait_until("am_shm", [&] { return replies_ == wanted; });
  }
  void check() const {
    for (std::size_t i = 0; i < output_.size(); ++i)
      expect_equal("output of a reply", output_[i] == Workload::output(i) ? 1 : 0, 1);
  }

 private:
  core::endpoint& endpoint_;
  std::span<element> memory_;
  core::handler_id reply_{}, request_{};
  std::array<element, Workload::outputs> output_{};
  std::uint64_t requests_ = 0, replies_ = 0;
};

template <class Workload>
void measure_workload(world& w, const std::string& name, int batches, int count, sample& into) {
  am_window<Workload> window(w, am_exclusive, w.rank() == origin ? target : no_rank, w.rank() == target, {});
  am_data<Workload> data(1);
  request_and_reply<Workload> core(w.endpoint(), window.memory().local());
  w.barrier();
  if (w.rank() == origin) {
    const auto mean_ns = [&](auto&& call) {
      return wall_ns([&] {
               for (int i = 0; i < count; ++i) call();
             }) /
             count;
    };
    window.memory().lock(lock_kind::shared, target);
    std::vector<double> message_ns, request_ns, ratios;
    for (int batch = -1; batch < batches; ++batch) {  // the first one is not counted
      const double by_core_ns = mean_ns([&] { core.call(data.input); });
      const double ns = mean_ns([&] {
        window.send(target, data, 0, 1);
        window.memory().flush(target);
      });
      if (batch < 0) continue;
      message_ns.push_back(ns);
      request_ns.push_back(by_core_ns);
      ratios.push_back(ns / by_core_ns);
    }
    window.memory().unlock(target);
    data.check(1);
    core.check();
    const am_counters used = window.memory().counters_of(target);
    into[name + "_ns"] = summarise(message_ns).median;
    into[name + "_core_ns"] = summarise(request_ns).median;
    into[name + "_of_core"] = summarise(ratios).median;
    into[name + "_requests"] = static_cast<double>(used.handshakes + used.queries + used.refusals);
  }
  w.barrier();
}

int measure(job_context& job) {
  const int batches = std::stoi(job.args.at("batches")), count = std::stoi(job.args.at("count"));
  return run_ranks(job, [&](world& w) {
    sample result;
    measure_workload<search_workload>(w, "search", batches, count, result);
    measure_workload<absolute_workload>(w, "absolute", batches, count, result);
    return result;
  });
}

void drive(driver& d) {
  const arguments args{{"batches", d.tiny() ? "3" : "501"}, {"count", d.tiny() ? "20" : "300"}};
  std::vector<figure> rows;
  for (const auto& [name, key] : {std::pair<std::string, std::string>("search, 20 B in and out", "search"),
                                  {"absolute values, 400 B in and out", "absolute"}}) {
    rows.push_back({name + ": message and flush", "time", "ns", key + "_ns"});
    rows.push_back({name + ": core request and reply", "time", "ns", key + "_core_ns"});
    rows.push_back({name, "message / request and reply", "", key + "_of_core", "", "", {at_most(1.5)}});
    rows.push_back({name, "handshakes, queries, refusals", "", key + "_requests", "", "", {at_most(0)}});
  }
  d.compare({.ours = d.ranks(2, args)}, rows);
}

}  // namespace

const benchmark am_shm{"am_shm", "an active message on a window, and a request and its reply by the core", drive,
                       measure};

}  // namespace amity::bench
