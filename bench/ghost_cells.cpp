/// Updates of ghost cells on a periodic grid of ranks, with one put per buffer or per element: Figures 2 and 5 of
/// Barrett, Shipman and Lumsdaine, "Analysis of Implementation Options for MPI-2 One-Sided" (EuroPVM/MPI 2007).

#include "amity/window/window.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"
#include "bench/sim_report.hpp"
#include "bench/statistics.hpp"
#include "bench/window_jobs.hpp"

namespace amity::bench {
namespace {

constexpr std::size_t sides = 4;
constexpr std::size_t elements_max = 16384;

struct ghost_case {
  bool fences = true;       ///< otherwise post, start, complete and wait
  bool per_element = true;  ///< otherwise one put per buffer
  std::size_t elements = 1;

  static ghost_case from(const arguments& args) {
    return {.fences = args.at("sync") == "fence",
            .per_element = args.at("per") == "element",
            .elements = std::stoul(args.at("elements"))};
  }
  arguments to_arguments() const {
    return {{"sync", fences ? "fence" : "pscw"},
            {"per", per_element ? "element" : "buffer"},
            {"elements", std::to_string(elements)}};
  }
  std::string text() const {
    return fmt::format("{}, a put per {}, {} elements", fences ? "fence" : "post and start",
                       per_element ? "element" : "buffer", elements);
  }
};

/// The neighbors of a rank on a periodic grid, whose sides are as equal as the number of ranks permits. Side i of a
/// rank is opposite to side i ^ 1 of its neighbor there.
std::array<rank_t, sides> neighbors_of(rank_t rank, rank_t ranks) {
  auto columns = static_cast<rank_t>(std::sqrt(static_cast<double>(ranks)));
  while (ranks % columns != 0) --columns;
  const rank_t rows = ranks / columns, row = rank / columns, column = rank % columns;
  const auto at = [&](rank_t r, rank_t c) { return (r + rows) % rows * columns + (c + columns) % columns; };
  return {at(row, column - 1), at(row, column + 1), at(row - 1, column), at(row + 1, column)};
}

/// The buffers of one rank, and the window into which its neighbors put theirs.
class ghost_exchange {
 public:
  ghost_exchange(world& w, const ghost_case& what, window_protocol protocol)
      : what_(what),
        neighbors_(neighbors_of(w.rank(), w.size())),
        peers_(neighbors_.begin(), neighbors_.end()),
        rank_(w.rank()),
        cells_(w.allocate_window<double>(sides * what.elements, {.name = "ghost cells", .protocol = protocol})) {
    std::ranges::sort(peers_);
    peers_.erase(std::ranges::unique(peers_).begin(), peers_.end());
    for (std::size_t i = 0; i < sides * what_.elements; ++i) buffers_.push_back(value(rank_, i));
  }

  /// Makes the neighbors known.
  void warm_up() { update(1); }
  void update() { update(what_.elements); }

  /// After `update`.
  void check() const {
    for (std::size_t side = 0; side < sides; ++side) {
      const auto ghosts = cells_.local().subspan(side * what_.elements, what_.elements);
      for (std::size_t i = 0; i < ghosts.size(); ++i) {
        const double expected = value(neighbors_[side ^ 1], side * what_.elements + i);
        if (ghosts[i] != expected)
          throw std::runtime_error(
              fmt::format("rank {}, side {}: ghost cell {} is {}, not {}", rank_, side, i, ghosts[i], expected));
      }
    }
  }

 private:
  static double value(rank_t of, std::size_t place) {
    return static_cast<double>(of) * (sides * elements_max) + static_cast<double>(place);
  }

  void update(std::size_t elements) { what_.fences ? update_by_fences(elements) : update_by_posts(elements); }
  // Figure 2 of the paper.
  void update_by_fences(std::size_t elements) {
    cells_.fence(window_assert::no_precede);
    put_all(elements);
    cells_.fence();
  }
  void update_by_posts(std::size_t elements) {
    cells_.post(peers_);
    cells_.start(peers_);
    put_all(elements);
    cells_.complete();
    cells_.wait();
  }
  void put_all(std::size_t elements) {
    for (std::size_t side = 0; side < sides; ++side) {
      const std::size_t begin = side * what_.elements;
      const auto buffer = std::span<const double>(buffers_).subspan(begin, elements);
      if (!what_.per_element) {
        cells_.put(neighbors_[side], begin, buffer);
        continue;
      }
      for (std::size_t i = 0; i < buffer.size(); ++i) cells_.put(neighbors_[side], begin + i, buffer.subspan(i, 1));
    }
  }

