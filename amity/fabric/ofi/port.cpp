#include "amity/fabric/ofi/port.hpp"

#include <poll.h>
#include <rdma/fi_errno.h>
#include <sys/mman.h>

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/fabric/ofi/gate.hpp"

namespace amity::fabric::ofi {
namespace {

static_assert(sizeof(wire_header) <= cache_line_bytes);

std::string_view remedy_for(int status) {
  switch (-status) {
    case FI_EMFILE:
      return "raise the limit of open files (ulimit -n), or use fewer threads or ranks";
    case FI_EINVAL:
      return "set AMITY_OFI_ADDRESS to an address of this host that others can reach, or try another "
             "AMITY_OFI_PROVIDER (`fi_info -t FI_EP_RDM` lists them)";
    case FI_EADDRNOTAVAIL:
      return "set AMITY_OFI_ADDRESS to an address that this host has, or unset it";
    default:
      return "try another AMITY_OFI_PROVIDER (`fi_info -t FI_EP_RDM` lists them)";
  }
}

}  // namespace

buffer_arena::buffer_arena(std::size_t count, std::size_t payload_bytes)
    : stride_(cache_line_bytes + payload_bytes), bytes_(std::max<std::size_t>(count, 1) * stride_) {
  void* const mapped = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    throw error("AMITY_FABRIC=ofi", no_rank, fmt::format("there are no {} bytes for packet buffers", bytes_),
                "lower AMITY_OFI_CREDITS or AMITY_OFI_PACKET_BYTES, or use fewer ranks");
  }
  base_ = static_cast<std::byte*>(mapped);
}

buffer_arena::~buffer_arena() {
  memory_.reset();
  ::munmap(base_, bytes_);
}

int buffer_arena::register_with(port& open, std::uint64_t access) noexcept {
  return open.register_local({base_, bytes_}, access, memory_);
}

std::byte* buffer_arena::wire(std::size_t index) const noexcept { return payload(index) - sizeof(wire_header); }

void port::check(int status, std::string_view act) const {
  if (status == 0) return;
  throw error("AMITY_FABRIC=ofi", rank_,
              fmt::format("{} cannot {}: {}", name_of(*info_), act, library_.strerror(-status)), remedy_for(status));
}

template <class Object, class Open>
owned<Object> port::open(Open&& how, std::string_view act) const {
  Object* made = nullptr;
  check(how(&made), act);
  return owned<Object>(made);
}

port::port(const library& fabrics, info_ptr info, std::size_t completions_max, rank_t rank)
    : library_(fabrics), info_(std::move(info)), rank_(rank) {
  fabric_ = open<fid_fabric>([&](auto** made) { return library_.fabric(info_->fabric_attr, made, nullptr); },
                             "open the fabric");
  domain_ = open<fid_domain>([&](auto** made) { return fi_domain(fabric_.get(), info_.get(), made, nullptr); },
                             "open the domain");
  fi_av_attr table{};
  table.type = FI_AV_TABLE;
  addresses_ = open<fid_av>([&](auto** made) { return fi_av_open(domain_.get(), &table, made, nullptr); },
                            "open the table of addresses");
  open_queue(completions_max);
  endpoint_ = open<fid_ep>([&](auto** made) { return fi_endpoint(domain_.get(), info_.get(), made, nullptr); },
                           "open an endpoint");
  check(fi_ep_bind(endpoint_.get(), &addresses_->fid, 0), "use the table of addresses");
  check(fi_ep_bind(endpoint_.get(), &queue_->fid, FI_TRANSMIT | FI_RECV), "use the completion queue");
  check(fi_enable(endpoint_.get()), "enable the endpoint");
}

void port::open_queue(std::size_t completions_max) {
  fi_cq_attr wanted{};
  wanted.size = completions_max;
  wanted.format = FI_CQ_FORMAT_DATA;
  wanted.wait_obj = FI_WAIT_FD;
  fid_cq* made = nullptr;
  int status = fi_cq_open(domain_.get(), &wanted, &made, nullptr);
  if (status == 0) {
    queue_.reset(made);
    if (fi_control(&made->fid, FI_GETWAIT, &wait_fd_) == 0) return;
    queue_.reset();
  }
  // Providers that have no descriptor to sleep on are looked at now and then.
  wanted.wait_obj = FI_WAIT_NONE;
  wait_fd_ = -1;
  status = fi_cq_open(domain_.get(), &wanted, &made, nullptr);
  check(status, "open a completion queue");
  queue_.reset(made);
}

// A provider that does not choose the keys itself requires each of them to be new. Peers cannot use these.
int port::register_local(mutable_bytes memory, std::uint64_t access, owned<fid_mr>& made) noexcept {
  fid_mr* registered = nullptr;
  const int status =
      fi_mr_reg(domain_.get(), memory.data(), memory.size(), access, 0, ++local_keys_, 0, &registered, nullptr);
  if (status == 0) made.reset(registered);
  return status;
}

void port::register_if_needed(buffer_arena& arena, std::uint64_t access) {
  if (!requires_registration(*info_)) return;
  check(arena.register_with(*this, access), "register the buffers of packets (ulimit -l bounds locked memory)");
}

std::string port::address() const {
  std::string name(512, '\0');
  std::size_t bytes = name.size();
  check(fi_getname(&endpoint_->fid, name.data(), &bytes), "tell the endpoint's address");
  name.resize(bytes);
  return name;
}

std::vector<fi_addr_t> port::insert(const std::vector<std::string>& addresses) {
  std::vector<fi_addr_t> known(addresses.size(), FI_ADDR_UNSPEC);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const int done = fi_av_insert(addresses_.get(), addresses[i].data(), 1, &known[i], 0, nullptr);
    if (done != 1) check(done < 0 ? done : -FI_EINVAL, fmt::format("take the address of rank {}", i));
  }
  return known;
}

std::string port::text_of(fi_addr_t address) const {
  char raw[512];
  std::size_t bytes = sizeof raw;
  if (fi_av_lookup(addresses_.get(), address, raw, &bytes) != 0) return "an unknown address";
  std::string text(512, '\0');
  std::size_t characters = text.size();
  const char* const found = fi_av_straddr(addresses_.get(), raw, text.data(), &characters);
  return found != nullptr ? found : "an unknown address";
}

bool port::may_sleep() noexcept {
  fid* objects[] = {&queue_->fid};
  return fi_trywait(fabric_.get(), objects, 1) == 0;
}

}  // namespace amity::fabric::ofi
