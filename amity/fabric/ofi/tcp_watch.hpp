#pragma once

/// Whether the hosts at the other ends of a provider's TCP connections still answer.
///
/// A host that the network has cut off breaks no connection: the system goes on trying for a quarter of an hour. But
/// a host that lives acknowledges what it is sent, however busy its processes are, and the system remembers when it has
/// done so last. Providers keep their sockets to themselves, so they are found among this process's descriptors by the
/// addresses at their ends.

#include <netinet/in.h>

#include <cstdint>
#include <string>
#include <vector>

#include "amity/base/types.hpp"

namespace amity::fabric::ofi {

class tcp_watch {
 public:
  /// Watches nothing.
  tcp_watch() = default;
  /// `addresses`: of the ranks' endpoints, by rank, in libfabric's `format`. Formats without IP addresses are not
  /// watched.
  tcp_watch(std::uint32_t format, const std::vector<std::string>& addresses, rank_t own);

  /// Returns a rank on a host that has owed answers for `limit_ns`; no_rank if there is none. All ranks of that host
  /// are meant: a connection that the host has opened does not show which of its ranks has done so. Must be called more
  /// often than every `limit_ns`, because it also lets the system probe idle connections. System calls: a few for each
  /// open descriptor.
  rank_t silent_for(std::uint64_t limit_ns) const noexcept;

  /// The ranks that have the same host as `rank`, in ascending order.
  std::vector<rank_t> ranks_on_host_of(rank_t rank) const;

 private:
  rank_t rank_at(int socket) const noexcept;

  std::vector<sockaddr_in6> places_;  ///< by rank; IPv4 addresses are mapped
  rank_t own_ = no_rank;
};

}  // namespace amity::fabric::ofi