  ghost_case what_;
  std::array<rank_t, sides> neighbors_;
  std::vector<rank_t> peers_;  ///< each neighbor once
  rank_t rank_;
  std::vector<double> buffers_;
  window<double> cells_;
};

/// Returns the mean time of `updates` updates in microseconds, from the last rank's begin to the last rank's end: ranks
/// do not leave the barrier together. They have one clock, since they run on one machine or are simulated.
double update_us(world& w, ghost_exchange& cells, int updates) {
  w.barrier();
  const std::uint64_t begin_ns = w.now_ns();
  for (int i = 0; i < updates; ++i) cells.update();
  const std::uint64_t end_ns = w.now_ns();
  return static_cast<double>(w.max(end_ns) - w.max(begin_ns)) * 1e-3 / std::max(updates, 1);
}

// What a job measures: the messages of millions of puts take long.
constexpr std::string_view all_protocols = "send_recv,buffered,rma,automatic";
constexpr std::string_view coalescing = "send_recv,buffered";

/// Adds the time of the automatic choice as a multiple of the best protocol's.
void add_choice(sample& of) {
  of["automatic_of_best"] =
      of.at("automatic_us") / std::min({of.at("send_recv_us"), of.at("buffered_us"), of.at("rma_us")});
}

// Simulated

struct update_cost {
  double us = 0;
  double messages = 0;  ///< that all ranks have sent in the whole job
};

update_cost simulate(job_context& job, const ghost_case& what, window_protocol protocol, int updates) {
  settings config = settings::from_environment();
  const sim_report report(config);
  update_cost cost;
  const int status = amity::run(config, job.argc, job.argv, [&](world& w) {
    ghost_exchange cells(w, what, protocol);
    cells.warm_up();
    const double us = update_us(w, cells, updates);
    if (updates > 0) cells.check();
    if (w.rank() == 0) cost.us = us;
  });
  if (status != 0) throw std::runtime_error("the run has failed");
  cost.messages = report.sum("sent");
  return cost;
}

/// Measures one protocol after the other.
int measure_simulated(job_context& job, const ghost_case& what) {
  const double ranks = std::stod(job.args.at("ranks"));
  const int updates = std::stoi(job.args.at("updates"));
  const std::string& chosen = job.args.at("protocols");
  sample result;
  for (const auto& [name, protocol] : named_protocols()) {
    if (chosen.find(name) == std::string::npos) continue;
    const update_cost full = simulate(job, what, protocol, updates);
    const update_cost empty = simulate(job, what, protocol, 0);
    result[key_of(name, "us")] = full.us;
    result[key_of(name, "messages")] = (full.messages - empty.messages) / ranks / updates;
  }
  if (chosen == coalescing) result["messages_saved"] = result.at("send_recv_messages") / result.at("buffered_messages");
  if (chosen == all_protocols) add_choice(result);
  print_sample(result);
  return 0;
}

// On TCP

/// Measures the protocols in turn.
sample measure_in_turn(world& w, const ghost_case& what, std::string_view chosen, int batches, int updates) {
  std::vector<std::string_view> names;
  std::vector<std::unique_ptr<ghost_exchange>> all;
  for (const auto& [name, protocol] : named_protocols()) {
    if (chosen.find(name) == std::string_view::npos) continue;
    names.push_back(name);
    all.push_back(std::make_unique<ghost_exchange>(w, what, protocol));
  }
  std::vector<std::vector<double>> times(all.size());
  for (const auto& each : all) each->warm_up();
  for (int batch = 0; batch < batches; ++batch) {
    for (std::size_t i = 0; i < all.size(); ++i) times[i].push_back(update_us(w, *all[i], updates));
  }
  sample result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i]->check();
    result[key_of(names[i], "us")] = summarise(times[i]).median;
  }
  if (chosen == all_protocols) add_choice(result);
  return result;
}

int measure(job_context& job) {
  const ghost_case what = ghost_case::from(job.args);
  if (job.args.contains("ranks")) return measure_simulated(job, what);
  const int batches = std::stoi(job.args.at("batches")), updates = std::stoi(job.args.at("updates"));
  return run_ranks(job, [&](world& w) { return measure_in_turn(w, what, job.args.at("protocols"), batches, updates); });
}

// The driver

