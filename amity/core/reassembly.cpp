#include "amity/core/reassembly.hpp"

#include <cstring>

#include "amity/base/assert.hpp"
#include "amity/base/random.hpp"

namespace amity::core {

fragment_header header_of_fragment(rank_t source, bytes_view fragment) {
  fragment_header head;
  AMITY_ASSERT(fragment.size() > sizeof head, source, fragment.size());
  std::memcpy(&head, fragment.data(), sizeof head);
  return head;
}

std::size_t fragment_key_hash::operator()(const fragment_key& k) const noexcept {
  return splitmix64::mix(k.message ^ (static_cast<std::uint64_t>(k.source) << 40));
}

std::optional<reassembly::message> reassembly::add(rank_t source, bytes_view fragment) {
  const fragment_header head = header_of_fragment(source, fragment);
  const bytes_view content = fragment.subspan(sizeof head);

  const auto [place, first] = partial_.try_emplace(fragment_key{source, head.message});
  partial& message_so_far = place->second;
  if (first) {
    // Not initialised: every byte is overwritten before the message is whole.
    message_so_far.storage = std::make_unique_for_overwrite<std::byte[]>(head.total + cache_line_bytes);
    void* aligned = message_so_far.storage.get();
    std::size_t space = head.total + cache_line_bytes;
    std::align(cache_line_bytes, head.total, aligned, space);
    message_so_far.bytes = {static_cast<std::byte*>(aligned), head.total};
  }
  AMITY_ASSERT(head.total == message_so_far.bytes.size() && head.offset <= head.total &&
                   content.size() <= head.total - head.offset,
               source, head.message, head.total, head.offset, content.size());
  std::memcpy(message_so_far.bytes.data() + head.offset, content.data(), content.size());
  message_so_far.received += content.size();
  if (message_so_far.received < message_so_far.bytes.size()) return std::nullopt;
  message whole{.storage = std::move(message_so_far.storage), .bytes = message_so_far.bytes};
  partial_.erase(place);
  return whole;
}

bool reassembly::completes(rank_t source, bytes_view fragment) const {
  const fragment_header head = header_of_fragment(source, fragment);
  const auto found = partial_.find(fragment_key{source, head.message});
  const std::size_t received = found == partial_.end() ? 0 : found->second.received;
  return received + (fragment.size() - sizeof head) >= head.total;
}

}  // namespace amity::core
