#pragma once

/// Ranks that reach each other through libfabric: over TCP, or over the network hardware that libfabric drives.
///
/// Packets are messages of reliable datagram endpoints. Each pair of ranks has credits in both directions, one for each
/// receive buffer that a rank keeps ready for its peer, so no provider ever has to hold back or drop a packet. Each
/// packet carries a header of 40 bytes. Unless AMITY_OFI_SEALED=0, header and payload are sealed (seal.hpp), and there
/// is no remote memory: one-sided operations of a provider carry no seal, so the layers above use packets.
///
/// Budget of a send: no allocation and no lock here; what the provider does is its own, for TCP one system call.

#include <memory>

#include "amity/base/settings.hpp"
#include "amity/fabric/bootstrap.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/lanes.hpp"
#include "amity/fabric/neighbourhood.hpp"

namespace amity::fabric::ofi {

/// Whether this build of amity has libfabric and libsodium.
bool available() noexcept;

/// What this fabric can do with the given settings; its description names the provider, or says why there is none.
capabilities describe(const settings& config, rank_t ranks);

/// Whom the endpoints reach.
enum class reach {
  all,
  other_nodes,  ///< for a part of another fabric, which has its own way to peers of the node
};

/// Joins the job that `start` belongs to, whose processes have met, with an endpoint for each of `threads` lanes.
/// Collective. Throws `error` where libfabric has no provider that will do.
std::unique_ptr<lanes> join(const settings& config, std::shared_ptr<bootstrap> start, const neighbourhood& known,
                            rank_t threads, reach whom = reach::all);

}  // namespace amity::fabric::ofi
