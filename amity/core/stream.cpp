#include "amity/core/stream.hpp"

#include <sys/sysinfo.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::core {
namespace {

// A larger message cannot be held by any program here. Larger sizes are refused before memory is reserved for them.
std::uint64_t memory_bytes() {
  struct sysinfo machine = {};
  if (::sysinfo(&machine) != 0) return ~std::uint64_t{0};
  return (std::uint64_t{machine.totalram} + machine.totalswap) * machine.mem_unit;
}

[[noreturn]] void throw_malformed(const fragment_header& head, std::size_t bytes, std::uint64_t consumed) {
  throw invalid_fragment{
      fmt::format("a fragment of {} bytes at offset {} does not fit message {} of {} bytes, of which {} bytes were "
                  "there before",
                  bytes, head.offset, head.message & ~incoming_streams::mark, head.total, consumed)};
}

}  // namespace

std::size_t memory_stream::produce(mutable_bytes to) {
  const std::size_t bytes = std::min(to.size(), rest_.size());
  if (bytes > 0) std::memcpy(to.data(), rest_.data(), bytes);
  rest_ = rest_.subspan(bytes);
  return bytes;
}

std::unique_ptr<incoming_stream> incoming_streams::add(rank_t source, handler_id handler, bytes_view fragment,
                                                       stream_opener open, void* context) {
  const auto split = split_fragment(fragment);
  const fragment_header head = split.first;
  const bytes_view content = split.second;
  const auto [place, first] = partial_.try_emplace(fragment_key{source, head.message});
  partial& message = place->second;
  if (first) {
    if (head.total > memory_bytes()) throw std::bad_alloc();
    message.handler = handler;
    message.total = head.total;
    message.stream = open(context);
  }
  if (head.total != message.total || message.handler != handler || head.offset < message.consumed)
    throw_malformed(head, content.size(), message.consumed);

  const auto consume = [&](bytes_view next) {
    message.consumed += next.size();
    message.stream->consume(next, message.total - message.consumed);
  };
  message.received += content.size();
  if (head.offset > message.consumed) {
    if (!message.ahead.try_emplace(head.offset, content.begin(), content.end()).second)
      throw_malformed(head, content.size(), message.consumed);
    return nullptr;
  }
  consume(content);
  for (auto next = message.ahead.begin(); next != message.ahead.end(); next = message.ahead.erase(next)) {
    if (next->first > message.consumed) break;
    if (next->first < message.consumed) throw_malformed(head, content.size(), message.consumed);
    consume(next->second);
  }
  if (message.consumed < message.total) return nullptr;
  std::unique_ptr<incoming_stream> whole = std::move(message.stream);
  partial_.erase(place);
  return whole;
}

bool incoming_streams::completes(rank_t source, bytes_view fragment) const {
  const std::optional<fragment_header> head = header_of_fragment(fragment);
  if (!head) return true;
  const auto found = partial_.find(fragment_key{source, head->message});
  const std::uint64_t received = found == partial_.end() ? 0 : found->second.received;
  return received + (fragment.size() - sizeof *head) >= head->total;
}

void incoming_streams::drop(handler_id handler) {
  std::erase_if(partial_, [&](const auto& each) { return each.second.handler == handler; });
}

}  // namespace amity::core
