#pragma once

/// Tells a person how far the work is: one line that is redrawn on a terminal, an occasional plain line elsewhere.
///
/// Work comes in phases. `begin` starts one, `advance` may be called as often as one likes (it looks at the clock and
/// usually returns), `finish` leaves one line that stays. Not safe to use from several threads.

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace amity::apps::graph {

class progress {
 public:
  enum class style {
    bar,    ///< redraw one line, at most ten times a second
    lines,  ///< a line at most every five seconds
    off,
  };

  using clock = std::function<std::uint64_t()>;  ///< nanoseconds from any start

  explicit progress(style wanted, std::FILE* out = stderr, clock now = {});

  /// `bar` where the file is a terminal that can redraw a line, else `lines`.
  static style style_for(std::FILE* out);

  /// `total` is what `advance` will reach; 0 where that is unknown.
  /// `in_bytes`: the figures are bytes; otherwise they count `noun`, such as "vertex".
  void begin(std::string title, std::uint64_t total, bool in_bytes, std::string noun = {});
  void advance(std::uint64_t done) {
    done_ = done;
    if (due()) show(done);
  }
  void advance_by(std::uint64_t more) { advance(done_ + more); }

  /// `advance` in two steps, for those who have a remark to make: whether it is time to show something again, and that.
  bool due() const;
  void show(std::uint64_t done, std::string_view remark = {});
  void finish(std::string_view summary);

 private:
  std::string describe(std::string_view remark) const;
  void print(const std::string& text);

  style style_;
  std::FILE* out_;
  clock now_;
  std::string title_;
  std::string noun_;
  std::uint64_t total_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t begun_ns_ = 0;
  std::uint64_t shown_ns_ = 0;
  bool in_bytes_ = false;
};

}  // namespace amity::apps::graph
