#pragma once

/// Finds the size of packets at which the messages of one type cost least, from what they cost while they are sent.
///
/// It compares its size with twice or half as much: both are used in turn for a while, five times, in the order
/// ABBAABB..., so that neither drifts nor single disturbances decide. The neighbour wins if it was cheaper by a margin
/// all but once. When neither neighbour wins, the tuner rests, each time for longer, up to a bound: so it costs little
/// once it has settled, and still follows when the best size moves.
///
/// It sees bytes and times that it is told, and nothing else: the same figures give the same sizes.

#include <array>
#include <cstddef>
#include <cstdint>

namespace amity::detail {

class packet_size_tuner {
 public:
  static constexpr std::size_t bytes_least = 64;
  static constexpr std::size_t bytes_most = std::size_t{64} << 10;
  static constexpr std::size_t bytes_first = std::size_t{8} << 10;

  /// Stays between `bytes_least` and `bytes_max`, which is at least that much.
  explicit packet_size_tuner(std::size_t bytes_max) noexcept;

  /// How large packets should be from now on: changed by `measure` alone.
  std::size_t bytes() const noexcept { return size_of(with_candidate_ ? candidate_ : level_); }

  /// A packet has been sent, to one of so many ranks. True: it is time to `measure`.
  [[nodiscard]] bool sent(std::size_t bytes, std::size_t peers) noexcept {
    bytes_ += bytes;
    ++packets_;
    return packets_ >= packets_min + packets_a_peer * peers && bytes_ >= bytes_min;
  }
  void measure(std::uint64_t now_ns) noexcept;

  /// From now on: what was sent since the last measurement tells nothing.
  void restart(std::uint64_t now_ns) noexcept;

 private:
  // A measurement. As many packets as may be under way to a rank at the usual settings: so the ones before it have
  // left the queues when the second one begins, and only then tells something.
  static constexpr std::uint64_t packets_min = 28;
  static constexpr std::uint64_t packets_a_peer = 4;
  static constexpr std::uint64_t bytes_min = std::uint64_t{64} << 10;

  static constexpr int wins_needed = 4;
  static constexpr int losses_allowed = 1;
  static constexpr double margin = 0.98;  // of the cost
  static constexpr int rest_least = 32;   // measurements
  static constexpr int rest_most = 1024;

  std::size_t size_of(int level) const noexcept { return bytes_max_ >> (levels_ - 1 - level); }
  void compare() noexcept;
  void begin_trial() noexcept;
  void move() noexcept;
  void give_up() noexcept;
  void use(bool candidate) noexcept;

  std::uint64_t bytes_ = 0;  // since the last measurement
  std::uint64_t packets_ = 0;
  std::uint64_t begin_ns_ = 0;
  bool steady_ = false;  // nothing else was sent just before this measurement

  std::size_t bytes_max_;
  int levels_ = 1;
  int level_ = 0;
  int candidate_ = 0;
  bool with_candidate_ = false;

  int direction_ = 1;
  int directions_tried_ = 0;  // since the last move or rest
  int measured_ = 0;          // in this trial
  int wins_ = 0;
  int losses_ = 0;
  std::array<double, 2> cost_{};  // of the level and of the candidate
  int rest_ = rest_least;         // the next one
  int resting_ = 0;               // measurements left of this one
};

}  // namespace amity::detail
