#include "amity/window/assertion_checks.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace amity::detail {
namespace {

constexpr std::uint64_t no_succeed_ballot = std::uint64_t{1} << 32;

bool remove(std::vector<rank_t>& from, rank_t which) { return std::erase(from, which) > 0; }

}  // namespace

assertion_checks::assertion_checks(mutable_bytes memory, const access_rules::identity& whose)
    : memory_(memory), whose_(whose) {
  copy_memory();
}

error assertion_checks::violation(std::string_view call, std::string_view text, std::string_view remedy) const {
  return {call, whose_.member, fmt::format("{}: {}", whose_.window, text), remedy};
}

void assertion_checks::copy_memory() {
  copy_.assign(memory_.begin(), memory_.end());
  written_.assign(memory_.size(), false);
}

void assertion_checks::check_stores(std::string_view call, window_assert promised) const {
  if (!has(promised, window_assert::no_store)) return;
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    if (written_[i] || memory_[i] == copy_[i]) continue;
    throw violation(call,
                    fmt::format("no_store is promised, but this rank has stored to the byte at offset {} since the "
                                "previous synchronization",
                                i),
                    "make this call without no_store");
  }
}

// Fences

std::uint64_t assertion_checks::ballot(window_assert promised) noexcept {
  return (has(promised, window_assert::no_precede) ? 1 : 0) +
         (has(promised, window_assert::no_succeed) ? no_succeed_ballot : 0);
}

void assertion_checks::check_ballots(std::string_view call, std::uint64_t sum, rank_t members) const {
  const auto check = [&](std::string_view name, std::uint64_t votes) {
    if (votes == 0 || votes == static_cast<std::uint64_t>(members)) return;
    throw violation(call, fmt::format("{} is promised by {} of {} ranks", name, votes, members),
                    "pass it on all ranks, or on none");
  };
  check("no_precede", sum % no_succeed_ballot);
  check("no_succeed", sum / no_succeed_ballot);
}

void assertion_checks::end_fence(window_assert promised) {
  copy_memory();
  fence_excludes_puts_ = has(promised, window_assert::no_put);
}

// The owner

void assertion_checks::post(window_assert promised, std::span<const rank_t> origins) {
  copy_memory();
  post_excludes_puts_ = has(promised, window_assert::no_put);
  post_is_promised_ = has(promised, window_assert::no_check);
  posted_to_.assign(origins.begin(), origins.end());
}

void assertion_checks::note_complete(rank_t origin) { static_cast<void>(remove(posted_to_, origin)); }

void assertion_checks::end_exposure() {
  copy_memory();
  post_excludes_puts_ = false;
}

post_state assertion_checks::post_for(rank_t origin) const {
  if (std::ranges::find(posted_to_, origin) == posted_to_.end()) return post_state::missing;
  return post_is_promised_ ? post_state::promised : post_state::unpromised;
}

void assertion_checks::note_write(std::string_view name, rank_t origin, bool in_fence_epoch, std::uint64_t at,
                                  std::size_t bytes, const layout* blocks, std::size_t from) {
  if (bytes == 0) return;
  if (in_fence_epoch ? fence_excludes_puts_ : post_excludes_puts_) {
    const std::string_view by = in_fence_epoch ? "fence" : "post";
    throw violation(fmt::format("{} of rank {}", name, origin),
                    fmt::format("no_put is promised by {} on this rank", by),
                    fmt::format("call {} without no_put before operations change the memory", by));
  }
  if (memory_.empty()) return;
  const auto mark = [&](std::ptrdiff_t offset, std::size_t part) {
    const auto begin = written_.begin() + static_cast<std::ptrdiff_t>(at) + offset;
    std::fill(begin, begin + static_cast<std::ptrdiff_t>(part), true);
  };
  if (blocks == nullptr) return mark(0, bytes);
  blocks->for_each(from, bytes, mark);
}

// Origins

void assertion_checks::check_start(std::string_view call, rank_t target, post_state state) const {
  if (state == post_state::promised) return;
  if (state == post_state::unpromised) {
    throw violation(call, fmt::format("no_check is promised, but the post of rank {} does not promise it", target),
                    "pass no_check to both calls, or to neither");
  }
  throw violation(call, fmt::format("no_check is promised, but rank {} has not called post", target),
                  "synchronize after the post and before this call, or make both calls without no_check");
}

void assertion_checks::note_post(rank_t target, bool is_promised) {
  if (is_promised) promised_posts_.push_back(target);
}

void assertion_checks::consume_post(rank_t target, window_assert promised) {
  if (!remove(promised_posts_, target) || has(promised, window_assert::no_check)) return;
  throw violation("window::start", fmt::format("the post of rank {} promises no_check, but this call does not", target),
                  "pass no_check to both calls, or to neither");
}

error assertion_checks::lock_is_taken(std::string_view call, rank_t target, rank_t holder) const {
  const std::string by = holder == no_rank ? std::string() : fmt::format(", which rank {} holds", holder);
  return violation(call, fmt::format("no_check is promised, but the lock of rank {} is not free{}", target, by),
                   "make this call without no_check");
}

}  // namespace amity::detail
