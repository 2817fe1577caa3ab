#pragma once

/// Finds out which peers are silent: a rank that makes progress answers a question, one whose handler does not return
/// cannot.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "amity/base/types.hpp"

namespace amity::core {

/// Questions that peers have asked and this thread has not answered. It answers once per period, and each peer once,
/// however often it has asked.
class peer_answers {
 public:
  /// A question that waits for so long is answered before the peer reports this thread as silent.
  static constexpr std::uint64_t period_ns = 500'000'000;

  void on_question(rank_t lane) {
    if (std::ranges::find(asked_by_, lane) == asked_by_.end()) asked_by_.push_back(lane);
  }
  bool any() const noexcept { return !asked_by_.empty(); }
  /// Whether there are questions, and the last answers were sent a period ago.
  bool is_due(std::uint64_t now_ns) const noexcept { return any() && now_ns >= next_ns_; }
  /// The peers to answer now.
  std::vector<rank_t> take(std::uint64_t now_ns) noexcept {
    next_ns_ = now_ns + period_ns;
    return std::exchange(asked_by_, {});
  }

 private:
  std::vector<rank_t> asked_by_;
  std::uint64_t next_ns_ = 0;  ///< earliest time of the next answers
};

class peer_questions {
 public:
  /// Payload of the packets.
  enum class content : std::uint8_t { question = 1, answer = 2 };

  /// More are not asked: in a large job every rank may wait, and each would ask all others.
  static constexpr std::size_t peers_max = 16;
  /// A peer that has not answered for so long is silent.
  static constexpr std::uint64_t silence_ns = 2 * peer_answers::period_ns;

  /// Questions are sent to these lanes now.
  void ask(std::vector<rank_t> lanes, std::uint64_t now_ns) {
    asked_ = std::move(lanes);
    asked_ns_ = now_ns;
  }
  /// Takes a question or an answer of a peer. Returns whether it is one.
  bool on_packet(rank_t lane, bytes_view payload) {
    if (payload.size() != 1) return false;
    ++arrived_;
    if (payload[0] == static_cast<std::byte>(content::answer)) {
      std::erase(asked_, lane);
    } else {
      answers_.on_question(lane);
    }
    return true;
  }
  /// How many have arrived since the last call.
  std::size_t take_arrived() noexcept { return std::exchange(arrived_, 0); }
  peer_answers& answers() noexcept { return answers_; }

  /// Whether any peer has been silent for long enough.
  bool is_due(std::uint64_t now_ns) const noexcept { return !asked_.empty() && now_ns - asked_ns_ >= silence_ns; }
  /// These peers. They are forgotten.
  std::vector<rank_t> take_silent() noexcept { return std::exchange(asked_, {}); }

 private:
  std::vector<rank_t> asked_;  ///< and not answered
  std::uint64_t asked_ns_ = 0;
  std::size_t arrived_ = 0;
  peer_answers answers_;
};

}  // namespace amity::core
