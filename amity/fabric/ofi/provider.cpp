#include "amity/fabric/ofi/provider.hpp"

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "amity/fabric/ofi/gate.hpp"

namespace amity::fabric::ofi {
namespace {

/// Providers that are only taken when they are asked for by name: two that emulate datagrams slowly, and one whose work
/// the fabric `shm` does better.
constexpr std::array<std::string_view, 3> not_by_default{"sockets", "udp;ofi_rxd", "shm"};

/// Whether the provider should register the local memory of remote memory's operations itself: it keeps its cache of
/// registrations only if its user does not register (efa: `efa_domain_open` of libfabric 1.17).
bool registers_better(std::string_view provider) { return provider == "efa"; }

/// Whether the provider's atomics forbid to register memory twice. Its list of the memory of atomics has one entry for
/// each key, and the cache below returns one key for both registrations (`rxm_mr_add_map_entry` of libfabric 1.17
/// to 2.6). Its atomics are messages, as those of amity without its help are.
bool atomics_forbid_registration(const fi_info& info) {
  return std::string_view(info.fabric_attr->prov_name).ends_with(";ofi_rxm") && requires_registration(info) &&
         (info.domain_attr->mr_mode & FI_MR_PROV_KEY) != 0;
}

/// The variable by which the user has turned off libfabric's cache of registrations (fi_mr(3)); else empty.
std::string cache_turned_off_by() {
  for (const auto& [variable, off] : {std::pair("FI_MR_CACHE_MONITOR", "disabled"), {"FI_MR_CACHE_MAX_COUNT", "0"}}) {
    const char* const value = std::getenv(variable);
    if (value != nullptr && std::string_view(value) == off) return fmt::format("{}={}", variable, off);
  }
  return "";
}

info_ptr hints_for(const library& fabrics, const provider_request& wanted, std::uint64_t caps) {
  info_ptr hints(fabrics.dupinfo(nullptr), {fabrics.freeinfo});
  hints->ep_attr->type = FI_EP_RDM;
  hints->caps = FI_MSG | caps;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  if (caps == 0 || !registers_better(wanted.provider)) hints->domain_attr->mr_mode |= FI_MR_LOCAL;
  if (!wanted.provider.empty()) hints->fabric_attr->prov_name = ::strdup(wanted.provider.c_str());
  return hints;
}

info_ptr list(const library& fabrics, const fi_info& hints, const char* address, int& status) {
  fi_info* found = nullptr;
  status = fabrics.getinfo(FI_VERSION(1, 14), address, nullptr, address != nullptr ? FI_SOURCE : 0, &hints, &found);
  return info_ptr(found, {fabrics.freeinfo});
}

bool will_do(const fi_info& each, const provider_request& wanted) {
  const std::string_view name = each.fabric_attr->prov_name;
  if (each.tx_attr->inject_size < sizeof(wire_header)) return false;
  if (!wanted.provider.empty()) return name == wanted.provider;
  return std::ranges::find(not_by_default, name) == not_by_default.end();
}

/// Of two ways to carry datagrams over TCP, that without a layer between takes half the time for a short packet.
constexpr std::array<std::string_view, 2> native_tcp{"net", "tcp"};

const fi_info* native_in_place_of(const fi_info* first, const fi_info* all, const provider_request& wanted) {
  if (!wanted.provider.empty() || std::string_view(first->fabric_attr->prov_name) != "tcp;ofi_rxm") return first;
  for (const fi_info* each = all; each != nullptr; each = each->next) {
    const bool same_place = std::string_view(each->fabric_attr->name) == first->fabric_attr->name;
    if (same_place && std::ranges::find(native_tcp, each->fabric_attr->prov_name) != native_tcp.end()) return each;
  }
  return first;
}

bool is_loopback(const fi_info& each) { return std::string_view(each.domain_attr->name) == "lo"; }

/// The first that will do and has these capabilities beside messages.
info_ptr find_with(const library& fabrics, const provider_request& wanted, std::uint64_t caps, int& status) {
  const info_ptr hints = hints_for(fabrics, wanted, caps);
  info_ptr all;
  if (!wanted.address.empty()) {
    all = list(fabrics, *hints, wanted.address.c_str(), status);
  } else {
    // What stays on the machine need not be reachable from outside. `shm` would take the address for a name, the same
    // for all ranks; other providers without IP addresses refuse it.
    if (wanted.one_node && wanted.provider != "shm") all = list(fabrics, *hints, "127.0.0.1", status);
    if (!all) all = list(fabrics, *hints, nullptr, status);
  }
  for (const fi_info* each = all.get(); each != nullptr; each = each->next) {
    if (!will_do(*each, wanted) || (!wanted.one_node && is_loopback(*each) && wanted.address.empty())) continue;
    return info_ptr(fabrics.dupinfo(native_in_place_of(each, all.get(), wanted)), {fabrics.freeinfo});
  }
  return nullptr;
}

info_ptr find_best(const library& fabrics, const provider_request& wanted, std::string& why) {
  int status = 0;
  info_ptr found = find_with(fabrics, wanted, 0, status);
  if (found && !wanted.remote) return found;
  if (found) {
    // The same with as much of remote memory as it has; what was not asked for it may leave out.
    provider_request same = wanted;
    same.provider = found->fabric_attr->prov_name;
    const bool is_native = std::ranges::find(native_tcp, same.provider) != native_tcp.end();
    for (const std::uint64_t caps : {FI_RMA | FI_ATOMIC, FI_RMA}) {
      if (is_native && (caps & FI_ATOMIC) != 0) continue;  // it says that it has atomics, and refuses each
      int ignored = 0;
      info_ptr better = find_with(fabrics, same, caps, ignored);
      if (!better || name_of(*better) != name_of(*found)) continue;
      if ((caps & FI_ATOMIC) != 0 && atomics_forbid_registration(*better)) continue;
      return better;
    }
    return found;
  }
  const std::string which = wanted.provider.empty() ? "no provider" : fmt::format("no provider '{}'", wanted.provider);
  const std::string where = wanted.address.empty() ? "" : fmt::format(" on {}", wanted.address);
  why = fmt::format("libfabric has {} of reliable, ordered datagrams{}{}", which, where,
                    status != 0 ? fmt::format(" ({})", fabrics.strerror(-status)) : "");
  return nullptr;
}

}  // namespace

provider_request provider_request::from(const settings& config, bool one_node) {
  // One-sided operations of a provider carry no seal.
  return {.provider = config.text("AMITY_OFI_PROVIDER"),
          .address = config.text("AMITY_OFI_ADDRESS"),
          .one_node = one_node,
          .remote = config.integer("AMITY_OFI_SEALED") == 0,
          .register_local = config.integer("AMITY_OFI_REGISTER_LOCAL") != 0};
}

info_ptr find_provider(const library& fabrics, const provider_request& wanted, std::string& why) {
  info_ptr found = find_best(fabrics, wanted, why);
  if (found && wanted.register_local) found->domain_attr->mr_mode |= FI_MR_LOCAL;
  return found;
}

std::size_t message_bytes_max(const fi_info& info) {
  // What is longer goes by another way there, and may be overtaken by what was sent later.
  constexpr std::string_view layer = ";ofi_rxm";
  constexpr std::size_t eager_bytes = 16 << 10;
  return std::string_view(info.fabric_attr->prov_name).ends_with(layer) ? eager_bytes : info.ep_attr->max_msg_size;
}

bool requires_registration(const fi_info& info) { return (info.domain_attr->mr_mode & FI_MR_LOCAL) != 0; }

std::string describe_registration(const fi_info& info) {
  if (!requires_registration(info)) return "";
  const std::string off_by = cache_turned_off_by();
  return fmt::format(", local memory registered{}",
                     off_by.empty() ? "" : fmt::format(", registrations not cached ({})", off_by));
}

bool goes_through_sockets(const fi_info& info) {
  constexpr std::array<std::string_view, 4> over_sockets{"net", "tcp", "udp", "sockets"};
  const std::string_view name = info.fabric_attr->prov_name;
  return std::ranges::find(over_sockets, name.substr(0, name.find(';'))) != over_sockets.end();
}

std::string name_of(const fi_info& info) {
  return fmt::format("{} on {}", info.fabric_attr->prov_name, info.fabric_attr->name);
}

}  // namespace amity::fabric::ofi
