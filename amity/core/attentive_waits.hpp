#pragma once

/// Waits of a thread in which peers may rely on it, because it polls all the time (`fabric::attention_board`).

#include <cstdint>
#include <utility>

#include "amity/fabric/attention_board.hpp"

namespace amity::core {

class attentive_waits {
 public:
  /// `board` may be null: then no wait is attentive.
  explicit attentive_waits(fabric::attention_board* board) noexcept : board_(board) {}

  /// Peers reach memory of this rank by slow means, and prefer packets. Until as many calls of `withdraw`.
  void offer() noexcept { ++offers_; }
  void withdraw() noexcept { --offers_; }
  bool are_offered() const noexcept { return offers_ > 0 && board_ != nullptr; }

  void begin() noexcept { ++waits_; }
  /// Before the thread looks for packets, all the time or until it sleeps.
  void announce() noexcept {
    if (waits_ == 0) [[likely]]
      return;
    board_->begin();
    is_announced_ = true;
  }
  /// Returns whether packets may be there that peers have sent for this reason.
  [[nodiscard]] bool end() noexcept {
    --waits_;
    return std::exchange(is_announced_, false) && board_->end();
  }

 private:
  fabric::attention_board* board_;
  std::uint32_t offers_ = 0;
  std::uint32_t waits_ = 0;  ///< of several threads
  bool is_announced_ = false;
};

}  // namespace amity::core
