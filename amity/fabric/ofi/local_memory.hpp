#pragma once

/// Local memory of puts, gets and atomics for a provider that accepts registered memory only (FI_MR_LOCAL).
///
/// Up to `bounce_bytes`, data goes through a bounce buffer: one slot for each operation, all registered once. A put is
/// copied in when it starts, a get is copied out when it completes. Longer data is used in place: in a segment of this
/// rank under the segment's registration, elsewhere under a registration that ends with the operation. There is no
/// cache here. Providers for which registration is expensive keep one below `fi_mr_reg`, and watch there which memory
/// is unmapped (docs/decisions/0013-libfabric.md).
///
/// Memory that cannot be registered, such as a mapping without write permission, is replaced by a registered copy.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/base/zeros.hpp"
#include "amity/fabric/ofi/port.hpp"

namespace amity::fabric::ofi {

class local_memory {
 public:
  /// Size of a slot. A copy of 4 KiB takes about 0.1 us; a registration takes about 0.5 us if the provider finds it in
  /// its cache, and 20 us if not (libfabric pull request 12836, InfiniBand).
  static constexpr std::size_t bounce_bytes = 4096;
  /// If no operation has a registration, other threads and processes can release locked memory for so long before the
  /// lack of it is an error.
  static constexpr std::uint64_t shortage_ns_max = 1'000'000'000;
  /// Copies of memory that cannot be registered, all together; a single copy may be longer.
  static constexpr std::size_t copies_bytes_max = std::size_t{64} << 20;

  /// What the provider is given for one operation.
  struct place {
    std::byte* data = nullptr;
    void* descriptor = nullptr;
    bool is_copied = false;  ///< the memory of the caller is not used
  };

  /// `open` outlives it. `operations` can be under way at once, and have the indices below that. Throws `error`.
  local_memory(port& open, std::size_t operations);

  /// The memory of a segment, as long as it is registered under `descriptor`.
  void add_segment(mutable_bytes memory, void* descriptor);
  void remove_segment(const std::byte* begin) noexcept;

  // For an operation that is not under way. These return 0, -FI_EAGAIN if the same call may succeed later, or another
  // error number of libfabric if memory cannot be registered. They enter the kernel for data longer than
  // `bounce_bytes`.

  int begin_put(std::size_t operation, bytes_view from, place& found) noexcept;
  int begin_get(std::size_t operation, mutable_bytes to, place& found) noexcept;

  /// A slot, for operands and results.
  place slot(std::size_t operation) const noexcept {
    return {.data = bounce_.payload(operation), .descriptor = bounce_.descriptor(), .is_copied = true};
  }

  /// The operation is complete: the result of a get is in the memory of the caller.
  void complete(std::size_t operation) noexcept;
  /// The operation was not started, or has failed.
  void release(std::size_t operation) noexcept;

 private:
  struct use {
    std::optional<zeroed_memory> copy;
    std::size_t copy_bytes = 0;
    owned<fid_mr> registered;  ///< ends before the copy
    const std::byte* result = nullptr;
    mutable_bytes into;  ///< where the result is copied to; empty: it is in place
  };
  struct segment_memory {
    std::size_t bytes;
    void* descriptor;
  };

  int begin_long(use& by, std::byte* data, std::size_t bytes, std::uint64_t access, place& found) noexcept;
  void* segment_descriptor(bytes_view memory) const noexcept;
  int use_in_place(use& by, std::byte* data, std::size_t bytes, std::uint64_t access, place& found) noexcept;
  int use_copy(use& by, std::size_t bytes, std::uint64_t access, place& found) noexcept;

  port& port_;
  buffer_arena bounce_;
  std::vector<use> uses_;       ///< by operation
  std::size_t registered_ = 0;  ///< operations that have a registration
  std::size_t copies_bytes_ = 0;
  std::uint64_t failing_since_ns_ = 0;                   ///< 0: the last registration has not failed
  std::map<const std::byte*, segment_memory> segments_;  ///< by their beginning
};

}  // namespace amity::fabric::ofi
