#include "amity/fabric/composite/composite_memory.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::fabric {
namespace {

/// In the id of a handle that the network has opened.
constexpr std::uint64_t opened_by_network = std::uint64_t{1} << 62;

/// The parts of a key. All zeros: the fabric does not have the segment.
struct key_parts {
  segment_key node;
  segment_key network;
};

constexpr std::size_t part_bytes = segment_key::fabric_bytes_max;

segment_key join(const key_parts& parts) {
  segment_key whole;
  std::copy_n(parts.node.bytes.begin(), part_bytes, whole.bytes.begin());
  std::copy_n(parts.network.bytes.begin(), part_bytes, whole.bytes.begin() + part_bytes);
  return whole;
}

key_parts split(const segment_key& whole) {
  key_parts parts;
  std::copy_n(whole.bytes.begin(), part_bytes, parts.node.bytes.begin());
  std::copy_n(whole.bytes.begin() + part_bytes, part_bytes, parts.network.bytes.begin());
  return parts;
}

bool exists(const segment_key& part) { return part != segment_key{}; }

}  // namespace

segment composite_memory::offer(const std::optional<segment>& in_node, mutable_bytes memory) {
  key_parts parts;
  if (in_node) parts.node = in_node->key;
  if (network_ != nullptr) {
    if (const std::optional<segment> attached = network_->attach(memory)) parts.network = attached->key;
  }
  return {.data = memory.data(), .bytes = memory.size(), .key = join(parts)};
}

segment composite_memory::create(std::size_t bytes) {
  const segment made = node_.create(bytes);
  return offer(made, {made.data, made.bytes});
}

std::optional<segment> composite_memory::attach(mutable_bytes memory) {
  const segment offered = offer(node_.attach(memory), memory);
  if (!exists(offered.key)) return std::nullopt;
  return offered;
}

segment_key composite_memory::key_on_node(const segment_key& key) const noexcept {
  return join({.node = split(key).node, .network = {}});
}

void composite_memory::destroy(const segment& own) noexcept {
  const key_parts parts = split(own.key);
  if (exists(parts.network)) network_->destroy({.data = own.data, .bytes = own.bytes, .key = parts.network});
  if (exists(parts.node)) node_.destroy({.data = own.data, .bytes = own.bytes, .key = parts.node});
}

remote_handle composite_memory::open(rank_t owner, const segment_key& key) {
  const key_parts parts = split(key);
  const rank_t node_rank = node_rank_of_[static_cast<std::size_t>(owner)];
  if (node_rank != no_rank)
    return exists(parts.node) || !exists(key) ? node_.open(node_rank, parts.node) : remote_handle{};
  if (network_ == nullptr) {
    throw error("opening a segment", rank_, fmt::format("rank {} is on another node", owner),
                "open segments of ranks that `remote_to` calls available");
  }
  if (!exists(parts.network) && exists(key)) return {};
  remote_handle opened = network_->open(owner, parts.network);
  if (opened.bytes > 0) opened.id |= opened_by_network;
  return opened;
}

composite_memory::opened_by composite_memory::resolve(const remote_handle& opened) const noexcept {
  if ((opened.id & opened_by_network) == 0) return {node_, opened};
  remote_handle there = opened;
  there.id &= ~opened_by_network;
  return {*network_, there};
}

composite_memory::opened_by composite_memory::begin(const remote_handle& at) const noexcept {
  if ((at.id & opened_by_network) != 0) turns_.expect();
  return resolve(at);
}

void composite_memory::close(const remote_handle& opened) noexcept {
  const opened_by by = resolve(opened);
  by.memory.close(by.handle);
}

stage composite_memory::put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                                   std::uint64_t when_free) noexcept {
  const opened_by by = begin(to);
  return by.memory.put_notify(by.handle, offset, from, bits, when_free);
}

stage composite_memory::start_put(const remote_handle& to, std::size_t offset, bytes_view from,
                                  const events& tell) noexcept {
  const opened_by by = begin(to);
  return by.memory.put(by.handle, offset, from, tell);
}

stage composite_memory::start_get(const remote_handle& from, std::size_t offset, mutable_bytes to,
                                  std::uint64_t when_complete) noexcept {
  const opened_by by = begin(from);
  return by.memory.get(by.handle, offset, to, when_complete);
}

stage composite_memory::start_atomic(const remote_handle& at, std::size_t offset, const atomic_request& what,
                                     std::uint64_t* previous, std::uint64_t when_complete) noexcept {
  const opened_by by = begin(at);
  return by.memory.atomic(by.handle, offset, what, previous, when_complete);
}

}  // namespace amity::fabric
