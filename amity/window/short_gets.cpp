#include "amity/window/short_gets.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "amity/core/endpoint.hpp"
#include "amity/core/memory.hpp"

namespace amity::detail {

/// A buffer for one read, and where its bytes go.
class bounce_read final : public core::awaited, private immovable {
 public:
  explicit bounce_read(std::vector<bounce_read*>& free) : free_(free) {}

  get_piece& last() noexcept { return pieces_[count_ - 1]; }
  bool full() const noexcept { return count_ == pieces_.size(); }
  void add(const get_piece& what) noexcept { pieces_[count_++] = what; }
  /// Returns the buffer of a read that begins at `at`. `complete` is reached when the read is done.
  mutable_bytes start(std::uint64_t at, std::size_t bytes, core::event& complete) noexcept {
    at_ = at;
    complete_ = &complete;
    return std::span(data_).first(bytes);
  }
  void reached() noexcept override {
    for (std::size_t i = 0; i < count_; ++i) {
      const get_piece& each = pieces_[i];
      std::memcpy(each.into, data_.data() + (each.at - at_), each.bytes);
    }
    count_ = 0;
    free_.push_back(this);  // its memory is reserved
    complete_->reached();
  }

 private:
  std::vector<bounce_read*>& free_;
  std::uint64_t at_ = 0;
  core::event* complete_ = nullptr;
  std::size_t count_ = 0;
  std::array<get_piece, short_gets::pieces_max> pieces_;
  std::array<std::byte, short_gets::read_bytes_max> data_;
};

namespace {

/// Appends `what` if it continues `last` both at the target and in the memory of the program.
bool try_continue(get_piece& last, const get_piece& what) noexcept {
  if (last.at + last.bytes != what.at || last.into + last.bytes != what.into) return false;
  last.bytes += what.bytes;
  return true;
}

}  // namespace

short_gets::short_gets(core::engine& on) : engine_(on) { free_.reserve(buffers_max); }
short_gets::~short_gets() = default;

bool short_gets::try_add(target_gets& of, std::uint64_t at, mutable_bytes into) {
  const get_piece what{.at = at, .bytes = into.size(), .into = into.data()};
  while (of.bytes > 0) {  // another thread may collect during a start
    if (joins(of, what)) return true;
    if (!try_start(of)) return false;
  }
  of.at = what.at;
  of.bytes = what.bytes;
  of.only = what;
  if (!std::exchange(of.listed, true)) collected_.push_back(&of);
  return true;
}

bool short_gets::joins(target_gets& of, const get_piece& what) {
  const std::uint64_t begin = std::min(of.at, what.at), end = std::max(of.at + of.bytes, what.at + what.bytes);
  const bool has_gap = end - begin > of.bytes + what.bytes;
  if (has_gap || end - begin > read_bytes_max || !try_add_place(of, what)) return false;
  of.at = begin;
  of.bytes = static_cast<std::size_t>(end - begin);
  return true;
}

bool short_gets::try_add_place(target_gets& of, const get_piece& what) {
  if (try_continue(of.bounce != nullptr ? of.bounce->last() : of.only, what)) return true;
  if (of.bounce == nullptr) {
    of.bounce = take_buffer();
    if (of.bounce == nullptr) return false;
    of.bounce->add(of.only);
  }
  if (of.bounce->full()) return false;
  of.bounce->add(what);
  return true;
}

// Buffers stay until the thread ends, so they must leave most of the bound to others.
bounce_read* short_gets::take_buffer() {
  if (free_.empty()) {
    const std::size_t bytes = sizeof(bounce_read), bytes_after = (buffers_.size() + 1) * bytes;
    core::memory_bound& bound = engine_.bound();
    if (buffers_.size() == buffers_max || bytes_after > bound.bytes_max() / 8 || !bound.has_room(bytes)) return nullptr;
    buffers_.push_back(std::make_unique<bounce_read>(free_));
    bound.add_held(bytes);
    free_.push_back(buffers_.back().get());
  }
  bounce_read* const taken = free_.back();
  free_.pop_back();
  return taken;
}

bool short_gets::try_start(target_gets& of) {
  if (of.bytes == 0) return true;
  core::endpoint& world = engine_.job_world();
  if (!core::has_place(world)) return false;
  const core::remote_address from{of.segment, of.at};
  const std::size_t bytes = std::exchange(of.bytes, 0);
  bounce_read* const bounce = std::exchange(of.bounce, nullptr);
  if (bounce == nullptr) {
    world.memory().get(from, {of.only.into, bytes}, of.started);
  } else {
    of.started.expect();
    core::get(world, from, bounce->start(of.at, bytes, of.started), *bounce);
  }
  return true;
}

bool short_gets::try_start_all() {
  bool any = false;
  std::erase_if(collected_, [&](target_gets* each) {
    const bool is_collected = each->bytes > 0;
    if (!try_start(*each)) return false;
    each->listed = false;
    any |= is_collected;
    return true;
  });
  return any;
}

void short_gets::forget(target_gets& of) noexcept {
  if (std::exchange(of.listed, false)) std::erase(collected_, &of);
}

}  // namespace amity::detail
