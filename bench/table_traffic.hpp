#pragma once

/// Coalesced 8-byte messages to random slots of the other rank's table, `table[slot] += 1` at the target. The sender
/// never polls. The raw limit `shared_buffers` does the same without a library.

#include <cstdint>
#include <string>

#include "amity/amity.hpp"
#include "bench/harness.hpp"

namespace amity::bench {

struct traffic_plan {
  static constexpr std::uint64_t small_table = 1024;         // 8 KiB
  static constexpr std::uint64_t large_table = 1024 * 1024;  // 8 MiB

  std::uint64_t ways;      ///< 1: rank 0 sends; 2: both do
  std::uint64_t slots;     ///< of a table; a power of two
  std::uint64_t messages;  ///< that a sending rank sends in an epoch
  std::uint64_t epochs;    ///< of which the median counts
  bool spans;              ///< the handler takes a whole buffer, and prefetches

  arguments to_arguments() const;
  static traffic_plan from(const arguments& args);
};

/// What a job says of its packets: "automatic", or their size in bytes; nothing: the default.
coalesce packets_of(const arguments& args);

/// Measures `m_per_s`, millions of messages per second and sending rank, and `packet_bytes`, the mean size of the last
/// epoch's packets. Checks the sum of the table.
sample measure_traffic(world& w, const traffic_plan& plan, coalesce packets);

/// The limit of a plan.
job raw_exchange(const driver& d, const traffic_plan& plan);

}  // namespace amity::bench
