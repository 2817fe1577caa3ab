#pragma once

/// A rank's endpoint, and what libfabric wants around it.

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/fabric/ofi/provider.hpp"

namespace amity::fabric::ofi {

/// Owns an object of libfabric.
template <class Object>
struct close_object {
  void operator()(Object* object) const noexcept { static_cast<void>(fi_close(&object->fid)); }
};
template <class Object>
using owned = std::unique_ptr<Object, close_object<Object>>;

class port;

/// Memory that packets are sent from or received into: equal buffers, each with room for a packet's header so that the
/// payload behind it begins a cache line. Registered where the provider wants that.
class buffer_arena : private immovable {
 public:
  buffer_arena(std::size_t count, std::size_t payload_bytes);
  ~buffer_arena();

  /// Returns libfabric's error number, or 0.
  int register_with(port& open, std::uint64_t access) noexcept;
  /// After the endpoint is closed, before the domain is.
  void unregister() noexcept { memory_.reset(); }

  std::byte* payload(std::size_t index) const noexcept { return base_ + index * stride_ + cache_line_bytes; }
  std::byte* wire(std::size_t index) const noexcept;
  void* descriptor() const noexcept { return memory_ ? fi_mr_desc(memory_.get()) : nullptr; }

 private:
  std::size_t stride_;
  std::size_t bytes_;
  std::byte* base_ = nullptr;
  owned<fid_mr> memory_;
};

/// Open for business once it is made: it may be sent to under `address`.
class port {
 public:
  /// `completions_max` operations may be under way at once. Throws `error`.
  port(const library& fabrics, info_ptr info, std::size_t completions_max, rank_t rank);

  const fi_info& info() const noexcept { return *info_; }
  fid_ep* endpoint() noexcept { return endpoint_.get(); }
  fid_cq* queue() noexcept { return queue_.get(); }
  fid_domain* domain() noexcept { return domain_.get(); }
  const char* reason(int status) const noexcept { return library_.strerror(status); }

  /// Registers memory that this rank's operations use and peers do not reach. Returns libfabric's error number, or 0.
  int register_local(mutable_bytes memory, std::uint64_t access, owned<fid_mr>& made) noexcept;
  /// If the provider requires that. Throws `error`.
  void register_if_needed(buffer_arena& arena, std::uint64_t access);

  /// This endpoint's address, for others.
  std::string address() const;
  /// All ranks' addresses, by rank, as the endpoint wants them. Throws `error`.
  std::vector<fi_addr_t> insert(const std::vector<std::string>& addresses);

  /// An inserted address for people.
  std::string text_of(fi_addr_t address) const;

  /// Ends all operations: the buffers belong to the caller again.
  void close() noexcept { endpoint_.reset(); }

  /// What becomes readable when something may have completed, once `may_sleep` has said so; -1: there is none.
  int wait_descriptor() const noexcept { return wait_fd_; }
  bool may_sleep() noexcept;

 private:
  void check(int status, std::string_view act) const;
  template <class Object, class Open>
  owned<Object> open(Open&& how, std::string_view act) const;
  void open_queue(std::size_t completions_max);

  library library_;
  info_ptr info_;
  rank_t rank_;
  std::uint64_t local_keys_ = 0;  ///< of registrations by `register_local`
  owned<fid_fabric> fabric_;
  owned<fid_domain> domain_;
  owned<fid_av> addresses_;
  owned<fid_cq> queue_;
  int wait_fd_ = -1;  ///< the queue's
  owned<fid_ep> endpoint_;
};

}  // namespace amity::fabric::ofi
