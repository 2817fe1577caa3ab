/// One-sided windows on two ranks of one node, against the windows of each MPI (bench/peer/window.cpp).

#include "amity/window/window.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/statistics.hpp"

namespace amity::bench {
namespace {

// The peer has the same two.
constexpr std::size_t window_bytes = std::size_t{1} << 20;
constexpr std::size_t words_used = 512;

constexpr rank_t origin = 0, target = 1;

template <class T>
window<T> make_window(world& w) {
  return w.allocate_window<T>(window_bytes / sizeof(T));
}

/// Calls `operation(i)` for each i below `count`. Returns the mean time of a call.
template <class Operation>
double each_ns(int count, Operation operation) {
  const double total_ns = wall_ns([&] {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) operation(i);
  });
  return total_ns / count;
}

/// Returns the sample of `measure`, which the origin calls with a lock of all ranks. The other rank waits in a barrier.
template <class T, class Measure>
sample locked_sample(world& w, window<T>& memory, Measure measure) {
  sample result;
  if (w.rank() == origin) {
    memory.lock_all();
    result = measure();
    memory.unlock_all();
  }
  w.barrier();
  return result;
}

template <bool FlushEach>
sample measure_puts(world& w, int batches, int count) {
  auto memory = make_window<std::uint64_t>(w);
  const sample result = locked_sample(w, memory, [&] {
    const double ns = median_of(batches, [&] {
      const double total_ns = wall_ns([&] {
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
          memory.put(target, i % words_used, i % words_used + 1);
          if constexpr (FlushEach) memory.flush(target);
        }
        memory.flush(target);
      });
      return total_ns / count;
    });
    return sample{{"ns", ns}, {"m_per_s", 1e3 / ns}};
  });
  if (w.rank() == target) {
    const auto last = static_cast<std::size_t>(count - 1) % words_used;
    expect_equal("last word", memory.local()[last], last + 1);
  }
  return result;
}

sample measure_gets(world& w, int batches, int count) {
  auto memory = make_window<std::uint64_t>(w);
  std::iota(memory.local().begin(), memory.local().end(), std::uint64_t{0});
  w.barrier();
  return locked_sample(w, memory, [&] {
    std::uint64_t word = 0, sum = 0, expected_sum = 0;
    const double ns = median_of(batches, [&] {
      return each_ns(count, [&](std::size_t i) {
        memory.get(target, i % words_used, word);
        memory.flush(target);
        sum += word;
        expected_sum += i % words_used;
      });
    });
    expect_equal("sum of the words", sum, expected_sum);
    return sample{{"ns", ns}};
  });
}

sample measure_bandwidth(world& w, int batches, int count) {
  auto memory = make_window<std::uint64_t>(w);
  const std::vector<std::uint64_t> source(memory.local().size(), 1);
  const auto gbps = [&](std::size_t bytes, int puts) {
    const auto from = std::span(source).first(bytes / sizeof source[0]);
    return static_cast<double>(bytes) / each_ns(puts, [&](std::size_t) {
             memory.put(target, 0, from);
             memory.flush(target);
           });
  };
  const sample result = locked_sample(w, memory, [&] {
    return sample{
        {"put_64k_gbps", median_of(batches, [&] { return gbps(std::size_t{64} << 10, count); })},
        {"put_1m_gbps", median_of(batches, [&] { return gbps(window_bytes, (count + 15) / 16); })},
    };
  });
  if (w.rank() == target) expect_equal("sum of the words", sum_words(std::as_bytes(memory.local())), source.size());
  return result;
}

sample measure_atomics(world& w, int batches, int count) {
  auto sums = make_window<std::int64_t>(w);
  auto swapped = make_window<std::int32_t>(w);
  sample result = locked_sample(w, sums, [&] {
    std::int64_t previous = 0;
    return sample{
        {"accumulate_ns", median_of(batches,
                                    [&] {
                                      return each_ns(count, [&](std::size_t i) {
                                        sums.accumulate(accumulate_op::sum, target, i % words_used, 1);
                                        sums.flush(target);
                                      });
                                    })},
        {"fetch_and_op_ns", median_of(batches,
                                      [&] {
                                        return each_ns(count, [&](std::size_t i) {
                                          sums.fetch_and_op(accumulate_op::sum, target, i % words_used, 1, previous);
                                          sums.flush(target);
                                        });
                                      })},
    };
  });
  result.merge(locked_sample(w, swapped, [&] {
    std::int32_t value = 0;
    return sample{{"compare_and_swap_ns", median_of(batches, [&] {
                     return each_ns(count, [&](std::size_t) {
                       std::int32_t previous = 0;
                       swapped.compare_and_swap(target, 0, value, value + 1, previous);
                       swapped.flush(target);
                       if (previous == value) ++value;
                     });
                   })}};
  }));
  if (w.rank() == target) {
    const auto calls = static_cast<std::uint64_t>(batches) * static_cast<std::uint64_t>(count);
    const auto sum = std::accumulate(sums.local().begin(), sums.local().end(), std::int64_t{0});
    expect_equal("sum", static_cast<std::uint64_t>(sum), 2 * calls);
    expect_equal("swaps", static_cast<std::uint64_t>(swapped.local()[0]), calls);
  }
  return result;
}

/// Mean time of an epoch in microseconds; `epoch` is one of them.
template <class Epoch>
sample measure_epochs(world& w, int batches, int count, Epoch epoch) {
  return {{"us", median_of(batches, [&] {
             w.barrier();
             return each_ns(count, [&](std::size_t) { epoch(); }) * 1e-3;
           })}};
}

