#pragma once

/// A window's memory on this rank, as records of other members use it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/core/group.hpp"
#include "amity/core/record.hpp"
#include "amity/window/access_rules.hpp"
#include "amity/window/assertion_checks.hpp"
#include "amity/window/attached_memory.hpp"
#include "amity/window/compare_swap.hpp"
#include "amity/window/layout.hpp"
#include "amity/window/window_records.hpp"

namespace amity::core {
class engine;
}  // namespace amity::core

namespace amity::detail {

/// How many layouts of one origin a target knows at once. Newer ones replace the oldest.
inline constexpr std::uint32_t layouts_kept = 64;

class window_target final : private immovable {
 public:
  /// `attached`: the memory of a dynamic window, whose offsets are addresses; null: the window has `memory`.
  /// `checks`: null, if promises are not verified.
  window_target(core::engine& on, mutable_bytes memory, const attached_memory* attached, assertion_checks* checks,
                const core::group& members, const access_rules::identity& whose)
      : engine_(on), memory_(memory), attached_(attached), checks_(checks), members_(members), whose_(whose) {}

  /// Carries out an operation on the memory. As `record_executor::execute`; refuses what is early.
  bool execute(rank_t lane, const core::record& what, bytes_view content, core::answers& to);

  /// Operations that have been carried out in the present epoch of fences.
  std::uint64_t arrived() const noexcept { return arrived_; }
  /// Carries out operations of the next epoch from now on, which were refused until now.
  void begin_epoch() noexcept {
    arrived_ = 0;
    parity_ ^= 1;
  }
  /// Whether the origin of a record has left a fence that this rank is still in. Operations of others, whose effects
  /// the record may see, are on their way then.
  bool is_early(const core::record& what) const noexcept { return ((what.act & parity_bit) != 0) != (parity_ != 0); }
  /// Fences that this rank has left, modulo 2.
  unsigned parity() const noexcept { return parity_; }

 private:
  struct known_layout {
    std::uint32_t number = 0;
    std::size_t bytes_missing = 0;
    std::vector<std::byte> encoded;  ///< until all of it is there
    layout known;
  };
  using layouts = std::array<known_layout, layouts_kept>;

  bool run(rank_t lane, const core::record& what, bytes_view content, core::answers& to);
  /// The address of `what.at`. All that the record uses is memory of the window: `bytes`, or that many bytes of the
  /// data of `blocks` from `from` on.
  std::byte* place(rank_t lane, const core::record& what, std::size_t bytes, const layout* blocks = nullptr,
                   std::size_t from = 0) const;
  void note_write(rank_t lane, const core::record& what, std::size_t bytes, const layout* blocks, std::size_t from);
  void take_layout(rank_t lane, bytes_view content);
  const layout& find_layout(rank_t lane, const block_place& where, std::size_t bytes);
  void accumulate(rank_t lane, const core::record& what, std::byte* there, bytes_view operands, std::byte* previous);
  bool compare_swap(rank_t lane, const core::record& what, const swap_operands& given, core::answers& to);

  core::engine& engine_;
  mutable_bytes memory_;
  const attached_memory* attached_;
  assertion_checks* checks_;
  const core::group& members_;
  access_rules::identity whose_;
  std::uint64_t arrived_ = 0;
  unsigned parity_ = 0;
  rank_map<std::unique_ptr<layouts>> layouts_;  ///< by lane
};

}  // namespace amity::detail
