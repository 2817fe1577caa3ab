#pragma once

/// The members of a window whose memory this rank uses. At the first use of a member, this rank learns where its memory
/// is, and maps it if the fabric maps memory of that rank. Members of one node introduce themselves beforehand.

#include <cstddef>
#include <memory>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/group.hpp"
#include "amity/window/control_block.hpp"
#include "amity/window/direct_access.hpp"
#include "amity/window/neighbors.hpp"
#include "amity/window/window_origin.hpp"
#include "amity/window/window_peer.hpp"
#include "amity/window/window_service.hpp"
#include "amity/window/window_target.hpp"

namespace amity::detail {

class window_peers final : private immovable {
 public:
  /// Records for owners of memory go to their `target_thread`. `own` is the target of this rank. `origin` asks members
  /// that have not introduced themselves.
  window_peers(core::endpoint& in, window_service& service, direct_access& direct, const core::group& members,
               rank_t target_thread, window_target& own, window_identity identity, window_origin& origin);
  /// Closes segments.
  ~window_peers();

  /// The member as an origin uses it. At the first use, maps its memory, and asks it first if it has not introduced
  /// itself, which waits. Throws `error` if the system refuses to map the memory.
  window_peer& peer(rank_t member) {
    if (window_peer* const known = find(member)) [[likely]]
      return *known;
    return meet(member);
  }
  /// Null: it has not been used.
  window_peer* find(rank_t member) const noexcept {
    const std::unique_ptr<window_peer>* const found = by_member_.find(member);
    return found == nullptr ? nullptr : found->get();
  }
  /// This rank itself.
  void add_own(rank_t member, const window_description& about, control_block* control, std::byte* base);
  /// Introduces this rank, whose target this describes, to the members of its node, and learns of them. Waits, but for
  /// no progress of members that have returned from it.
  void meet_node(const window_description& own);
  /// A member of this node has introduced itself. False: the content is not valid.
  bool note_introduction(rank_t member, bytes_view content);
  /// Uses all members of this node. Returns whether these are all members, and this rank maps their control blocks.
  bool use_neighbors();
  /// Members that have been used.
  const std::vector<window_peer*>& used() const noexcept { return all_; }
  /// From now on operations use the memory of the member without a call here, if it is mapped.
  void open_direct(window_peer& of);
  /// All members have been used: places their memory in that of member 0, one after another. Returns that of member
  /// `own`. Before `open_direct`.
  mutable_bytes place_consecutively(rank_t own);

 private:
  window_peer& meet(rank_t member);
  window_peer& add(std::unique_ptr<window_peer> met, const window_description& about);
  /// Whether this rank cannot use the memory without progress of its own.
  bool needs_progress(const window_peer& of) const noexcept;
  void map_data(window_peer& of, std::byte* data) const noexcept;

  core::endpoint& endpoint_;
  window_service& service_;
  direct_access& direct_;
  const core::group& members_;
  rank_t target_thread_;
  window_target& own_;
  window_identity identity_;
  window_origin& origin_;
  neighbors neighbors_;  ///< members of this node
  rank_map<std::unique_ptr<window_peer>> by_member_;
  std::vector<window_peer*> all_;
};

}  // namespace amity::detail
