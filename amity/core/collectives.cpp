#include "amity/core/collectives.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/core/tree.hpp"

namespace amity::core {
namespace {

template <class T, class Step>
std::uint64_t step_as(std::uint64_t a, std::uint64_t b, Step step) {
  return std::bit_cast<std::uint64_t>(static_cast<T>(step(std::bit_cast<T>(a), std::bit_cast<T>(b))));
}

constexpr auto smaller = [](auto a, auto b) { return std::min(a, b); };
constexpr auto larger = [](auto a, auto b) { return std::max(a, b); };
constexpr auto plus = [](auto a, auto b) { return a + b; };

double minimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return a == b ? (std::signbit(a) ? a : b) : std::min(a, b);
}
double maximum(double a, double b) { return -minimum(-a, -b); }

const char* name_of(reduction operation) {
  constexpr const char* names[] = {
      "a barrier",       "an exchange of segments", "the barrier at the end of its program",
      "a sum of uint64", "a min of uint64",         "a max of uint64",
      "a sum of int64",  "a min of int64",          "a max of int64",
      "a sum of double", "a min of double",         "a max of double"};
  const auto index = static_cast<std::size_t>(operation);
  return index < std::size(names) ? names[index] : "an unknown collective";
}

}  // namespace

std::uint64_t combine(reduction operation, std::uint64_t a, std::uint64_t b) {
  switch (operation) {
    case reduction::none:
    case reduction::exchange:
    case reduction::ending:
      return 0;
    case reduction::sum_u64:
    case reduction::sum_i64:
      return a + b;  // the same bits, and no overflow that is undefined
    case reduction::min_u64:
      return smaller(a, b);
    case reduction::max_u64:
      return larger(a, b);
    case reduction::min_i64:
      return step_as<std::int64_t>(a, b, smaller);
    case reduction::max_i64:
      return step_as<std::int64_t>(a, b, larger);
    case reduction::sum_f64:
      return step_as<double>(a, b, plus);
    case reduction::min_f64:
      return step_as<double>(a, b, minimum);
    case reduction::max_f64:
      return step_as<double>(a, b, maximum);
  }
  AMITY_ASSERT(false, static_cast<std::uint32_t>(operation));
  return 0;
}

struct collectives::wire {
  std::uint32_t sequence;
  reduction operation;
  std::uint64_t value;
  std::uint32_t down;  ///< 0: a child's part on its way up; 1: the result on its way down
  std::uint32_t unused;
};

collectives::collectives(rank_t rank, rank_t size, send_function send)
    : rank_(rank), size_(size), send_(std::move(send)), children_(tree_children(rank, size)) {
  static_assert(sizeof(wire) == 24 && std::has_unique_object_representations_v<wire>);
  for (round& each : rounds_) each.parts.resize(static_cast<std::size_t>(children_));
}

void collectives::start(reduction operation, std::uint64_t value) {
  AMITY_ASSERT(done(), started_, finished_);
  ++started_;
  combined_ = false;
  operation_ = operation;
  own_ = value;
  try_combine();
}

void collectives::on_packet(rank_t source, bytes_view payload) {
  wire message;
  AMITY_ASSERT(payload.size() == sizeof message, source, payload.size());
  std::memcpy(&message, payload.data(), sizeof message);
  if (message.down != 0) {
    AMITY_ASSERT(message.sequence == started_ && !done(), source, message.sequence, started_);
    check_agreement(source, message.operation, rank_, operation_);
    finish(message.value);
    return;
  }
  AMITY_ASSERT(message.sequence == started_ + (done() ? 1 : 0) || message.sequence == started_ + 1, source,
               message.sequence, started_);
  round& parts = round_of(message.sequence);
  parts.parts[static_cast<std::size_t>(std::countr_zero(static_cast<std::uint32_t>(source - rank_)))] = message.value;
  if (parts.arrived++ > 0) check_agreement(source, message.operation, parts.source, parts.operation);
  parts.source = source;
  parts.operation = message.operation;
  if (message.sequence == started_ && !done()) try_combine();
}

void collectives::try_combine() {
  round& current = round_of(started_);
  if (combined_ || current.arrived < children_) return;
  if (children_ > 0) check_agreement(current.source, current.operation, rank_, operation_);
  combined_ = true;
  std::uint64_t value = own_;
  for (const std::uint64_t part : current.parts) value = combine(operation_, value, part);
  current.arrived = 0;
  if (rank_ == 0) {
    finish(value);
    return;
  }
  const wire up{.sequence = started_, .operation = operation_, .value = value, .down = 0, .unused = 0};
  send_(tree_parent(rank_), std::as_bytes(std::span(&up, 1)));
}

void collectives::finish(std::uint64_t result) {
  const wire down{.sequence = started_, .operation = operation_, .value = result, .down = 1, .unused = 0};
  for_each_tree_child(rank_, size_, [&](rank_t child) { send_(child, std::as_bytes(std::span(&down, 1))); });
  result_ = result;
  finished_ = started_;
}

void collectives::check_agreement(rank_t one, reduction its, rank_t other, reduction others) const {
  if (its == others) return;
  throw error("collective", rank_,
              fmt::format("rank {} is in {}, rank {} in {}", one, name_of(its), other, name_of(others)),
              "call the same collectives in the same order on all ranks");
}

}  // namespace amity::core
