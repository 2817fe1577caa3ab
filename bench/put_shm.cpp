/// Remote memory between processes of one node: puts, gets and atomics that block until they are complete.

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "amity/fabric/remote_memory.hpp"
#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/statistics.hpp"

namespace amity::bench {
namespace {

constexpr std::size_t bulk_bytes = std::size_t{64} << 10;

/// The compiler may not know what memory holds: each operation is one of its own.
void forget_memory() noexcept { asm volatile("" ::: "memory"); }

/// Rank 1 offers a segment; rank 0 has a handle.
class offered_segment {
 public:
  offered_segment(world& w, std::size_t bytes) : memory_(*w.endpoint().transport().remote()) {
    auto offer =
        w.message<fabric::segment_key>([this](const fabric::segment_key& key) { opened_ = memory_.open(1, key); });
    if (w.rank() == 1) made_ = memory_.create(bytes);
    w.epoch([&] {
      if (w.rank() == 1) offer.send(0, made_.key);
    });
  }
  ~offered_segment() {
    if (opened_.bytes > 0) memory_.close(opened_);
    if (made_.bytes > 0) memory_.destroy(made_);
  }
  offered_segment(const offered_segment&) = delete;
  offered_segment& operator=(const offered_segment&) = delete;

  fabric::remote_memory& memory() { return memory_; }
  const fabric::remote_handle& there() const { return opened_; }
  const fabric::segment& here() const { return made_; }

 private:
  fabric::remote_memory& memory_;
  fabric::segment made_;
  fabric::remote_handle opened_;
};

/// What rank 0 does with the segment. Every operation is complete when it returns.
class origin {
 public:
  explicit origin(offered_segment& target) : memory_(target.memory()), there_(target.there()) {}

  double put_word_ns(std::uint64_t count) {
    return each_ns(count, [&](std::uint64_t i) {
      const std::uint64_t word = i;
      return memory_.put(there_, word_of(i), std::as_bytes(std::span(&word, 1)));
    });
  }
  double get_word_ns(std::uint64_t count) {
    return each_ns(count, [&](std::uint64_t i) {
      std::uint64_t word = 0;
      const auto reached = memory_.get(there_, word_of(i), std::as_writable_bytes(std::span(&word, 1)), 0);
      sum_ += word;
      return reached;
    });
  }
  double fetch_add_ns(std::uint64_t count) {
    return each_ns(count, [&](std::uint64_t i) {
      std::uint64_t before = 0;
      const auto reached = memory_.atomic(there_, word_of(i), {.op = fabric::atomic_op::add, .operand = 1}, &before, 0);
      sum_ += before;
      return reached;
    });
  }
  double put_bulk_gbps(std::uint64_t count, bytes_view from) {
    const double ns = each_ns(count, [&](std::uint64_t) { return memory_.put(there_, 0, from); });
    return static_cast<double>(from.size()) / ns;
  }

 private:
  // A table of 4 KiB, behind what bulk puts write.
  static std::size_t word_of(std::uint64_t i) { return bulk_bytes + i % 512 * sizeof i; }

  template <class Operation>
  double each_ns(std::uint64_t count, Operation operation) {
    fabric::stage least = fabric::stage::complete;
    const double total_ns = wall_ns([&] {
      for (std::uint64_t i = 0; i < count; ++i) {
        least = std::min(least, operation(i));
        forget_memory();
      }
    });
    expect_equal("stage", static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(fabric::stage::complete));
    return total_ns / static_cast<double>(count);
  }

  fabric::remote_memory& memory_;
  const fabric::remote_handle& there_;
  std::uint64_t sum_ = 0;
};

sample measure_ranks(world& w, const job_context& job) {
  const auto batches = job.scaled(21, 3);
  const auto words = job.scaled<std::uint64_t>(200'000, 2048);
  const auto bulks = job.scaled<std::uint64_t>(2000, 20);
  offered_segment target(w, 2 * bulk_bytes);
  w.barrier();
  sample result;
  if (w.rank() == 0) {
    origin from(target);
    result["get_8_ns"] = median_of(batches, [&] { return from.get_word_ns(words); });
    result["fetch_add_ns"] = median_of(batches, [&] { return from.fetch_add_ns(words); });
    result["put_8_ns"] = median_of(batches, [&] { return from.put_word_ns(words); });

    // Bulk puts and copies in private memory in turns, so that both meet the same machine.
    const std::vector<std::byte> source(bulk_bytes, std::byte{1});
    std::vector<std::byte> own(bulk_bytes);
    std::vector<double> copied_gbps;
    result["put_64k_gbps"] = median_of(batches, [&] {
      const double copy_ns = wall_ns([&] {
        for (std::uint64_t i = 0; i < bulks; ++i) {
          std::memcpy(own.data(), source.data(), bulk_bytes);
          forget_memory();
        }
      });
      copied_gbps.push_back(static_cast<double>(bulk_bytes * bulks) / copy_ns);
      return from.put_bulk_gbps(bulks, source);
    });
    result["memcpy_64k_gbps"] = summarise(copied_gbps).median;
    result["put_by_memcpy"] = result["put_64k_gbps"] / result["memcpy_64k_gbps"];
  }
  w.barrier();
  if (w.rank() == 1) {
    std::uint64_t last = 0;
    std::memcpy(&last, target.here().data + bulk_bytes + (words - 1) % 512 * sizeof last, sizeof last);
    expect_equal("last word", last, words - 1);
    expect_equal("sum of the bytes", sum_words({target.here().data, bulk_bytes}),
                 bulk_bytes / 8 * 0x0101'0101'0101'0101u);
  }
  w.barrier();
  return result;
}

void drive(driver& d) {
  const contest jobs{d.ranks(2)};
  d.compare(jobs, {
                      {"put, 8 B", "time", "ns", "put_8_ns", "", "", {at_most(3)}},
                      {"get, 8 B", "time", "ns", "get_8_ns", "", "", {}},
                      {"fetch-add, 8 B", "time", "ns", "fetch_add_ns", "", "", {at_most(20)}},
                      {"put, 64 KiB", "bandwidth", "GB/s", "put_64k_gbps", "", "", {at_least(50)}},
                      {"memcpy, 64 KiB", "bandwidth", "GB/s", "memcpy_64k_gbps", "", "", {}},
                      {"put / memcpy, 64 KiB", "bandwidth", "x", "put_by_memcpy", "", "", {at_least(0.9)}},
                  });
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_ranks(w, job); });
}

}  // namespace

const benchmark put_shm{"put_shm", "puts, gets and atomics on memory of a rank of the same node", drive, measure};

}  // namespace amity::bench
