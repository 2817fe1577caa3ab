/// What an endpoint says about a wait that lasts: where the rank is, what is under way, and which peers are silent.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/memory_service.hpp"
#include "amity/core/tree.hpp"

namespace amity::core {
namespace {

std::string describe(const attentiveness& seen) {
  std::string text = fmt::format("\n  polls: {}, {} of them found something", seen.polls, seen.polls_with_news);
  if (!seen.timed) return text;
  return text + fmt::format("\n  between polls: {} ns at most, {} ns in all; longest handler: {} ns", seen.gap_ns_max,
                            seen.gap_ns_total, seen.handler_ns_max);
}

}  // namespace

std::string endpoint::place(std::string_view where) const {
  // The runtime's own; all others are those of wait_until.
  constexpr std::string_view internal[] = {wait_for_credit, wait_for_end_of_epoch, wait_for_puts, wait_for_operation};
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
  if (engine_->worlds() > 1) text += fmt::format(" of world {}", number());
  return text;
}

// The first that applies; empty: none is known.
std::string endpoint::likely_cause() const {
  if (prepared_ > 0) return "a prepared buffer holds a credit and is not committed";
  if (const std::string trouble = fabric_.trouble(); !trouble.empty()) return fmt::format("network: {}", trouble);
  if (!engine_->unsent().empty()) return fmt::format("a peer takes no packets: {} wait", engine_->describe_unsent());
  if (!collectives_.done()) return "other ranks have not reached it: compare the places in their reports";
  if (epoch_open() && body_epoch_ == no_epoch) {
    return "other ranks have not reached it, or handle messages: compare the places in their reports";
  }
  if (engine_->not_due().early_of(number_) > 0) return "a peer has begun an epoch that this rank has not begun";
  if (const auto other = engine_->not_due().early_beside(number_)) {
    return fmt::format(
        "a peer has begun an epoch of world {} that this rank has not begun, and its packets may have "
        "the credits of those that this rank waits for: call a barrier before that epoch",
        static_cast<int>(*other));
  }
  return {};
}

std::string endpoint::stall_report(std::string_view where, double seconds) const {
  std::string text = fmt::format("no progress for {:.0f} s in {}", seconds, where);
  if (engine_->worlds() > 1) text += fmt::format(" of world {}", number());
  if (const std::string cause = likely_cause(); !cause.empty()) text += fmt::format("\n  likely cause: {}", cause);
  text += fmt::format("\n  epoch {}; messages of epochs: {} sent, {} handled here", static_cast<int>(open_epoch_),
                      ledger_.epochs().sent, ledger_.epochs().handled);
  text += fmt::format("\n  waiting to be sent: {}", engine_->describe_unsent());
  text += fmt::format("\n  held back for the next epoch: {} packets; incomplete large messages: {}",
                      engine_->not_due().early_of(number_), reassembly_.incomplete() + streams_.incomplete());
  if (const memory_service* const used = engine_->served().memory_if_used()) text += used->describe();
  if (const record_executor* const windows = engine_->served().windows()) text += windows->describe();
  text += describe(engine_->attention().seen());
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
    for (rank_t peer = 0; peer < std::min(lanes(), peers_shown); ++peer) {
      const message_counts counts = ledger_.of(handler, peer);
      text += threads_ == 1 ? fmt::format(" {}", peer) : fmt::format(" {}.{}", peer / threads_, peer % threads_);
      text += fmt::format(":{}/{}", counts.sent, counts.handled);
    }
    if (lanes() > peers_shown) text += " ...";
  }
  return text;
}

// Peers that the wait is for, and then peers that this rank has sent messages to, first those that have sent least
// back.
std::vector<rank_t> endpoint::peers_to_ask() const {
  std::vector<rank_t> peers;
  const auto add_of_job = [&](rank_t lane) {
    if (lane != engine_->transport().rank() && peers.size() < peer_questions::peers_max &&
        std::ranges::find(peers, lane) == peers.end())
      peers.push_back(lane);
  };
  const auto add = [&](rank_t lane) { add_of_job(job_lane(lane)); };
  engine_->unsent().for_each_peer([&](rank_t lane, std::size_t) { add_of_job(lane); });
  if (const memory_service* const used = engine_->served().memory_if_used()) {
    for (const rank_t lane : used->stream.awaited_lanes()) add_of_job(lane);
  }
  if (!collectives_.done() || (epoch_open() && body_epoch_ == no_epoch)) {
    add(lane_of(tree_parent(rank_), thread()));
    for_each_tree_child(rank_, size_, [&](rank_t child) { add(lane_of(child, thread())); });
  }
  if (!ledger_.knows_peers()) return peers;
  // Messages from each lane less messages to it.
  std::vector<std::pair<std::int64_t, rank_t>> unanswered;
  for (rank_t lane = 0; lane < lanes(); ++lane) {
    message_counts all;
    for (std::size_t id = 0; id < registry_.capacity(); ++id) {
      const message_counts counts = ledger_.of(static_cast<handler_id>(id), lane);
      all.sent += counts.sent;
      all.handled += counts.handled;
    }
    if (all.sent > 0) unanswered.emplace_back(static_cast<std::int64_t>(all.handled - all.sent), lane);
  }
  std::ranges::sort(unanswered);
  for (const auto& [balance, lane] : unanswered) add(lane);
  return peers;
}

}  // namespace amity::core