sample measure_fences(world& w, int batches, int count) {
  auto memory = make_window<std::uint64_t>(w);
  memory.fence(window_assert::no_precede);
  const sample result = measure_epochs(w, batches, count, [&] { memory.fence(); });
  memory.fence(window_assert::no_succeed);
  return result;
}

/// Each rank is an origin and a target for the ranks before and after it in a ring.
sample measure_pscw(world& w, int batches, int count) {
  auto memory = make_window<std::uint64_t>(w);
  std::vector<rank_t> neighbors{(w.rank() + 1) % w.size()};
  if (w.size() > 2) neighbors.push_back((w.rank() + w.size() - 1) % w.size());
  return measure_epochs(w, batches, count, [&] {
    memory.post(neighbors);
    memory.start(neighbors);
    memory.complete();
    memory.wait();
  });
}

template <sample (*Measure)(world&, int, int)>
int measure(job_context& job) {
  const int batches = std::stoi(job.args.at("batches")), count = std::stoi(job.args.at("count"));
  return run_ranks(job, [&](world& w) { return Measure(w, batches, count); });
}

/// What the job and its peers measure.
struct plan {
  std::string what;  ///< first argument of the peer
  int count;         ///< operations per batch
  int batches = 21;
  int ranks = 2;
  int rounds = 7;
};

figure row(std::string config, std::string metric, std::string unit, const std::string& key, asked wanted) {
  return {std::move(config), std::move(metric), std::move(unit), key, "", key, {wanted}};
}

/// Adds the rows once for each MPI.
void compare(driver& d, const plan& full, const std::vector<figure>& rows) {
  const std::string batches = std::to_string(d.tiny() ? 3 : full.batches);
  const std::string count = std::to_string(d.tiny() ? 20 : full.count);
  contest jobs{d.ranks(full.ranks, {{"batches", batches}, {"count", count}})};
  jobs.rounds = full.rounds;
  const auto mpis = mpi_installations();
  if (mpis.empty()) d.compare(jobs, rows);
  for (const mpi_installation& mpi : mpis) {
    jobs.peer = d.mpi_window(mpi, full.ranks, {full.what, batches, count});
    auto named = rows;
    for (figure& one : named) one.config += fmt::format(", against {}", mpi.name);
    d.compare(jobs, named);
  }
}

void drive_put_latency(driver& d) {
  compare(d, {"put_latency", 100'000}, {row("put and flush, 8 B", "time", "ns", "ns", ratio_at_most(1))});
}

void drive_get_latency(driver& d) {
  compare(d, {"get_latency", 100'000}, {row("get and flush, 8 B", "time", "ns", "ns", ratio_at_most(1))});
}

void drive_put_rate(driver& d) {
  compare(d, {"put_rate", 200'000}, {row("puts of 8 B, one flush", "rate", "M/s", "m_per_s", ratio_at_least(1))});
}

void drive_put_bandwidth(driver& d) {
  compare(d, {"put_bandwidth", 1600},
          {row("put and flush, 64 KiB", "bandwidth", "GB/s", "put_64k_gbps", ratio_at_least(1.0)),
           row("put and flush, 1 MiB", "bandwidth", "GB/s", "put_1m_gbps", ratio_at_least(1.0))});
}

void drive_atomics(driver& d) {
  compare(d, {"atomics", 50'000},
          {row("accumulate and flush, 8 B", "time", "ns", "accumulate_ns", ratio_at_most(1)),
           row("fetch_and_op and flush, 8 B", "time", "ns", "fetch_and_op_ns", ratio_at_most(1)),
           row("compare_and_swap and flush, 4 B", "time", "ns", "compare_and_swap_ns", ratio_at_most(1))});
}

void compare_epochs(driver& d, const std::string& what) {
  compare(d, {what, 2000}, {row("empty, 2 ranks", "time", "us", "us", ratio_at_most(1))});
  // An epoch of MPICH takes 20 to 40 ms then.
  compare(d, {what, 50, 5, 8, 3}, {row("empty, 8 ranks on 2 cores", "time", "us", "us", ratio_at_most(1))});
}

void drive_fence(driver& d) { compare_epochs(d, "fence"); }
void drive_pscw(driver& d) { compare_epochs(d, "pscw"); }

}  // namespace

const benchmark window_put_latency{"window_put_latency", "put of 8 bytes into a window, and flush", drive_put_latency,
                                   measure<measure_puts<true>>};
const benchmark window_get_latency{"window_get_latency", "get of 8 bytes out of a window, and flush", drive_get_latency,
                                   measure<measure_gets>};
const benchmark window_put_rate{"window_put_rate", "puts of 8 bytes into a window, one flush at the end",
                                drive_put_rate, measure<measure_puts<false>>};
const benchmark window_put_bandwidth{"window_put_bandwidth", "puts of 64 KiB and 1 MiB into a window",
                                     drive_put_bandwidth, measure<measure_bandwidth>};
const benchmark window_atomics{"window_atomics", "accumulate, fetch_and_op and compare_and_swap on a window",
                               drive_atomics, measure<measure_atomics>};
const benchmark window_fence{"window_fence", "fences of a window without operations", drive_fence,
                             measure<measure_fences>};
const benchmark window_pscw{"window_pscw", "post, start, complete and wait of a window without operations", drive_pscw,
                            measure<measure_pscw>};

}  // namespace amity::bench
