/// Puts through libfabric over TCP, as sealed packets and by the remote memory of the provider: against a stream of
/// nonblocking sends of Open MPI over TCP.

#include <cstring>
#include <span>
#include <vector>

#include "amity/base/assert.hpp"
#include "amity/core/memory.hpp"
#include "amity/fabric/remote_memory.hpp"
#include "amity/fabric/waiter.hpp"
#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/statistics.hpp"

namespace amity::bench {
namespace {

constexpr std::size_t put_bytes = std::size_t{1} << 20;
/// Puts under way at once, each from and to memory of its own.
constexpr std::size_t window = 64;

/// Between two barriers of the world, when no packets are under way.
class completions final : public fabric::sink {
 public:
  explicit completions(fabric::fabric& own) : own_(own) {}

  fabric::disposition on_packet(const fabric::packet& arrived) noexcept override {
    AMITY_ASSERT(false, arrived.header);
    return fabric::disposition::release;
  }
  void on_done(std::uint64_t) noexcept override { ++done; }
  void on_notify(std::uint32_t) noexcept override { ++notified; }

  template <class Condition>
  void until(Condition&& holds) {
    while (!holds()) {
      if (own_.poll(*this, 16) == 0) amity::fabric::wait(own_, 1'000'000'000);
    }
  }

  std::uint64_t done = 0, notified = 0;

 private:
  fabric::fabric& own_;
};

/// Gigabytes per second of `put_window`, which puts a window and waits for it.
template <class PutWindow>
double put_gbps(const job_context& job, PutWindow&& put_window) {
  const auto batches = job.scaled(5, 3);
  const auto windows = job.scaled<std::uint64_t>(4, 1);
  return median_of(batches, [&] {
    const double ns = wall_ns([&] {
      for (std::uint64_t i = 0; i < windows; ++i) put_window();
    });
    return static_cast<double>(windows * window * put_bytes) / ns;
  });
}

sample measure_packets(world& w, const job_context& job) {
  core::endpoint& own = w.endpoint();
  auto& memory = own.memory();
  const core::local_segment mine = memory.allocate(window * put_bytes);
  auto all = exchange(own, mine);
  w.barrier();
  sample result;
  if (w.rank() == 0) {
    const std::vector<std::byte> source(window * put_bytes, std::byte{1});
    result["put_gbps"] = put_gbps(job, [&] {
      core::event complete;
      for (std::size_t slot = 0; slot < window; ++slot) {
        memory.put({all[1], slot * put_bytes}, std::span(source).subspan(slot * put_bytes, put_bytes),
                   {.complete = &complete});
      }
      memory.wait(complete);
    });
  }
  w.barrier();
  if (w.rank() == 1) expect_equal("last byte", static_cast<std::uint64_t>(mine.data[window * put_bytes - 1]), 1);
  for (core::remote_segment& each : all) memory.close(each);
  return result;
}

sample measure_ranks(world& w, const job_context& job) {
  if (w.endpoint().transport().remote() == nullptr) return measure_packets(w, job);
  fabric::fabric& own = w.endpoint().transport();
  fabric::remote_memory& memory = *own.remote();
  fabric::segment made;
  fabric::remote_handle there;
  auto offer = w.message<fabric::segment_key>([&](const fabric::segment_key& key) { there = memory.open(1, key); });
  if (w.rank() == 1) made = memory.create(window * put_bytes);
  w.epoch([&] {
    if (w.rank() == 1) offer.send(0, made.key);
  });
  w.barrier();
  sample result;
  completions mine(own);
  if (w.rank() == 1) {
    mine.until([&] { return mine.notified == 1; });
    expect_equal("last byte", static_cast<std::uint64_t>(made.data[window * put_bytes - 1]), 1);
    memory.destroy(made);
  } else {
    const std::vector<std::byte> source(window * put_bytes, std::byte{1});
    result["put_gbps"] = put_gbps(job, [&] {
      mine.done = 0;
      for (std::size_t slot = 0; slot < window; ++slot) {
        const bytes_view from = std::span(source).subspan(slot * put_bytes, put_bytes);
        mine.until(
            [&] { return memory.put(there, slot * put_bytes, from, {.complete = 1}) != fabric::stage::refused; });
      }
      mine.until([&] { return mine.done == window; });
    });
    mine.until([&] { return memory.put_notify(there, 0, {}, 0, 0) != fabric::stage::refused; });
    memory.close(there);
  }
  w.barrier();
  return result;
}

void drive(driver& d) {
  for (const std::string provider : {"tcp;ofi_rxm", "net"}) {
    const contest sealed{d.ranks(2, {}, {"AMITY_FABRIC=ofi", "AMITY_OFI_PROVIDER=" + provider})};
    d.compare(sealed, {{provider + ", sealed: puts of 1 MiB", "bandwidth", "GB/s", "put_gbps"}});
    const contest jobs{d.ranks(2, {}, {"AMITY_FABRIC=ofi", "AMITY_OFI_SEALED=0", "AMITY_OFI_PROVIDER=" + provider}),
                       {},
                       d.open_mpi("Open MPI over TCP", {"stream", d.tiny() ? "3" : "5", d.tiny() ? "1" : "4"},
                                  {"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=tcp,self"})};
    d.compare(
        jobs,
        {{provider + ": puts of 1 MiB", "bandwidth", "GB/s", "put_gbps", "", "stream_gbps", {ratio_at_least(0.9)}}});
  }
}

int measure(job_context& job) {
  return run_ranks(job, [&](world& w) { return measure_ranks(w, job); });
}

}  // namespace

const benchmark ofi_bandwidth{"ofi_bandwidth", "puts of 1 MiB through libfabric over TCP, against Open MPI over TCP",
                              drive, measure};

}  // namespace amity::bench
