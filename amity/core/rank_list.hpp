#pragma once

/// The members of a world, as ranks of the job: all of them, each third one, those of a half in reverse, or any others.
///
/// Regular ones take three numbers, so that thousands of simulated ranks can make worlds of thousands of ranks; for
/// others there is a table, and one for the way back.

#include <utility>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"

namespace amity::core {

class rank_list {
 public:
  rank_list() = default;
  /// `ranks` in the order of the members, each once.
  explicit rank_list(std::vector<rank_t> ranks) : size_(static_cast<rank_t>(ranks.size())) {
    if (size_ > 0) first_ = ranks[0];
    if (size_ > 1) stride_ = ranks[1] - ranks[0];
    bool is_regular = true;
    for (rank_t member = 0; member < size_; ++member) {
      is_regular &= ranks[static_cast<std::size_t>(member)] == (*this)[member];
    }
    if (!is_regular) use_table(std::move(ranks));
  }

  rank_t size() const noexcept { return size_; }
  /// Whether there is no table.
  bool regular() const noexcept { return table_.empty(); }

  rank_t operator[](rank_t member) const noexcept {
    return regular() ? first_ + member * stride_ : table_[static_cast<std::size_t>(member)];
  }

  /// Which member a rank is; `no_rank` if it is none.
  rank_t find(rank_t rank) const noexcept {
    if (!regular()) {
      const rank_t* const found = members_.find(rank);
      return found == nullptr ? no_rank : *found;
    }
    const rank_t member = (rank - first_) / stride_;
    return member >= 0 && member < size_ && (*this)[member] == rank ? member : no_rank;
  }

 private:
  void use_table(std::vector<rank_t> ranks) {
    table_ = std::move(ranks);
    for (rank_t member = 0; member < size_; ++member) members_[table_[static_cast<std::size_t>(member)]] = member;
  }

  rank_t size_ = 0;
  rank_t first_ = 0;
  rank_t stride_ = 1;
  std::vector<rank_t> table_;
  rank_map<rank_t> members_;
};

}  // namespace amity::core
