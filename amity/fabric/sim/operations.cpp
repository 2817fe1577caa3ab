#include "amity/fabric/sim/operations.hpp"

#include <utility>

#include "amity/base/assert.hpp"

namespace amity::fabric::sim {

std::string_view operation::name() const noexcept {
  switch (what) {
    case kind::get:
      return "get";
    case kind::atomic:
      return "atomic";
    case kind::put:
      break;
  }
  return notifies ? "put_notify" : "put";
}

operation_id operation_pool::open(operation&& started) {
  if (free_.empty()) {
    AMITY_ASSERT(all_.size() < std::size_t{1} << operation_step::id_bits);
    free_.push_back(static_cast<operation_id>(all_.size()));
    all_.emplace_back();
  }
  const operation_id id = free_.back();
  free_.pop_back();
  all_[id] = std::move(started);
  all_[id].number = ++opened_;
  return id;
}

void operation_pool::close(operation_id id) noexcept {
  all_[id].copy = {};
  free_.push_back(id);
}

// Small blocks are not aligned, so each has room for it.
std::uint64_t segment_table::open(rank_t owner, std::size_t bytes) {
  zeroed_memory memory(bytes + cache_line_bytes);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  auto* const data =
      reinterpret_cast<std::byte*>((address + cache_line_bytes - 1) / cache_line_bytes * cache_line_bytes);
  all_.push_back({.owner = owner, .alive = true, .bytes = bytes, .memory = std::move(memory), .data = data});
  return all_.size() - 1;
}

std::uint64_t segment_table::attach(rank_t owner, mutable_bytes memory) {
  all_.push_back(
      {.owner = owner, .alive = true, .bytes = memory.size(), .memory = std::nullopt, .data = memory.data()});
  return all_.size() - 1;
}

void segment_table::close(std::uint64_t number) noexcept {
  entry& old = all_[number];
  if (old.memory) const zeroed_memory gone(std::move(*old.memory));
  old.alive = false;
}

}  // namespace amity::fabric::sim
