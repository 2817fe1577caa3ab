#include "amity/core/call_order.hpp"

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::core {

const collective_call& call_order::begin_collective(reduction operation) {
  collective_ = {.number = ++begun_, .body = stage_ == stage::body ? epoch_number_ : 0, .operation = operation};
  check_end();
  return collective_;
}

void call_order::begin_epoch() {
  epoch_number_ = ++begun_;
  ++epochs_;
  stage_ = stage::body;
  ends_ = {};
}

void call_order::end_body() noexcept {
  if (stage_ == stage::body) stage_ = stage::detecting;
}

void call_order::await_end() noexcept { stage_ = stage::awaiting; }

void call_order::close_epoch() noexcept { stage_ = stage::outside; }

void call_order::compare(rank_t source, const collective_call& theirs) const {
  const bool began_epoch = theirs.body != 0 && theirs.body == collective_.number;
  if (theirs.number != 0 && theirs.number == epoch_number_) {
    throw_difference(source, name_of(theirs.operation), rank_, fmt::format("epoch {}", epochs_));
  }
  if (began_epoch) {
    // All calls before this one were the same.
    const bool is_inside = stage_ != stage::outside;
    throw_difference(source, is_inside ? "another epoch" : fmt::format("epoch {}", epochs_ + 1), rank_,
                     name_of(collective_.operation));
  }
  if (theirs.number == collective_.number && theirs.operation != collective_.operation) {
    throw_difference(source, name_of(theirs.operation), rank_, name_of(collective_.operation));
  }
  if (stage_ == stage::awaiting && theirs.body == epoch_number_) {
    throw_difference(source, fmt::format("{} inside epoch {}", name_of(theirs.operation), epochs_), rank_,
                     fmt::format("the end of epoch {}", epochs_));
  }
}

void call_order::compare(rank_t one, const collective_call& its, rank_t other, const collective_call& others) const {
  if (its.operation == others.operation && its.number == others.number) return;
  throw_difference(one, place_in(its, others), other, place_in(others, its));
}

/// Describes the place of a rank whose call is not that of another rank. Other ranks are at most one epoch ahead.
std::string call_order::place_in(const collective_call& its, const collective_call& others) const {
  if (its.body == 0 || its.body == others.body) return name_of(its.operation);
  const std::string epoch = fmt::format("epoch {}", its.body == epoch_number_ ? epochs_ : epochs_ + 1);
  return its.body == others.number ? epoch : fmt::format("{} inside {}", name_of(its.operation), epoch);
}

void call_order::compare(const end_call& theirs) {
  ends_.merge(theirs);
  check_end();
}

// A rank that waits for the end of an epoch has made all collective calls of its body.
void call_order::check_end() const {
  const bool is_inside = stage_ == stage::body && collective_.body == epoch_number_;
  if (!is_inside || ends_.rank == no_rank || ends_.calls >= collective_.number) return;
  throw_difference(rank_, fmt::format("{} inside epoch {}", name_of(collective_.operation), epochs_), ends_.rank,
                   fmt::format("the end of epoch {}", epochs_));
}

end_call call_order::awaited_end() const noexcept {
  return stage_ == stage::awaiting ? end_call{.calls = begun_, .rank = rank_} : end_call{};
}

std::string call_order::describe_epoch() const {
  if (stage_ == stage::outside) return {};
  return fmt::format("{}epoch {}", stage_ == stage::body ? "" : "the end of ", epochs_);
}

void call_order::throw_difference(rank_t one, const std::string& its, rank_t other, const std::string& others) const {
  throw error("collective", rank_, fmt::format("rank {} is in {}, rank {} in {}", one, its, other, others),
              "begin the same epochs and call the same collectives in the same order on all ranks");
}

}  // namespace amity::core
