#pragma once

/// Finds out which peers are silent: a rank that makes progress answers a question, one whose handler does not return
/// cannot.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "amity/base/types.hpp"

namespace amity::core {

class peer_questions {
 public:
  /// Payload of the packets.
  enum class content : std::uint8_t { question = 1, answer = 2 };

  /// More are not asked: in a large job every rank may wait, and each would ask all others.
  static constexpr std::size_t peers_max = 16;
  /// A peer that has not answered for so long is silent.
  static constexpr std::uint64_t patience_ns = 1'000'000'000;

  /// Questions are sent to these lanes now.
  void ask(std::vector<rank_t> lanes, std::uint64_t now_ns) {
    asked_ = std::move(lanes);
    asked_ns_ = now_ns;
  }
  void on_answer(rank_t lane) noexcept { std::erase(asked_, lane); }

  /// Whether any peer has been silent for long enough.
  bool is_due(std::uint64_t now_ns) const noexcept { return !asked_.empty() && now_ns - asked_ns_ >= patience_ns; }
  /// These peers. They are forgotten.
  std::vector<rank_t> take_silent() noexcept { return std::exchange(asked_, {}); }

 private:
  std::vector<rank_t> asked_;  ///< and not answered
  std::uint64_t asked_ns_ = 0;
};

}  // namespace amity::core
