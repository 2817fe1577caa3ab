#include "amity/fabric/sim/parcels.hpp"

#include <algorithm>
#include <cstring>

#include "amity/base/assert.hpp"
#include "amity/fabric/sim/sanitizers.hpp"

namespace amity::fabric::sim {

parcel_pool::parcel_pool(std::size_t payload_bytes_max)
    : buffer_bytes_max_((payload_bytes_max + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes) {
  AMITY_ASSERT(class_of(buffer_bytes_max_) < classes, payload_bytes_max);
}

parcel_id parcel_pool::open(std::size_t bytes) {
  if (free_.empty()) grow();
  const parcel_id id = free_.back();
  free_.pop_back();
  constexpr std::size_t ahead = 4;  // a rank that sends a lot opens parcels that lay idle for long
  if (free_.size() >= ahead) __builtin_prefetch(&(*this)[free_[free_.size() - ahead]], 1);
  parcel& p = (*this)[id];
  ++p.generation;
  p.state = parcel_state::filling;
  give_payload(p, bytes, false);
  return id;
}

void parcel_pool::fit(parcel& p) {
  // Copying at most a quarter of the buffer bounds the memory in flight to four times its bytes.
  if (p.size_class == 0 || p.bytes > class_bytes(p.size_class) / 4) return;
  std::byte* const large = p.payload;
  const std::uint8_t large_class = p.size_class;
  give_payload(p, p.bytes, true);
  std::memcpy(p.payload, large, p.bytes);
  give_back_buffer(large, large_class);
}

void parcel_pool::drop_payload(parcel& p) noexcept {
  if (p.size_class == 0) {
    mark_unusable(p.space.data(), p.space.size());
  } else {
    give_back_buffer(p.payload, p.size_class);
  }
  p.payload = nullptr;
}

void parcel_pool::close(parcel_id id) noexcept {
  parcel& p = (*this)[id];
  AMITY_DEBUG_ASSERT(p.payload == nullptr && p.state != parcel_state::free, id);
  p.state = parcel_state::free;
  free_.push_back(id);  // there is room for all
}

void parcel_pool::give_payload(parcel& p, std::size_t bytes, bool slot) {
  p.size_class = bytes <= parcel::inline_bytes_max ? std::uint8_t{0} : class_of(bytes);
  if (p.size_class == 0) {
    p.payload = p.small(slot);
    mark_usable(p.space.data(), p.space.size());
  } else {
    p.payload = take_buffer(p.size_class);
  }
}

std::byte* parcel_pool::take_buffer(std::uint8_t size_class) {
  const std::size_t bytes = class_bytes(size_class);
  free_buffer*& head = free_buffers_[size_class];
  if (head == nullptr) {
    const std::size_t count = std::max<std::size_t>(1, buffer_chunk_bytes / bytes);
    std::byte* chunk = new (std::align_val_t{cache_line_bytes}) std::byte[count * bytes];
    buffer_chunks_.emplace_back(chunk);
    for (std::size_t i = count; i-- > 0;) give_back_buffer(chunk + i * bytes, size_class);
  }
  free_buffer* const taken = head;
  mark_usable(taken, bytes);
  head = taken->next;
  return reinterpret_cast<std::byte*>(taken);
}

void parcel_pool::give_back_buffer(std::byte* buffer, std::uint8_t size_class) noexcept {
  free_buffer*& head = free_buffers_[size_class];
  head = new (buffer) free_buffer{head};
  mark_unusable(buffer, class_bytes(size_class));
}

void parcel_pool::grow() {
  const auto base = static_cast<parcel_id>(chunks_.size() * chunk_parcels);
  chunks_.emplace_back(chunk_parcels);
  free_.reserve(chunks_.size() * chunk_parcels);
  for (std::size_t i = chunk_parcels; i-- > 0;) free_.push_back(base + static_cast<parcel_id>(i));
}

}  // namespace amity::fabric::sim
