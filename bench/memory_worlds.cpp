/// Puts and gets through the core's remote memory: in the job's own world, in a further world, and on one node of a job
/// on two. The job of the composite has one rank more, on a node of its own, which sleeps.

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "amity/core/memory.hpp"
#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/statistics.hpp"
#include "bench/two_nodes.hpp"

namespace amity::bench {
namespace {

constexpr std::size_t bulk_bytes = std::size_t{64} << 10;

/// Rank 1's memory as rank 0 reaches it in one world.
class target {
 public:
  explicit target(world& in)
      : memory_(in.endpoint().memory()), all_(exchange(in.endpoint(), memory_.allocate(2 * bulk_bytes))) {}

  double put_word_ns(std::uint64_t count) {
    return each_ns(count, [&](std::uint64_t i) { memory_.put(word(i), std::as_bytes(std::span(&i, 1))); });
  }
  double get_word_ns(std::uint64_t count) {
    return each_ns(count, [&](std::uint64_t i) {
      std::uint64_t got = 0;
      memory_.get(word(i), std::as_writable_bytes(std::span(&got, 1)));
      sum_ += got;
    });
  }
  double put_bulk_ns(std::uint64_t count, bytes_view from) {
    return each_ns(count, [&](std::uint64_t) { memory_.put({all_[1], 0}, from); });
  }

 private:
  // A table of 4 KiB, after what bulk puts write.
  core::remote_address word(std::uint64_t i) const { return {all_[1], bulk_bytes + i % 512 * sizeof i}; }

  template <class Operation>
  static double each_ns(std::uint64_t count, Operation operation) {
    const double total_ns = wall_ns([&] {
      for (std::uint64_t i = 0; i < count; ++i) operation(i);
    });
    return total_ns / static_cast<double>(count);
  }

  core::memory& memory_;
  std::vector<core::remote_segment> all_;
  std::uint64_t sum_ = 0;
};

/// Measures two worlds in turns, so that both meet the same machine.
template <class Operation>
void measure_both(sample& result, const std::string& name, int batches, target& job, target& part,
                  Operation operation) {
  std::vector<double> job_ns, part_ns, ratios;
  for (int i = 0; i < batches; ++i) {
    job_ns.push_back(operation(job));
    part_ns.push_back(operation(part));
    ratios.push_back(part_ns.back() / job_ns.back());
  }
  result[name + "_ns"] = summarise(job_ns).median;
  result[name + "_part_ns"] = summarise(part_ns).median;
  result[name + "_part_by_job"] = summarise(ratios).median;
}

sample measure_memory(world& w, const job_context& job, target& of_job) {
  const auto batches = job.scaled(51, 3);
  const auto words = job.scaled<std::uint64_t>(50'000, 500);
  const auto bulks = job.scaled<std::uint64_t>(500, 5);
  target of_part(w);
  w.barrier();
  sample result;
  if (w.rank() == 0) {
    const std::vector<std::byte> source(bulk_bytes, std::byte{1});
    measure_both(result, "put_8", batches, of_job, of_part, [&](target& at) { return at.put_word_ns(words); });
    measure_both(result, "get_8", batches, of_job, of_part, [&](target& at) { return at.get_word_ns(words); });
    measure_both(result, "put_64k", batches, of_job, of_part,
                 [&](target& at) { return at.put_bulk_ns(bulks, source); });
  }
  w.barrier();
  return result;
}

sample measure_ranks(world& w, const job_context& job) {
  target of_job(w);
  return measure_near(w, [&](world& part) { return measure_memory(part, job, of_job); });
}

int measure(job_context& job) {
  choose_node();
  return run_ranks(job, [&](world& w) { return measure_ranks(w, job); });
}

void drive(driver& d) {
  contest jobs{d.ranks(3, {}, {"AMITY_FABRIC=composite", "AMITY_OFI_ADDRESS=127.0.0.1"}), {}, d.ranks(2)};
  jobs.ours.name = "composite";
  jobs.peer->name = "shm alone";
  d.compare(
      jobs,
      {
          {"put, 8 B", "time", "ns", "put_8_ns", "", "put_8_ns", {ratio_at_most(1.05)}},
          {"get, 8 B", "time", "ns", "get_8_ns", "", "get_8_ns", {ratio_at_most(1.05)}},
          {"put, 64 KiB", "time", "ns", "put_64k_ns", "", "put_64k_ns", {ratio_at_most(1.05)}},
          {"put, 8 B: part / job", "time", "x", "put_8_part_by_job", "", "put_8_part_by_job", {at_most(1.05)}},
          {"get, 8 B: part / job", "time", "x", "get_8_part_by_job", "", "get_8_part_by_job", {at_most(1.05)}},
          {"put, 64 KiB: part / job", "time", "x", "put_64k_part_by_job", "", "put_64k_part_by_job", {at_most(1.05)}},
      });
}

}  // namespace

const benchmark memory_worlds{"memory_worlds", "puts and gets in a further world, and on one node of two", drive,
                              measure};

}  // namespace amity::bench