std::vector<ghost_case> all_cases(const std::vector<std::size_t>& counts) {
  std::vector<ghost_case> all;
  for (const bool fences : {true, false}) {
    for (const bool per_element : {false, true}) {
      for (const std::size_t elements : counts)
        all.push_back({.fences = fences, .per_element = per_element, .elements = elements});
    }
  }
  return all;
}

void compare_simulated(driver& d, const ghost_case& what, std::string_view protocols) {
  const int ranks = d.tiny() ? 8 : 32;
  arguments args = what.to_arguments();
  args["ranks"] = std::to_string(ranks);
  args["updates"] = std::to_string(std::clamp<std::size_t>(elements_max / 4 / what.elements, 1, 4));
  args["protocols"] = protocols;
  const std::optional<job> cells = on_network(d, "sdr", ranks, args);
  if (!cells) return;
  const std::string config = fmt::format("sdr, {} ranks: {}", ranks, what.text());
  std::vector<figure> rows;
  for (const auto& [name, protocol] : named_protocols()) {
    if (protocols.find(name) == std::string_view::npos) continue;
    rows.push_back({fmt::format("{}, {}", config, name), "virtual time", "us", key_of(name, "us")});
    rows.push_back({fmt::format("{}, {}", config, name), "messages per rank", "", key_of(name, "messages")});
  }
  if (protocols == coalescing) {
    rows.push_back({config + ", send_recv / buffered", "messages", "", "messages_saved"});
    // Fewer elements do not fill a packet for each neighbor.
    if (what.elements >= 4096) rows.back().wanted = {at_least(100)};
  }
  if (protocols == all_protocols)
    rows.push_back({config + ", automatic / best protocol", "time", "", "automatic_of_best", "", "", {at_most(1.05)}});
  d.compare({.ours = *cells, .rounds = 1}, rows);
}

void drive_simulated(driver& d, const ghost_case& what) {
  if (!what.per_element) return compare_simulated(d, what, all_protocols);
  for (const std::string_view protocols : {coalescing, std::string_view("rma"), std::string_view("automatic")})
    compare_simulated(d, what, protocols);
}

void drive_tcp(driver& d, const ghost_case& what) {
  constexpr int ranks = 4;
  const auto batches = std::to_string(d.tiny() ? 1 : 5);
  const auto updates = std::to_string(d.tiny() ? 2 : std::max<std::size_t>(2000 / (what.elements + 50), 1));
  arguments args = what.to_arguments();
  args["batches"] = batches;
  args["updates"] = updates;
  args["protocols"] = what.per_element ? "automatic" : all_protocols;
  contest jobs{.ours = over_tcp(d, "tcp;ofi_rxm", ranks, args), .rounds = 3};
  const auto mpis = mpis_over_tcp(ranks);
  if (!mpis.empty()) {
    jobs.peer = mpi_over_tcp(
        d, mpis.front(), ranks,
        {fmt::format("ghost_{}_{}", args["sync"], args["per"]), batches, updates, std::to_string(what.elements)});
  }
  const std::string config = fmt::format("tcp;ofi_rxm, {} ranks: {}", ranks, what.text());
  std::vector<figure> rows{{config + ", automatic", "time", "us", "automatic_us", "", "us"}};
  // Few elements leave nothing to coalesce.
  if (what.per_element && what.elements >= 256) rows[0].wanted = {ratio_at_most(0.2)};
  if (!what.per_element) {
    for (const auto& [name, protocol] : named_protocols()) {
      if (protocol != window_protocol::automatic)
        rows.push_back({fmt::format("{}, {}", config, name), "time", "us", key_of(name, "us")});
    }
    rows.push_back({config + ", automatic / best protocol", "time", "", "automatic_of_best", "", "", {at_most(1.05)}});
  }
  d.compare(jobs, rows);
}

void drive_simulated(driver& d) {
  const std::vector<std::size_t> counts{1, 16, 256, 4096, elements_max};
  for (const ghost_case& each : all_cases(d.tiny() ? std::vector<std::size_t>{1, 64} : counts))
    drive_simulated(d, each);
}

void drive_tcp(driver& d) {
  const std::vector<std::size_t> counts{1, 256, elements_max};
  for (const ghost_case& each : all_cases(d.tiny() ? std::vector<std::size_t>{16} : counts)) drive_tcp(d, each);
}

}  // namespace

const benchmark ghost_cells{"ghost_cells", "simulated: updates of ghost cells by puts, per buffer and per element",
                            drive_simulated, measure};
const benchmark ghost_cells_tcp{"ghost_cells_tcp", "the same on four ranks over TCP", drive_tcp, measure};

}  // namespace amity::bench
