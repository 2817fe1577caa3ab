#include "amity/world/bootstrap/launched.hpp"

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/core/team.hpp"
#include "amity/fabric/shm/job_memory.hpp"

namespace amity::detail {
namespace {

using fabric::bootstrap;
using fabric::shm::job_memory;
using fabric::shm::rank_state;

/// What one rank has given to one all-gather. All-zero memory is a valid initial state.
struct alignas(cache_line_bytes) contribution {
  std::atomic<std::uint32_t> bytes_plus_one;
  char blob[bootstrap::blob_bytes_max];
};

/// Distinguishes this use of a job's memory from that of another fabric.
constexpr std::uint64_t layout = 0x6f66692d73746172;

class launched final : public bootstrap {
 public:
  /// The job's memory has a place for each lane.
  launched(job_memory job, rank_t rank, rank_t lanes) : job_(std::move(job)), rank_(rank), lanes_(lanes) {
    for (rank_t i = 0; i < lanes_; ++i) job_.join(first_lane() + i);
    job_.agree(layout, first_lane());
    board_ = reinterpret_cast<contribution*>(
        job_.region(static_cast<std::size_t>(size()) * rounds_max * sizeof(contribution)));
  }
  ~launched() override {
    for (rank_t i = 0; i < lanes_; ++i) job_.leave(first_lane() + i);
  }

  rank_t rank() const noexcept override { return rank_; }
  rank_t size() const noexcept override { return job_.ranks() / lanes_; }

  std::vector<std::string> all_gather(std::string_view mine) override {
    AMITY_ASSERT(round_ < rounds_max && mine.size() <= blob_bytes_max, round_, mine.size());
    contribution& own = at(rank_);
    std::memcpy(own.blob, mine.data(), mine.size());
    // Release; pairs with the acquire in `read`.
    own.bytes_plus_one.store(static_cast<std::uint32_t>(mine.size()) + 1, std::memory_order_release);
    std::vector<std::string> all;
    for (rank_t rank = 0; rank < size(); ++rank) all.push_back(read(rank));
    ++round_;
    return all;
  }

 private:
  bool aborted_elsewhere() const noexcept override { return job_.aborted(); }
  void tell_of_abort() noexcept override { job_.abort(first_lane()); }

  rank_t first_lane() const noexcept { return rank_ * lanes_; }
  contribution& at(rank_t rank) noexcept { return board_[rank * rounds_max + round_]; }

  std::string read(rank_t rank) {
    using namespace std::chrono_literals;
    const contribution& theirs = at(rank);
    std::uint32_t bytes_plus_one = 0;
    while ((bytes_plus_one = theirs.bytes_plus_one.load(std::memory_order_acquire)) == 0) {
      if (job_.aborted()) throw job_aborted("amity: another rank has ended the job");
      std::this_thread::sleep_for(200us);
    }
    return {theirs.blob, bytes_plus_one - 1};
  }

  job_memory job_;
  rank_t rank_;
  rank_t lanes_;                   ///< of each process
  contribution* board_ = nullptr;  ///< of each rank its rounds
  int round_ = 0;
};

}  // namespace

std::unique_ptr<bootstrap> launched_bootstrap(const settings& config) {
  const auto ranks = static_cast<rank_t>(config.integer("AMITY_RANKS"));
  const rank_t lanes = core::threads_per_rank(config);
  return std::make_unique<launched>(job_memory::attach(static_cast<int>(config.integer("AMITY_JOB_FD")), ranks, lanes),
                                    static_cast<rank_t>(config.integer("AMITY_RANK")), lanes);
}

}  // namespace amity::detail
