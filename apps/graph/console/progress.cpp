#include "apps/graph/console/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "amity/base/clock.hpp"
#include "apps/graph/console/text.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::uint64_t redraw_ns = 100'000'000;
constexpr std::uint64_t next_line_ns = 5'000'000'000;
constexpr std::size_t bar_width = 24;
constexpr std::size_t line_width_max = 79;  // a longer line would wrap, and could then not be redrawn
constexpr std::string_view clear_line = "\r\x1b[K";

}  // namespace

progress::progress(style wanted, std::FILE* out, clock now)
    : style_(wanted), out_(out), now_(now ? std::move(now) : clock(steady_now_ns)) {}

progress::style progress::style_for(std::FILE* out) {
  const char* terminal = std::getenv("TERM");
  const bool redraws = terminal != nullptr && std::string_view(terminal) != "dumb";
  return redraws && ::isatty(::fileno(out)) != 0 ? style::bar : style::lines;
}

void progress::begin(std::string title, std::uint64_t total, bool in_bytes, std::string noun) {
  title_ = std::move(title);
  noun_ = std::move(noun);
  total_ = total;
  done_ = 0;
  in_bytes_ = in_bytes;
  begun_ns_ = now_();
  shown_ns_ = style_ == style::bar ? 0 : begun_ns_;
}

std::string progress::describe(std::string_view remark) const {
  const auto amount = [&](std::uint64_t n) { return in_bytes_ ? bytes_text(n) : counted(n, noun_); };
  std::string line = title_ + ": ";
  if (total_ > 0) {
    const double share = std::min(1.0, static_cast<double>(done_) / static_cast<double>(total_));
    if (style_ == style::bar) line += fmt::format("[{:.<{}}] ", bar(share, bar_width), bar_width);
    line += fmt::format("{:3.0f} % of {}", 100 * share, amount(total_));
  } else {
    line += amount(done_);
  }
  if (!remark.empty()) line += fmt::format(", {}", remark);
  return line;
}

/// A full disk behind standard error does not end the work; the stream remembers it.
void progress::print(const std::string& text) { std::fputs(text.c_str(), out_); }

bool progress::due() const {
  return style_ != style::off && now_() - shown_ns_ >= (style_ == style::bar ? redraw_ns : next_line_ns);
}

void progress::show(std::uint64_t done, std::string_view remark) {
  done_ = done;
  shown_ns_ = now_();
  const std::string line = describe(remark);
  if (style_ == style::bar) {
    print(fmt::format("{}{}", clear_line, line.substr(0, line_width_max)));
  } else {
    print(line + '\n');
  }
  std::fflush(out_);
}

void progress::finish(std::string_view summary) {
  if (style_ == style::off) return;
  print(fmt::format("{}{}: {} ({})\n", style_ == style::bar ? clear_line : "", title_, summary,
                    duration_text(now_() - begun_ns_)));
  std::fflush(out_);
}

}  // namespace amity::apps::graph
