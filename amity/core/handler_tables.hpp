#pragma once

/// What ranks tell one another once they know that their tables of handlers differ.
///
/// Ranks compare fingerprints, which do not say what differs. The rank that finds the difference sends its table, as
/// text in control packets, to the other one, which compares and ends the job with an error that names both. Only a job
/// that must fail sends any of these packets.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/registry.hpp"

namespace amity::core {

class handler_tables {
 public:
  /// Bytes of each packet; other packets of the same kind have another size.
  static constexpr std::size_t packet_bytes = 48;

  /// Sends the table of this rank by `send(packet)`, once to each `lane`.
  void tell(rank_t lane, const registry& own, const std::function<void(bytes_view)>& send);

  /// Takes a packet of rank `source`. Throws `error`, which says what differs, when its whole table is there.
  void on_packet(rank_t rank, rank_t source, bytes_view payload, const registry& own);

 private:
  struct table {
    rank_t source;
    std::string text;
    std::size_t missing;  ///< bytes
  };

  std::vector<rank_t> told_;
  std::vector<table> arriving_;
};

}  // namespace amity::core
