#pragma once

/// A trace of a simulation in Chrome's JSON form, which Perfetto (ui.perfetto.dev) shows: a line for each rank with
/// what it sends and handles, what is done to its memory, and arrows along packets and operations.
///
/// Equal runs give equal files: nothing in them depends on addresses or on the wall clock.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/types.hpp"
#include "amity/fabric/sim/sim.hpp"

namespace amity::fabric::sim {

class trace_file : private immovable {
 public:
  /// A time during which a rank did something.
  struct slice {
    rank_t rank;
    std::uint64_t begin_ns;
    std::uint64_t end_ns;
  };

  /// What connects two slices, those where it leaves and where it arrives; no two of a run have kind and number in
  /// common.
  struct arrow {
    std::string_view kind;
    std::uint64_t number;
  };

  /// The file that the options name, which outlive it. Throws `error` if it cannot be created. Ranks of one node stand
  /// together.
  trace_file(const sim_options& options, rank_t ranks);

  /// The rank did `what` for a packet or an operation on remote memory that goes to another rank, or comes from there.
  void leaves(const slice& when, std::string_view what, rank_t to, std::size_t bytes, const arrow& way);
  void arrives(const slice& when, std::string_view what, rank_t from, std::size_t bytes, const arrow& way);

  /// Anything else that took a rank's time.
  void took(const slice& when, std::string_view what);

  /// Something that happened at one moment.
  void happened(rank_t rank, std::uint64_t time_ns, std::string_view what);

  /// Throws `error` if not all could be written. Nothing may be added afterwards.
  void finish();

 private:
  std::uint32_t process_of(rank_t rank) const noexcept { return static_cast<std::uint32_t>(rank) / node_ranks_; }
  /// How arguments name a rank.
  std::string short_name_of(rank_t rank) const;
  void took(const slice& when, std::string_view what, std::string_view preposition, rank_t peer, std::size_t bytes);
  void point(const slice& when, std::string_view phase, const arrow& way);
  void begin(rank_t rank, std::string_view phase, std::uint64_t time_ns);
  void end();
  void write_out();

  const sim_options& options_;
  std::uint32_t node_ranks_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  fmt::memory_buffer waiting_;
  bool first_ = true;
  int failure_ = 0;  ///< why the first write failed that did
};

}  // namespace amity::fabric::sim
