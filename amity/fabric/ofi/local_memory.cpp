#include "amity/fabric/ofi/local_memory.hpp"

#include <rdma/fi_errno.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>

#include "amity/base/clock.hpp"
#include "amity/base/copy_bytes.hpp"

namespace amity::fabric::ofi {
namespace {

/// The pages of `memory`. Registration locks whole pages; a provider's cache finds a range only in a range that
/// contains it, so the next operation on the same pages finds them.
mutable_bytes pages_of(std::byte* data, std::size_t bytes) noexcept {
  const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(data) / page_bytes * page_bytes;
  const auto end = (reinterpret_cast<std::uintptr_t>(data) + bytes + page_bytes - 1) / page_bytes * page_bytes;
  return {reinterpret_cast<std::byte*>(first), end - first};
}

/// Whether memory was lacking, which other operations release.
bool is_shortage(int status) noexcept { return status == -FI_ENOMEM || status == -FI_EAGAIN; }

}  // namespace

local_memory::local_memory(port& open, std::size_t operations)
    : port_(open), bounce_(operations, bounce_bytes), uses_(operations) {
  port_.register_if_needed(bounce_, FI_READ | FI_WRITE);
}

void local_memory::add_segment(mutable_bytes memory, void* descriptor) {
  segments_.emplace(memory.data(), segment_memory{.bytes = memory.size(), .descriptor = descriptor});
}

void local_memory::remove_segment(const std::byte* begin) noexcept { segments_.erase(begin); }

void* local_memory::segment_descriptor(bytes_view memory) const noexcept {
  const auto after = segments_.upper_bound(memory.data());
  if (after == segments_.begin()) return nullptr;
  const auto& [begin, segment] = *std::prev(after);
  const auto offset = static_cast<std::size_t>(memory.data() - begin);
  return offset <= segment.bytes && memory.size() <= segment.bytes - offset ? segment.descriptor : nullptr;
}

int local_memory::use_in_place(use& by, std::byte* data, std::size_t bytes, std::uint64_t access,
                               place& found) noexcept {
  if (void* const known = segment_descriptor({data, bytes}); known != nullptr) {
    found = {.data = data, .descriptor = known};
    return 0;
  }
  if (const int status = port_.register_local(pages_of(data, bytes), access, by.registered); status != 0) return status;
  found = {.data = data, .descriptor = fi_mr_desc(by.registered.get())};
  return 0;
}

int local_memory::use_copy(use& by, std::size_t bytes, std::uint64_t access, place& found) noexcept {
  if (copies_bytes_ > 0 && bytes > copies_bytes_max - std::min(copies_bytes_, copies_bytes_max)) return -FI_EAGAIN;
  try {
    by.copy.emplace(bytes);
  } catch (const std::bad_alloc&) {
    return -FI_ENOMEM;
  }
  const auto data = static_cast<std::byte*>(by.copy->data());
  if (const int status = port_.register_local({data, bytes}, access, by.registered); status != 0) {
    by.copy.reset();
    return status;
  }
  by.copy_bytes = bytes;
  copies_bytes_ += bytes;
  found = {.data = data, .descriptor = fi_mr_desc(by.registered.get()), .is_copied = true};
  return 0;
}

int local_memory::begin_long(use& by, std::byte* data, std::size_t bytes, std::uint64_t access, place& found) noexcept {
  int status = use_in_place(by, data, bytes, access, found);
  if (status != 0 && !is_shortage(status)) status = use_copy(by, bytes, access, found);
  if (status == 0) {
    failing_since_ns_ = 0;
    if (by.registered) ++registered_;
    return 0;
  }
  // The operations under way will end their registrations.
  if (registered_ > 0) {
    failing_since_ns_ = 0;
    return -FI_EAGAIN;
  }
  const std::uint64_t now_ns = steady_now_ns();
  if (failing_since_ns_ == 0) failing_since_ns_ = now_ns;
  if (now_ns - failing_since_ns_ <= shortage_ns_max) return -FI_EAGAIN;
  return status == -FI_EAGAIN ? -FI_ENOMEM : status;
}

int local_memory::begin_put(std::size_t operation, bytes_view from, place& found) noexcept {
  if (from.size() <= bounce_bytes) {
    found = slot(operation);
  } else {
    // Not written to: the provider reads the source of a put.
    auto* const source = const_cast<std::byte*>(from.data());
    const int status = begin_long(uses_[operation], source, from.size(), FI_WRITE, found);
    if (status != 0 || !found.is_copied) return status;
  }
  copy_bytes(found.data, from.data(), from.size());
  return 0;
}

int local_memory::begin_get(std::size_t operation, mutable_bytes to, place& found) noexcept {
  use& by = uses_[operation];
  if (to.size() <= bounce_bytes) {
    found = slot(operation);
  } else {
    const int status = begin_long(by, to.data(), to.size(), FI_READ, found);
    if (status != 0 || !found.is_copied) return status;
  }
  by.result = found.data;
  by.into = to;
  return 0;
}

void local_memory::complete(std::size_t operation) noexcept {
  const use& by = uses_[operation];
  if (!by.into.empty()) copy_bytes(by.into.data(), by.result, by.into.size());
  release(operation);
}

void local_memory::release(std::size_t operation) noexcept {
  use& by = uses_[operation];
  by.into = {};
  if (by.registered) --registered_;
  by.registered.reset();
  if (!by.copy) return;
  by.copy.reset();
  copies_bytes_ -= by.copy_bytes;
}

}  // namespace amity::fabric::ofi
