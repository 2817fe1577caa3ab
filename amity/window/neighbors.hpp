#pragma once

/// The other members of a window on this node, as they have introduced themselves. A description takes about 40 bytes
/// here, and about 80 bytes if the memory is of the program. It is needed at the first use of the member.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/window/window_records.hpp"

namespace amity::detail {

class neighbors final : private immovable {
 public:
  /// A description as bytes of an introduction. Small numbers take few bytes, and zeros at the end of a key none.
  static std::vector<std::byte> encode(const window_description& about);

  /// Each member at most once. False: these are not the bytes of a description.
  bool add(rank_t member, bytes_view encoded);
  /// All have been added. Gives memory back.
  void close();
  std::size_t size() const noexcept { return entries_.size(); }
  /// None: the member was not added. After `close`.
  std::optional<window_description> find(rank_t member) const noexcept;
  /// Calls `visit(member)` for each, in ascending order. After `close`.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const entry& each : entries_) visit(each.member);
  }

 private:
  struct entry {
    rank_t member;
    std::uint32_t at;  ///< where its description begins, in `descriptions_`
  };

  std::vector<entry> entries_;           ///< by member, after `close`
  std::vector<std::byte> descriptions_;  ///< each one: its bytes, as an integer of 16 bits, and the encoded description
};

}  // namespace amity::detail
