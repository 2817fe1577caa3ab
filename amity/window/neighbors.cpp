#include "amity/window/neighbors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace amity::detail {
namespace {

// Each byte has 7 bits of a number, the lowest ones first, and whether others follow.
constexpr unsigned bits_per_byte = 7;
constexpr std::byte others_follow{0x80};
constexpr std::size_t number_bytes_max = 10;

using key_words = std::array<std::uint64_t, sizeof(fabric::segment_key) / sizeof(std::uint64_t)>;
static_assert(sizeof(key_words) == sizeof(fabric::segment_key));

using length = std::uint16_t;

class encoder {
 public:
  void write(std::uint64_t number) {
    for (; number >> bits_per_byte != 0; number >>= bits_per_byte)
      written_.push_back(static_cast<std::byte>(number & 0x7f) | others_follow);
    written_.push_back(static_cast<std::byte>(number));
  }
  void write(const core::segment_descriptor& segment) {
    write(static_cast<std::uint64_t>(segment.lane - no_rank));
    if (segment.lane == no_rank) return;
    write(segment.number);
    write(segment.bytes);
    key_words words;
    std::memcpy(words.data(), segment.key.bytes.data(), sizeof words);
    std::size_t used = words.size();
    while (used > 0 && words[used - 1] == 0) --used;
    write(used);
    for (std::size_t i = 0; i < used; ++i) write(words[i]);
  }
  std::vector<std::byte>& written() noexcept { return written_; }

 private:
  std::vector<std::byte> written_;
};

class decoder {
 public:
  explicit decoder(bytes_view from) noexcept : rest_(from) {}

  template <class Number>
  void read(Number& number) noexcept {
    std::uint64_t read = 0;
    for (std::size_t i = 0; i < std::min(rest_.size(), number_bytes_max); ++i) {
      read |= static_cast<std::uint64_t>(rest_[i] & ~others_follow) << bits_per_byte * i;
      if ((rest_[i] & others_follow) != std::byte{}) continue;
      rest_ = rest_.subspan(i + 1);
      number = static_cast<Number>(read);
      is_valid_ &= static_cast<std::uint64_t>(number) == read;
      return;
    }
    is_valid_ = false;
  }
  void read(core::segment_descriptor& segment) noexcept {
    std::uint32_t lane = 0;
    read(lane);
    segment.lane = static_cast<rank_t>(lane) + no_rank;
    if (segment.lane == no_rank) return;
    read(segment.number);
    read(segment.bytes);
    key_words words{};
    std::size_t used = 0;
    read(used);
    is_valid_ &= used <= words.size();
    for (std::size_t i = 0; is_valid_ && i < used; ++i) read(words[i]);
    std::memcpy(segment.key.bytes.data(), words.data(), sizeof words);
  }
  /// Whether all of it was read, and nothing is missing.
  bool is_complete() const noexcept { return is_valid_ && rest_.empty(); }

 private:
  bytes_view rest_;
  bool is_valid_ = true;
};
static_assert(no_rank == -1);

std::optional<window_description> decode(bytes_view from) noexcept {
  window_description about{};
  decoder read(from);
  read.read(about.control);
  read.read(about.data);
  read.read(about.control_offset);
  read.read(about.data_offset);
  read.read(about.bytes);
  read.read(about.number);
  return read.is_complete() ? std::optional(about) : std::nullopt;
}

}  // namespace

std::vector<std::byte> neighbors::encode(const window_description& about) {
  encoder to;
  to.write(about.control);
  to.write(about.data);
  to.write(about.control_offset);
  to.write(about.data_offset);
  to.write(about.bytes);
  to.write(about.number);
  return std::move(to.written());
}

bool neighbors::add(rank_t member, bytes_view encoded) {
  if (!decode(encoded)) return false;
  entries_.push_back({.member = member, .at = static_cast<std::uint32_t>(descriptions_.size())});
  const auto bytes = static_cast<length>(encoded.size());
  descriptions_.resize(descriptions_.size() + sizeof bytes);
  std::memcpy(&descriptions_[entries_.back().at], &bytes, sizeof bytes);
  descriptions_.insert(descriptions_.end(), encoded.begin(), encoded.end());
  return true;
}

void neighbors::close() {
  std::ranges::sort(entries_, {}, &entry::member);
  entries_.shrink_to_fit();
  descriptions_.shrink_to_fit();
}

std::optional<window_description> neighbors::find(rank_t member) const noexcept {
  const auto found = std::ranges::lower_bound(entries_, member, {}, &entry::member);
  if (found == entries_.end() || found->member != member) return std::nullopt;
  length bytes = 0;
  std::memcpy(&bytes, &descriptions_[found->at], sizeof bytes);
  return decode(bytes_view(descriptions_).subspan(found->at + sizeof bytes, bytes));
}

}  // namespace amity::detail
