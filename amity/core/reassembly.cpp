#include "amity/core/reassembly.hpp"

#include <cstring>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "amity/base/random.hpp"

namespace amity::core {
namespace {

// No memory has more bytes, and the sum with a cache line does not overflow.
constexpr std::uint64_t message_bytes_max =
    static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()) - cache_line_bytes;

}  // namespace

std::optional<fragment_header> header_of_fragment(bytes_view fragment) {
  fragment_header head;
  if (fragment.size() <= sizeof head) return std::nullopt;
  std::memcpy(&head, fragment.data(), sizeof head);
  const std::size_t content_bytes = fragment.size() - sizeof head;
  if (head.offset > head.total || content_bytes > head.total - head.offset) return std::nullopt;
  return head;
}

std::pair<fragment_header, bytes_view> split_fragment(bytes_view fragment) {
  const std::optional<fragment_header> head = header_of_fragment(fragment);
  if (!head) throw invalid_fragment{fmt::format("a fragment of {} bytes", fragment.size())};
  return {*head, fragment.subspan(sizeof *head)};
}

std::size_t fragment_key_hash::operator()(const fragment_key& k) const noexcept {
  return splitmix64::mix(k.message ^ (static_cast<std::uint64_t>(k.source) << 40));
}

std::optional<reassembly::message> reassembly::add(rank_t source, bytes_view fragment) {
  const auto [head, content] = split_fragment(fragment);
  const auto [place, first] = partial_.try_emplace(fragment_key{source, head.message});
  partial& message_so_far = place->second;
  if (first) {
    if (head.total > message_bytes_max) throw std::bad_alloc();
    // Not initialised: every byte is overwritten before the message is whole.
    message_so_far.storage = std::make_unique_for_overwrite<std::byte[]>(head.total + cache_line_bytes);
    void* aligned = message_so_far.storage.get();
    std::size_t space = head.total + cache_line_bytes;
    std::align(cache_line_bytes, head.total, aligned, space);
    message_so_far.bytes = {static_cast<std::byte*>(aligned), head.total};
  }
  const std::size_t left = message_so_far.bytes.size() - message_so_far.received;
  if (head.total != message_so_far.bytes.size() || content.size() > left) {
    throw invalid_fragment{
        fmt::format("a fragment of {} bytes of message {} of {} bytes, of which {} of {} are missing", content.size(),
                    head.message, head.total, left, message_so_far.bytes.size())};
  }
  std::memcpy(message_so_far.bytes.data() + head.offset, content.data(), content.size());
  message_so_far.received += content.size();
  if (message_so_far.received < message_so_far.bytes.size()) return std::nullopt;
  message whole{.storage = std::move(message_so_far.storage), .bytes = message_so_far.bytes};
  partial_.erase(place);
  return whole;
}

bool reassembly::completes(rank_t source, bytes_view fragment) const {
  const std::optional<fragment_header> head = header_of_fragment(fragment);
  if (!head) return true;
  const auto found = partial_.find(fragment_key{source, head->message});
  const std::size_t received = found == partial_.end() ? 0 : found->second.received;
  return received + (fragment.size() - sizeof *head) >= head->total;
}

}  // namespace amity::core
