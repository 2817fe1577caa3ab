/// What an endpoint says about a wait that lasts: where the rank is, and what is under way.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/core/endpoint.hpp"

namespace amity::core {
namespace {

std::string describe(const attentiveness& seen) {
  std::string text = fmt::format("\n  polls: {}, {} of them found something", seen.polls, seen.polls_with_news);
  if (!seen.timed) return text;
  return text + fmt::format("\n  between polls: {} ns at most, {} ns in all; longest handler: {} ns", seen.gap_ns_max,
                            seen.gap_ns_total, seen.handler_ns_max);
}

}  // namespace

std::string endpoint::place() const {
  const std::string_view where = waits_where_;
  // The runtime's own; all others are those of wait_until.
  constexpr std::string_view internal[] = {wait_for_credit, wait_for_end_of_epoch,
                                           "Longs and puts before a collective"};
  const call_order& order = collectives_.order();
  std::string text;
  if (!collectives_.done()) {
    text = fmt::format("in {}", name_of(order.collective().operation));
  } else if (order.awaits_end() && where == wait_for_end_of_epoch) {
    text = fmt::format("in {}", order.describe_epoch());
  } else if (where.empty()) {
    text = "in a wait for another thread of its rank";
  } else if (std::ranges::find(internal, where) != std::end(internal)) {
    text = fmt::format("in {}", where);
  } else {
    text = fmt::format("in wait_until(\"{}\")", where);
  }
  const bool is_elsewhere = !order.awaits_end() || where != wait_for_end_of_epoch;
  if (const std::string epoch = order.describe_epoch(); !epoch.empty() && is_elsewhere)
    text += fmt::format(" in {}", epoch);
  if (!worlds_->alone()) text += fmt::format(" of world {}", number());
  return text;
}

void endpoint::look_for_stall(std::string_view where, bool is_stall) {
  if (stall_clock_.is_due(fabric_.now_ns()) || is_stall)
    log_warning(rank_, stall_report(where, stall_clock_.seconds()));
}

void endpoint::report_busy_wait(std::string_view where) {
  if (where.empty() || !busy_wait_.is_due(fabric_.now_ns(), registry_, ledger_)) return;
  log_warning(rank_, fmt::format("{} has lasted for {:.0f} s, and messages are still being handled: {}; if this never "
                                 "ends, handlers send without end",
                                 where, busy_wait_.seconds(), busy_wait_.rates(registry_, ledger_)));
}

std::string endpoint::describe_unsent() const {
  constexpr int peers_shown = 8;
  std::string text;
  int shown = 0;
  worlds_->unsent.for_each_peer([&](rank_t lane, std::size_t packets) {
    if (shown++ < peers_shown)
      text += fmt::format("{}{} packets to rank {}", text.empty() ? "" : ", ", packets, rank_of(lane));
  });
  if (shown > peers_shown) text += fmt::format(", and to {} more ranks", shown - peers_shown);
  if (text.empty()) return "none";
  return worlds_->alone() ? text : text + " of the job";
}

// The first that applies; empty: none is known.
std::string endpoint::likely_cause() const {
  if (prepared_ > 0) return "a prepared buffer holds a credit and is not committed";
  if (const std::string trouble = fabric_.trouble(); !trouble.empty()) return fmt::format("network: {}", trouble);
  const bool at_the_end_of_an_epoch = epoch_open() && body_epoch_ == no_epoch;
  if (!collectives_.done() || at_the_end_of_an_epoch) {
    return fmt::format("it ends when all ranks have come to it{}: compare the places in their reports",
                       at_the_end_of_an_epoch ? ", and all messages are handled" : "");
  }
  if (!worlds_->unsent.empty()) return "a peer takes no packets: see below what waits to be sent";
  if (worlds_->not_due.early_of(number_) > 0) return "a peer has begun an epoch that this rank has not begun";
  return {};
}

std::string endpoint::stall_report(std::string_view where, double seconds) const {
  std::string text = fmt::format("no progress for {:.0f} s in {}", seconds, where);
  if (!worlds_->alone()) text += fmt::format(" of world {}", number());
  if (const std::string cause = likely_cause(); !cause.empty()) text += fmt::format("\n  likely cause: {}", cause);
  text += fmt::format("\n  epoch {}; messages of epochs: {} sent, {} handled here", static_cast<int>(open_epoch_),
                      ledger_.epochs().sent, ledger_.epochs().handled);
  text += fmt::format("\n  waiting to be sent: {}", describe_unsent());
  text += fmt::format("\n  held back for the next epoch: {} packets; incomplete large messages: {}",
                      worlds_->not_due.early_of(number_), reassembly_.incomplete() + streams_.incomplete());
  if (remote_ != nullptr) text += remote_->describe();
  text += describe(attention_.seen());
  constexpr rank_t peers_shown = 16;
  for (std::size_t id = 0; id < registry_.capacity(); ++id) {
    const auto handler = static_cast<handler_id>(id);
    if (!registry_.contains(handler)) continue;
    text += fmt::format("\n  #{} {}: sent/handled", id, registry_.at(handler).name);
    if (!ledger_.knows_peers()) {
      const message_counts all = ledger_.of(handler);
      text += fmt::format(": {}/{}", all.sent, all.handled);
      continue;
    }
    text += " by peer:";
    for (rank_t peer = 0; peer < std::min(lanes_, peers_shown); ++peer) {
      const message_counts counts = ledger_.of(handler, peer);
      text += threads_ == 1 ? fmt::format(" {}", peer) : fmt::format(" {}.{}", peer / threads_, peer % threads_);
      text += fmt::format(":{}/{}", counts.sent, counts.handled);
    }
    if (lanes_ > peers_shown) text += " ...";
  }
  return text;
}

}  // namespace amity::core
