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
#include "amity/core/tree.hpp"

namespace amity::core {
namespace {

std::string describe(const attentiveness& seen) {
  std::string text = fmt::format("\n  polls: {}, {} of them found something", seen.polls, seen.polls_with_news);
  if (!seen.timed) return text;
  return text + fmt::format("\n  between polls: {} ns at most, {} ns in all; longest handler: {} ns", seen.gap_ns_max,
                            seen.gap_ns_total, seen.handler_ns_max);
}

std::string describe_peers(const std::vector<rank_t>& lanes, rank_t threads) {
  std::string text;
  for (const rank_t lane : lanes) {
    text += fmt::format("{}rank {}", text.empty() ? "" : ", ", lane / threads);
    if (threads > 1) text += fmt::format(" (thread {})", lane % threads);
  }
  return text;
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
  constexpr auto question = static_cast<std::byte>(peer_questions::content::question);
  const std::uint64_t now_ns = fabric_.now_ns();
  if (questions_.is_due(now_ns)) {
    log_warning(
        rank_,
        fmt::format("no answer for {} s from {}: a handler there does not return, or the program computes "
                    "without calls that make progress",
                    peer_questions::patience_ns / 1'000'000'000, describe_peers(questions_.take_silent(), threads_)));
  }
  if (!stall_clock_.is_due(now_ns) && !is_stall) return;
  log_warning(rank_, stall_report(where, stall_clock_.seconds()));
  if (virtual_time_) return;  // the simulator knows which ranks wait
  std::vector<rank_t> peers = peers_to_ask();
  for (const rank_t lane : peers) send_control(lane, packet_kind::wake, {&question, 1});
  questions_.ask(std::move(peers), now_ns);
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
  if (!worlds_->unsent.empty()) return fmt::format("a peer takes no packets: {} wait", describe_unsent());
  if (!collectives_.done()) return "other ranks have not reached it: compare the places in their reports";
  if (epoch_open() && body_epoch_ == no_epoch) {
    return "other ranks have not reached it, or handle messages: compare the places in their reports";
  }
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

// Questions

// Peers that the wait is for, and then peers that this rank has sent messages to, first those that have sent least
// back.
std::vector<rank_t> endpoint::peers_to_ask() const {
  std::vector<rank_t> peers;
  const auto add = [&](rank_t lane) {
    if (lane != lane_ && peers.size() < peer_questions::peers_max && std::ranges::find(peers, lane) == peers.end())
      peers.push_back(lane);
  };
  if (worlds_->alone()) worlds_->unsent.for_each_peer([&](rank_t lane, std::size_t) { add(lane); });
  if (!collectives_.done() || (epoch_open() && body_epoch_ == no_epoch)) {
    add(lane_of(tree_parent(rank_), thread()));
    for_each_tree_child(rank_, size_, [&](rank_t child) { add(lane_of(child, thread())); });
  }
  if (!ledger_.knows_peers()) return peers;
  // Messages from each lane less messages to it.
  std::vector<std::pair<std::int64_t, rank_t>> unanswered;
  for (rank_t lane = 0; lane < lanes_; ++lane) {
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

void endpoint::on_wake(const inbound& packet) {
  constexpr auto answer = static_cast<std::byte>(peer_questions::content::answer);
  if (packet.payload.size() != 1) return;
  ++worlds_->questions;
  if (packet.payload[0] == answer) return questions_.on_answer(packet.source);
  send_control(packet.source, packet_kind::wake, {&answer, 1});
}

}  // namespace amity::core
