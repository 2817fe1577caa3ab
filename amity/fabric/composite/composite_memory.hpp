#pragma once

/// The memory of two fabrics as one: the node's for ranks of this node, the network's for all others.
///
/// A segment is memory of the node, which is attached to the network. Its key has a part for each of them. What the
/// network cannot attach has no part for it, and its ranks open such a segment with 0 bytes.

#include <cstdint>
#include <optional>
#include <vector>

#include "amity/fabric/composite/network_turns.hpp"
#include "amity/fabric/remote_memory.hpp"

namespace amity::fabric {

class composite_memory final : public remote_memory {
 public:
  /// `network` is null if that fabric has no remote memory. `node_rank_of` has the node's number of each rank, or
  /// `no_rank`. All must outlive it.
  composite_memory(rank_t rank, remote_memory& node, remote_memory* network, const std::vector<rank_t>& node_rank_of,
                   network_turns& turns)
      : rank_(rank), node_(node), network_(network), node_rank_of_(node_rank_of), turns_(turns) {}

  segment create(std::size_t bytes) override;
  std::optional<segment> attach(mutable_bytes memory) override;
  segment_key key_on_node(const segment_key& key) const noexcept override;
  void destroy(const segment& own) noexcept override;
  remote_handle open(rank_t owner, const segment_key& key) override;
  void close(const remote_handle& opened) noexcept override;
  stage put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                   std::uint64_t when_free) noexcept override;

 private:
  stage start_put(const remote_handle& to, std::size_t offset, bytes_view from, const events& tell) noexcept override;
  stage start_get(const remote_handle& from, std::size_t offset, mutable_bytes to,
                  std::uint64_t when_complete) noexcept override;
  stage start_atomic(const remote_handle& at, std::size_t offset, const atomic_request& what, std::uint64_t* previous,
                     std::uint64_t when_complete) noexcept override;

  /// A handle as the fabric that has opened it knows it.
  struct opened_by {
    remote_memory& memory;
    remote_handle handle;
  };
  opened_by resolve(const remote_handle& opened) const noexcept;
  /// As `resolve`, for an operation that begins.
  opened_by begin(const remote_handle& at) const noexcept;
  /// The segment in the node's memory, if it has one, and attached to the network, where that is possible.
  segment offer(const std::optional<segment>& in_node, mutable_bytes memory);

  rank_t rank_;
  remote_memory& node_;
  remote_memory* network_;
  const std::vector<rank_t>& node_rank_of_;
  network_turns& turns_;
};

}  // namespace amity::fabric
