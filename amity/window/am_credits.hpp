#pragma once

/// The space of a target that it keeps for origins that send, so that they need not ask for each unit.
///
/// - An origin gets as much as it says that it could use, and not more than an equal share of what is attached.
/// - Space for the largest unit of the latest requests is never given away. Origins without credit use it in turns.
/// - Space that is not in use is withdrawn at once where it is needed: first from origins that have not used theirs for
///   a while, and what others have beyond their share. Origins are not asked, and learn of it when they
///   send the next unit or request.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/window/am_buffers.hpp"
#include "amity/window/am_credit.hpp"

namespace amity::detail {

class am_credits final : private immovable {
 public:
  explicit am_credits(am_buffers& in) noexcept : buffers_(in) {}

  /// An origin has asked for a unit.
  void note_request(const am_need& of_unit);
  /// Gives space to an origin whose unit has found some. `usable`: bytes that it could use.
  void extend(rank_t lane, const am_need& of_segment, std::uint64_t usable);
  /// A unit without credit has space.
  void note_grant(const am_need& of_unit) noexcept { served_ += of_unit.input + of_unit.output; }

  /// Takes space of the origin for a unit that has arrived. False: the origin no longer has it.
  bool try_take(rank_t lane, const am_need& of_unit, const am_room& where);
  void give_back(rank_t lane, const am_need& of_unit, const am_room& where);

  enum class holders : std::uint8_t { idle, all };
  /// Withdraws space until a segment fits into what belongs to no origin. False: it still does not fit.
  bool try_withdraw(const am_need& of_segment, holders from);
  /// Withdraws what units of others now have in these buffers.
  void withdraw_used(const am_room& in);
  /// Drops what lies in buffers that were detached.
  void drop_detached();

  /// What the origin has of each buffer of which it has been told otherwise.
  std::vector<am_free> take_untold(rank_t lane);

 private:
  struct holder {
    rank_t lane;
    am_credit credit{};
    std::vector<am_free> untold{};
    std::uint64_t used_at = 0;  ///< `served_` when it has used its credit, or asked for it
  };

  static constexpr std::size_t requests_known = 8;

  holder& at(rank_t lane);
  /// Since it has used its credit, less than all space has been used twice.
  bool is_active(const holder& of) const noexcept { return served_ - of.used_at <= 2 * buffers_.bytes_attached(); }
  /// Space that may be given away: by buffer.
  std::vector<am_free> spare() const;
  std::uint64_t share() const noexcept;
  std::uint64_t unit_max() const noexcept;
  void set(holder& of, std::uint32_t buffer, std::uint64_t bytes);
  /// Withdraws at most so many bytes that are not in use, and returns how many.
  std::uint64_t withdraw(holder& from, std::uint64_t bytes_max);
  /// Makes spare space for the origin, as far as others have more than they should.
  void withdraw_for(const holder& of, std::uint64_t bytes, std::uint64_t most);
  void withdraw_in(std::uint32_t buffer, std::uint64_t bytes);

  am_buffers& buffers_;
  rank_map<std::unique_ptr<holder>> by_lane_;
  std::vector<holder*> holders_;
  std::uint64_t served_ = 0;                           ///< bytes that units have used
  std::array<std::uint64_t, requests_known> units_{};  ///< bytes of the latest requests
  std::size_t requests_ = 0;
};

}  // namespace amity::detail
