#pragma once

/// Which provider of libfabric carries the packets, and where on this machine.

#include <cstddef>
#include <string>

#include "amity/base/settings.hpp"
#include "amity/fabric/ofi/library.hpp"

namespace amity::fabric::ofi {

/// What is asked of libfabric.
struct provider_request {
  std::string provider;  ///< its name for libfabric; empty: the best one that will do
  std::string address;   ///< of this machine, to be reached under; empty: chosen
  bool one_node = true;  ///< no packet leaves the machine
  bool remote = true;    ///< with as much of remote memory as the provider has; else peers can send messages only
  bool register_local = false;  ///< as if the provider required it (FI_MR_LOCAL)

  static provider_request from(const settings& config, bool one_node);
};

/// The first provider that can do what the fabric needs: reliable datagrams that stay in order, and injection of at
/// least a packet's header. Its `mr_mode` has FI_MR_LOCAL if memory of this rank must be registered for its operations.
/// Nothing if there is none; `why` says then what is missing.
info_ptr find_provider(const library& fabrics, const provider_request& wanted, std::string& why);

/// The longest message, in bytes, that is received before those that are sent after it.
std::size_t message_bytes_max(const fi_info& info);

/// Whether local memory of operations must be registered (FI_MR_LOCAL).
bool requires_registration(const fi_info& info);

/// For `amity info`: whether local memory must be registered, and which variable of libfabric turns the cache of
/// registrations off, if one does. Empty, or begins with a comma.
std::string describe_registration(const fi_info& info);

/// Each message costs system calls.
bool goes_through_sockets(const fi_info& info);

/// "tcp;ofi_rxm on 127.0.0.1/32"
std::string name_of(const fi_info& info);

}  // namespace amity::fabric::ofi
