#pragma once

/// The harness: measures a job of ours, the machine's raw limit and a peer in turn, and makes rows of the results.
///
/// Every measurement is a job: processes of their own that time something a few times, check its answer, and print one
/// sample, a JSON object of names and figures. The driver runs the jobs of a contest round after round (ours, limit,
/// peer, ours, limit, peer, ...), so that a machine that is slower for a while is slower for all of them. A row's value
/// is the median of its rounds; a ratio is the median of the rounds' ratios.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/process.hpp"
#include "bench/report.hpp"

namespace amity::bench {

/// What one run of a job measured: "one_way_ns" -> 143.2.
using sample = std::map<std::string, double, std::less<>>;

/// What a job is told on its command line.
using arguments = std::map<std::string, std::string, std::less<>>;

/// A job seen from inside.
struct job_context {
  int argc = 0;
  char** argv = nullptr;
  bool tiny = false;
  arguments args;

  /// `full`, or `small` in a tiny run.
  template <class T>
  T scaled(T full, T small) const {
    return tiny ? small : full;
  }
};

/// Prints a job's sample. Once per job, by one of its ranks.
void print_sample(const sample& measured);

/// A job seen from the driver.
struct job {
  std::string name;  ///< of the limit or the peer, as rows show it
  command run;
  bool seeded = false;     ///< gets AMITY_SIM_SEED=1, 2, ... in the successive rounds
  bool is_served = false;  ///< fails unless it reports that amity's library serves its windows (AMITY_MPI_REPORT=1)
};

/// An MPI that amity has a module for.
struct mpi_installation {
  std::string_view name;
  std::string_view launcher;
  std::string_view peer;     ///< the program of `driver::open_mpi`, compiled for this MPI
  std::string_view window;   ///< bench/peer/window.cpp, compiled for this MPI
  std::string_view osc;      ///< bench/mpi/osc.cpp, compiled for this MPI
  std::string_view drop_in;  ///< the library for one-sided calls of its programs; empty if it was not built
};
/// Returns the MPIs that were found when the benchmarks were built.
std::vector<mpi_installation> mpi_installations();

/// Jobs that are measured in turn.
struct contest {
  job ours;
  std::optional<job> limit = {};
  std::optional<job> peer = {};
  int rounds = 7;
};

/// Jobs of one program, ours and peers, that are measured in turn. Their samples have the same keys.
struct open_contest {
  std::vector<job> ours;
  std::vector<job> peers;
  int rounds = 7;
};

/// One row that a contest yields: which figure of which job's sample.
struct figure {
  std::string config;
  std::string metric;
  std::string unit;
  std::string ours;
  std::string limit = {};  ///< empty: the row has none
  std::string peer = {};
  std::vector<asked> wanted = {};
};

class driver;

/// A benchmark: what it compares, and the job of ours.
struct benchmark {
  std::string_view name;
  std::string_view summary;          ///< one line
  void (*drive)(driver&);            ///< runs contests
  int (*measure)(job_context& job);  ///< the job; returns the status for main
};

/// A raw limit of the machine: a job without amity.
struct raw_limit {
  std::string_view name;
  sample (*measure)(const job_context& job);
};

class driver {
 public:
  explicit driver(bool tiny) : tiny_(tiny) {}

  /// Runs a benchmark; its rows are added to `rows()`. Throws std::runtime_error when a job fails, or its answer is
  /// wrong.
  void run(const benchmark& which);

  /// The running benchmark's own job on `count` ranks, with settings "AMITY_...=...".
  job ranks(int count, arguments args = {}, std::vector<std::string> settings = {}) const;
  /// As above, of another benchmark.
  job ranks(const benchmark& which, int count, arguments args = {}, std::vector<std::string> settings = {}) const;
  /// The job of a benchmark on `count` ranks over an MPI.
  job mpi_ranks(const mpi_installation& mpi, const benchmark& which, int count, arguments args = {}) const;
  /// The program of `open_mpi` over another MPI, on two ranks.
  job mpi_peer(const mpi_installation& mpi, std::string name, std::vector<std::string> words) const;
  /// Windows of an MPI, on `count` ranks.
  job mpi_window(const mpi_installation& mpi, int count, std::vector<std::string> words) const;
  /// The program of one-sided operations of an MPI, on `count` ranks, with amity's library if `with_drop_in`. A run
  /// that the library does not serve fails.
  job mpi_osc(const mpi_installation& mpi, int count, std::vector<std::string> words, bool with_drop_in) const;
  job raw(std::string_view which, std::string name, arguments args = {}) const;
  /// Nothing where Open MPI was not found when the benchmarks were built.
  std::optional<job> open_mpi(std::string name, std::vector<std::string> words,
                              std::vector<std::string> settings = {}) const;

  /// A program of bench/compare, on so many ranks of Open MPI, or on none: by itself. Nothing where what it needs was
  /// not found when the benchmarks were built.
  std::optional<job> comparison(std::string_view program, std::string name, std::vector<std::string> words,
                                int ranks) const;

  /// Measures in turn and adds a row for each figure. A peer that fails is noted and left out.
  void compare(contest jobs, std::span<const figure> figures);
  void compare(contest jobs, std::initializer_list<figure> figures) {
    compare(std::move(jobs), std::span(figures.begin(), figures.size()));
  }

  /// Measures in turn. For each figure, adds a row for each job of ours, compared with the best of the peers, and a row
  /// for each peer. The key of a figure is `figure::ours`; the best value is the largest if at least some bound is
  /// wanted, and else the smallest. A peer that fails is noted and left out.
  void compare_with_best(const open_contest& jobs, std::span<const figure> figures);

  /// Runs a job once.
  sample measure(const job& which) const;

  bool tiny() const noexcept { return tiny_; }
  const std::vector<row>& rows() const noexcept { return rows_; }
  /// Lines below the table of the report: which peers failed, and how.
  const std::vector<std::string>& notes() const noexcept { return notes_; }

 private:
  /// Adds the sample of a peer, or a note if it fails. Returns whether it succeeded.
  bool measure_peer(const job& peer, int round, std::vector<sample>& samples);

  bool tiny_;
  const benchmark* running_ = nullptr;
  std::vector<row> rows_;
  std::vector<std::string> notes_;
};

}  // namespace amity::bench
