#pragma once

/// Descriptions that a target knows by their numbers, so that operations need not carry them. New ones replace the
/// oldest.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/window/window_records.hpp"

namespace amity::detail {

template <class Description>
class sent_descriptions {
 public:
  /// The number of a description, which is sent if the target does not know it: `try_append` gets the parts one after
  /// another, of `bytes_max` at most, and returns false if there is no credit. None: so it was; another call continues.
  template <class Append>
  std::optional<std::uint32_t> try_number(const std::shared_ptr<const Description>& what, std::size_t bytes_max,
                                          const Append& try_append) {
    if (!try_send(bytes_max, try_append)) return std::nullopt;  // of this call, or of another thread
    for (std::uint32_t back = 1; back <= std::min(count_, descriptions_kept); ++back) {
      const std::uint32_t number = count_ - back;
      const std::shared_ptr<const Description>& known = kept_[number % descriptions_kept];
      if (known == what || *known == *what) return number;
    }
    const std::uint32_t number = count_++;
    if (number < descriptions_kept) kept_.emplace_back();
    kept_[number % descriptions_kept] = what;
    unsent_ = what->encode();
    sent_ = 0;
    return try_send(bytes_max, try_append) ? std::optional(number) : std::nullopt;
  }

 private:
  template <class Append>
  bool try_send(std::size_t bytes_max, const Append& try_append) {
    while (!unsent_.empty()) {
      const bytes_view part = bytes_view(unsent_).subspan(sent_, std::min(bytes_max, unsent_.size() - sent_));
      const layout_part head{.number = count_ - 1, .bytes = static_cast<std::uint32_t>(unsent_.size()), .at = sent_};
      if (!try_append(head, part)) return false;
      sent_ += part.size();
      if (sent_ == unsent_.size()) unsent_ = {};
    }
    return true;
  }

  std::uint32_t count_ = 0;
  std::vector<std::shared_ptr<const Description>> kept_;  ///< by number modulo `descriptions_kept`
  std::vector<std::byte> unsent_;                         ///< the newest one, encoded, while parts were not sent
  std::size_t sent_ = 0;                                  ///< bytes of these
};

}  // namespace amity::detail
