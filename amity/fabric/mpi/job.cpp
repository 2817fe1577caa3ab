#include <sched.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/fabric/lanes.hpp"
#include "amity/fabric/mpi/group.hpp"
#include "amity/fabric/mpi/lane.hpp"
#include "amity/fabric/mpi/library.hpp"
#include "amity/fabric/mpi/mpi.hpp"

namespace amity::fabric::mpi {
namespace {

class joined final : public job {
 public:
  joined(std::optional<int> handle, const settings& config, rank_t threads)
      : use_(threads), group_(communicator(handle, config), config, threads), config_(config) {}

  rank_t rank() const noexcept override { return group_.rank(); }
  rank_t size() const noexcept override { return group_.size(); }
  void abort() noexcept override { group_.abort(); }
  void kill(int status) noexcept override { group_.kill(status); }

  int run(const std::function<int(fabric&)>& lane_main) override {
    std::vector<std::unique_ptr<lane>> lanes;
    for (rank_t thread = 0; thread < group_.threads(); ++thread) {
      lanes.push_back(std::make_unique<lane>(group_, thread, config_));
    }
    const int status = run_on_threads(
        group_.threads(), [&](rank_t thread) { return lane_main(*lanes[static_cast<std::size_t>(thread)]); },
        [this] { group_.abort_here(); });
    if (status == 0) end(lanes);
    return status;
  }

 private:
  using lane_list = std::vector<std::unique_ptr<lane>>;

  static MPI_Comm communicator(std::optional<int> handle, const settings& config) {
    if (handle) return MPI_Comm_f2c(*handle);
    check_launcher();
    check_ranks(config);
    return MPI_COMM_WORLD;
  }

  static void check_ranks(const settings& config) {
    int processes = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    const auto asked = config.integer("AMITY_RANKS");
    if (config.where_from("AMITY_RANKS") == settings::origin::standard || asked == processes) return;
    throw error("AMITY_FABRIC=mpi", no_rank,
                fmt::format("AMITY_RANKS is {}, but MPI has started {} process{}", asked, processes,
                            processes == 1 ? "" : "es"),
                fmt::format("start the program with mpirun -n {}, and leave AMITY_RANKS away", asked));
  }

  /// Waits until all messages have arrived, so that nothing is left in MPI, and gives it back what is ours. Collective.
  void end(lane_list& lanes) {
    for (const auto& each : lanes) each->stop_sending();
    std::vector<std::uint64_t> expected;
    for (rank_t thread = 0; thread < group_.threads(); ++thread) expected.push_back(sent_to_lane(lanes, thread));
    const auto all_done = [&] {
      for (std::size_t thread = 0; thread < lanes.size(); ++thread) {
        if (!lanes[thread]->is_done(expected[thread])) return false;
      }
      return true;
    };
    while (!all_done()) drain(lanes);
    lanes.clear();
    group_.free_communicators();
  }

  /// How many messages all lanes of the job have sent to this thread of this process. Collective.
  std::uint64_t sent_to_lane(const lane_list& lanes, rank_t thread) const {
    std::vector<std::uint64_t> sent(static_cast<std::size_t>(group_.size()));
    for (rank_t process = 0; process < group_.size(); ++process) {
      for (const auto& each : lanes) {
        sent[static_cast<std::size_t>(process)] += each->sent_to(process * group_.threads() + thread);
      }
    }
    std::uint64_t expected = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ireduce_scatter_block(sent.data(), &expected, 1, MPI_UINT64_T, MPI_SUM, group_.communicator(thread), &request);
    for (int done = 0;;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done) return expected;
      drain(lanes);
    }
  }

  /// Others may need this CPU to get as far.
  static void drain(const lane_list& lanes) {
    bool any = false;
    for (const auto& each : lanes) any |= each->drain();
    if (!any) ::sched_yield();
  }

  library_use use_;
  group group_;
  settings config_;
};

}  // namespace

bool available() noexcept { return true; }

capabilities describe(const settings& config) {
  capabilities caps;
  caps.name = "mpi";
  caps.description = fmt::format("ranks are processes that MPI has started ({})", library());
  caps.packet_bytes_max = static_cast<std::size_t>(config.integer("AMITY_MPI_PACKET_BYTES"));
  caps.credits_per_peer = static_cast<std::size_t>(config.integer("AMITY_MPI_CREDITS"));
  caps.slots_per_peer = caps.credits_per_peer;
  // A buffer for each credit, and one for a message that gives credits back.
  caps.bytes_per_peer = (caps.credits_per_peer + 1) * buffer_bytes(caps.packet_bytes_max);
  caps.ordered = true;
  return caps;
}

std::unique_ptr<job> job::of_launcher(const settings& config, rank_t threads) {
  return std::make_unique<joined>(std::nullopt, config, threads);
}

std::unique_ptr<job> job::of_communicator(int handle, const settings& config, rank_t threads) {
  return std::make_unique<joined>(handle, config, threads);
}

}  // namespace amity::fabric::mpi
