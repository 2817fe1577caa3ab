#include "amity/core/group_collectives.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/core/invalid_packet.hpp"
#include "amity/core/tree.hpp"

namespace amity::core {
struct group_collectives::header {
  enum : std::uint8_t {
    up,      ///< the value of a subtree
    down,    ///< the result
    counts,  ///< counts of one round follow
  };

  std::uint32_t sequence;
  std::uint16_t operation;
  std::uint8_t form;
  std::uint8_t round;
  /// Counts: in the low half, the number of counts of this round before these; in the high half, how many others of the
  /// round are 0 and are not sent.
  std::uint64_t value;
};

group_collectives::group_collectives(rank_t member, rank_t members, std::size_t part_bytes_max, send_function send)
    : member_(member),
      members_(members),
      part_bytes_max_(part_bytes_max),
      send_(std::move(send)),
      values_(static_cast<std::size_t>(tree_children(member, members))),
      rounds_(std::bit_width(static_cast<std::uint32_t>(members - 1))) {
  static_assert(sizeof(header) == word_part_bytes && std::has_unique_object_representations_v<header>);
  AMITY_ASSERT(member >= 0 && member < members && part_bytes_max >= part_bytes_min, member, members, part_bytes_max);
}

void group_collectives::begin(reduction operation) {
  AMITY_ASSERT(done(), started_, finished_);
  if (early_source_ != no_rank && early_operation_ != operation)
    throw_difference(early_source_, early_operation_, member_, operation);
  early_source_ = no_rank;
  operation_ = operation;
  ++started_;
}

void group_collectives::start(reduction operation, std::uint64_t value) {
  AMITY_ASSERT(operation != reduction::scatter_sum_u64);
  begin(operation);
  own_ = value;
  combined_ = false;
  combine_values();
}

void group_collectives::start_reduce_scatter(std::span<const std::uint64_t> counts) {
  const auto members = static_cast<std::size_t>(members_);
  AMITY_ASSERT(counts.size() == members, counts.size(), members);
  begin(reduction::scatter_sum_u64);
  sums_.of_members.resize(members);
  std::ranges::rotate_copy(counts, counts.begin() + member_, sums_.of_members.begin());
  for (std::size_t i = 0; i < early_.of_members.size(); ++i)
    sums_.of_members[i] += std::exchange(early_.of_members[i], 0);
  sums_.received = std::exchange(early_.received, {});
  round_ = 0;
  exchange_counts();
}

void group_collectives::on_packet(rank_t source, bytes_view part) {
  header about;
  if (part.size() < sizeof about) throw_invalid(source, fmt::format("{} bytes of a collective", part.size()));
  std::memcpy(&about, part.data(), sizeof about);
  const bool early = done() || about.sequence != started_;
  if (early && about.sequence != started_ + 1)
    throw_invalid(source, fmt::format("a part of collective {}, after {} on this rank", about.sequence, started_));

  const auto operation = static_cast<reduction>(about.operation);
  if (!early && operation != operation_) throw_difference(source, operation, member_, operation_);
  if (early && early_source_ != no_rank && operation != early_operation_)
    throw_difference(source, operation, early_source_, early_operation_);

  const bytes_view content = part.subspan(sizeof about);
  const bool scatters = operation == reduction::scatter_sum_u64;
  if (about.form > header::counts || (about.form == header::counts) != scatters)
    throw_invalid(source, fmt::format("a part of form {} of {}", about.form, name_of(operation)));
  if (about.form == header::up) take_value(source, about, content, early);
  if (about.form == header::down) take_result(source, about, content, early);
  if (about.form == header::counts) take_counts(source, about, content, early);
}

// The tree

void group_collectives::take_value(rank_t source, const header& about, bytes_view content, bool early) {
  const auto operation = static_cast<reduction>(about.operation);
  // A child starts the next collective after its parent has sent it the result of this one, if that has a tree.
  const bool due = early ? done() || operation_ == reduction::scatter_sum_u64 : !combined_;
  const std::uint32_t bit = static_cast<std::uint32_t>(source) - static_cast<std::uint32_t>(member_);  // of a child
  if (!content.empty() || !due || !is_tree_child(source, member_, members_) || (arrived_ & bit) != 0)
    throw_invalid(source, fmt::format("a value of {} that is not due", name_of(operation)));
  arrived_ |= bit;
  values_[static_cast<std::size_t>(std::countr_zero(bit))] = about.value;
  if (!early) return combine_values();
  early_source_ = source;
  early_operation_ = operation;
}

void group_collectives::combine_values() {
  if (arrived_ != (std::uint32_t{1} << values_.size()) - 1) return;
  arrived_ = 0;
  combined_ = true;
  std::uint64_t value = own_;
  for (const std::uint64_t each : values_) value = combine(operation_, value, each);
  if (member_ == 0) {
    finish(value);
  } else {
    send_value(tree_parent(member_), header::up, value);
  }
}

void group_collectives::take_result(rank_t source, const header& about, bytes_view content, bool early) {
  const auto operation = static_cast<reduction>(about.operation);
  if (!content.empty() || early || !combined_ || source != tree_parent(member_))
    throw_invalid(source, fmt::format("a result of {} that is not due", name_of(operation)));
  finish(about.value);
}

void group_collectives::finish(std::uint64_t result) {
  result_ = result;
  finished_ = started_;
  if (operation_ == reduction::scatter_sum_u64) return;
  for_each_tree_child(member_, members_, [&](rank_t child) { send_value(child, header::down, result); });
}

void group_collectives::send_value(rank_t dest, std::uint8_t form, std::uint64_t value) const {
  const header message{.sequence = started_,
                       .operation = static_cast<std::uint16_t>(operation_),
                       .form = form,
                       .round = 0,
                       .value = value};
  send_(dest, std::as_bytes(std::span(&message, 1)));
}

// The rounds of a reduce-scatter. Before round k, this member adds up `sums_before(k)` sums. It sends those after the
// first `sums_before(k + 1)` to the member for which they are the first ones, and adds what it receives to its own
// first ones. What is received in a round changes no sum that is sent in this round or before, and so may be added as
// soon as it arrives.

void group_collectives::take_counts(rank_t source, const header& about, bytes_view content, bool early) {
  const int round = about.round;
  const std::uint64_t words = content.size() / sizeof(std::uint64_t);
  const std::uint64_t before = about.value & ~std::uint32_t{0}, zeros = about.value >> 32;
  sums& to = early ? early_ : sums_;
  bool due = content.size() % sizeof(std::uint64_t) == 0 && words + zeros > 0 && round < rounds_;
  if (due) {
    const auto whole = static_cast<std::uint64_t>(counts_in(round));
    const auto received = static_cast<std::uint64_t>(to.received[static_cast<std::size_t>(round)]);
    due = source == (member_ - sums_before(round + 1) + members_) % members_ && before < whole &&
          words <= whole - before && words + zeros <= whole - received;
  }
  if (!due) {
    throw_invalid(source, fmt::format("{} bytes of counts from {} on in round {} that are not due", content.size(),
                                      before, round));
  }
  if (early) to.of_members.resize(static_cast<std::size_t>(counts_in(0)));
  for (std::uint64_t i = 0; i < words; ++i) {
    std::uint64_t count;
    std::memcpy(&count, content.data() + i * sizeof count, sizeof count);
    to.of_members[before + i] += count;
  }
  to.received[static_cast<std::size_t>(round)] += static_cast<rank_t>(words + zeros);
  if (!early) return exchange_counts();
  early_source_ = source;
  early_operation_ = reduction::scatter_sum_u64;
}

void group_collectives::exchange_counts() {
  const auto whole = [this](int round) {
    return round < 0 || sums_.received[static_cast<std::size_t>(round)] == counts_in(round);
  };
  if (sending_) return;
  sending_ = true;
  while (round_ < rounds_ && whole(round_ - 1)) send_counts(round_++);
  sending_ = false;
  if (round_ == rounds_ && whole(rounds_ - 1)) finish(sums_.of_members[0]);
}

// From the first count that is not 0 to the last one: most members use few others.
void group_collectives::send_counts(int round) {
  const auto first = static_cast<std::size_t>(sums_before(round + 1));
  const auto whole = static_cast<std::size_t>(counts_in(round));
  const auto counts = std::span<const std::uint64_t>(sums_.of_members).subspan(first, whole);
  const auto is_used = [](std::uint64_t count) { return count != 0; };
  const auto last = std::find_if(counts.rbegin(), counts.rend(), is_used).base();
  const auto end = static_cast<std::size_t>(last - counts.begin());
  auto at = static_cast<std::size_t>(std::find_if(counts.begin(), last, is_used) - counts.begin());
  std::size_t zeros = whole - (end - at);
  const std::size_t words_max =
      std::min((part_bytes_max_ - sizeof(header)) / sizeof(std::uint64_t), static_cast<std::size_t>(counts_in(0)));
  part_.resize(sizeof(header) + words_max * sizeof(std::uint64_t));
  do {
    const std::size_t words = std::min(words_max, end - at);
    const header message{.sequence = started_,
                         .operation = static_cast<std::uint16_t>(operation_),
                         .form = header::counts,
                         .round = static_cast<std::uint8_t>(round),
                         .value = at | std::exchange(zeros, 0) << 32};
    std::memcpy(part_.data(), &message, sizeof message);
    std::memcpy(part_.data() + sizeof message, counts.data() + at, words * sizeof(std::uint64_t));
    send_((member_ + sums_before(round + 1)) % members_,
          bytes_view(part_).first(sizeof message + words * sizeof(std::uint64_t)));
    at += words;
  } while (at < end);
}

// Errors

void group_collectives::throw_invalid(rank_t source, std::string_view content) const {
  throw invalid_packet(member_, source, content);
}

void group_collectives::throw_difference(rank_t one, reduction its, rank_t other, reduction others) const {
  throw error("collective", member_,
              fmt::format("rank {} is in {}, rank {} in {}", one, name_of(its), other, name_of(others)),
              "call the same collectives in the same order on all ranks");
}

}  // namespace amity::core
