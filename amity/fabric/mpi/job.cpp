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
  joined(library mpi, std::optional<int> handle, const settings& config, rank_t threads)
      : use_(std::move(mpi), threads),
        group_(use_.mpi(), communicator(use_.mpi(), handle, config), config, threads),
        config_(config) {}

  std::string mpi() const override { return fmt::format("{}: {}", use_.mpi().version(), use_.mpi().reason()); }
  const std::string& warning() const noexcept override { return use_.mpi().warning(); }

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

  static amity_mpi_comm communicator(const library& mpi, std::optional<int> handle, const settings& config) {
    if (handle) return mpi->from_fortran(*handle);
    check_launcher(mpi);
    check_ranks(config, mpi->size(mpi->world));
    return mpi->world;
  }

  static void check_ranks(const settings& config, int processes) {
    const auto asked = config.integer("AMITY_RANKS");
    if (config.where_from("AMITY_RANKS") == settings::origin::standard || asked == processes) return;
    throw error("AMITY_FABRIC=mpi", no_rank,
                fmt::format("AMITY_RANKS is {}, but MPI has started {} process{}", asked, processes,
                            processes == 1 ? "" : "es"),
                fmt::format("start the program with mpirun -n {}, or unset AMITY_RANKS", asked));
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
    const amity_mpi_module& mpi = group_.mpi();
    amity_mpi_request request = mpi.no_request;
    mpi.reduce_scatter(sent.data(), &expected, group_.communicator(thread), &request);
    while (!mpi.test(&request)) drain(lanes);
    return expected;
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

std::vector<std::string> installed() {
  std::vector<std::string> versions;
  std::string why_not;
  for (const library& each : library::all(why_not)) versions.push_back(each.version());
  return versions;
}

std::string why_unavailable(const settings& config) {
  const auto found = library::find(config);
  const auto* const why = std::get_if<refusal>(&found);
  return why == nullptr ? "" : why->problem;
}

capabilities describe(const settings& config, std::string_view mpis) {
  capabilities caps;
  caps.name = "mpi";
  caps.description = fmt::format("ranks are processes that MPI has started ({})", mpis);
  caps.packet_bytes_max = static_cast<std::size_t>(config.integer("AMITY_MPI_PACKET_BYTES"));
  const std::size_t credits = with_reserve(static_cast<std::size_t>(config.integer("AMITY_MPI_CREDITS")));
  caps.credits_per_peer = credits - reserve_per_peer;
  caps.slots_per_peer = caps.credits_per_peer;
  // A buffer for each credit, and one for a message that gives credits back.
  caps.bytes_per_peer = (credits + 1) * buffer_bytes(caps.packet_bytes_max);
  caps.ordered = true;
  return caps;
}

std::unique_ptr<job> job::of_launcher(const settings& config, rank_t threads) {
  return std::make_unique<joined>(library::of_process(config), std::nullopt, config, threads);
}

std::unique_ptr<job> job::of_communicator(int handle, family compiled_with, const settings& config, rank_t threads) {
  return std::make_unique<joined>(library::of_program(compiled_with, config), handle, config, threads);
}

}  // namespace amity::fabric::mpi
