#pragma once

/// One wave of termination detection: counters are summed up the binomial tree, rank 0 decides, the verdict comes down.
/// A state machine without waiting; waves follow one another, one at a time.

#include <cstdint>

#include "amity/core/call_order.hpp"
#include "amity/core/endpoint.hpp"

namespace amity::epoch {

/// What a rank contributes; also the sum over a subtree.
struct wave_part {
  std::uint64_t sent = 0;  ///< messages of epochs since the job began; with a declared depth, see counting_rounds.hpp
  std::uint64_t handled = 0;  ///< likewise
  std::uint64_t value = 0;    ///< the user's summand
  bool active = false;        ///< the counters were taken while the rank was still at work
  bool late = false;          ///< there is a summand that is known only when all messages have been handled
  core::end_call waits = {};  ///< of the ranks that wait for the end of the epoch, the one with the fewest calls
};

/// What rank 0 decides about a wave.
enum class outcome : std::uint16_t {
  undecided,  ///< another wave follows
  handled,    ///< all messages have been handled; a wave for late summands follows
  ended,
};

class wave {
 public:
  explicit wave(core::endpoint& owner);

  /// Number of the wave that is under way, from 1.
  std::uint32_t number() const noexcept { return number_; }
  /// Whether this rank has given its part of it.
  bool contributed() const noexcept { return contributed_; }

  void contribute(const wave_part& own);

  /// Takes a part from below or the verdict from above. Throws `error` if the ranks disagree about the depth, or about
  /// the collectives in the body of the epoch. Parts of ranks with other handlers are not taken: these ranks end the
  /// job.
  void on_packet(rank_t source, bytes_view payload);

  /// Rank 0: all parts are here, waiting for `decide`.
  bool complete() const noexcept { return is_root_ && contributed_ && missing_ == 0; }
  const wave_part& totals() const noexcept { return totals_; }
  /// Rank 0: ends the wave with this verdict. `word` goes to all ranks with it.
  void decide(outcome what, std::uint64_t word);

  /// The waves that follow belong to epochs with this depth, or any. That the ranks agree is verified.
  void set_depth(int depth) noexcept;

  /// A verdict that has not been taken yet.
  bool has_verdict() const noexcept { return verdict_.present; }
  struct verdict {
    bool present = false;
    outcome what = outcome::undecided;
    std::uint64_t word = 0;
  };
  /// Takes the verdict; the next wave begins.
  verdict take_verdict();

 private:
  struct wire;

  void pass_up_if_whole();
  void pass_down(outcome what, std::uint64_t word);
  void check_depth(rank_t source, const wire& theirs) const;

  core::endpoint& endpoint_;
  bool is_root_;
  int children_;
  std::uint32_t number_ = 1;
  std::uint16_t depth_ = 0;  ///< plus one; 0: any
  bool contributed_ = false;
  int missing_;  ///< children whose part has not come
  wave_part totals_;
  verdict verdict_;
};

}  // namespace amity::epoch
