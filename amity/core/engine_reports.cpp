/// What an engine reports about a wait that lasts: where the thread waits, what waits to be sent, and which peers are
/// silent.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/base/log.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/engine.hpp"

namespace amity::core {
namespace {

std::string describe_peers(const std::vector<rank_t>& lanes, rank_t threads) {
  std::string text;
  for (const rank_t lane : lanes) {
    text += fmt::format("{}rank {}", text.empty() ? "" : ", ", lane / threads);
    if (threads > 1) text += fmt::format(" (thread {})", lane % threads);
  }
  return text;
}

}  // namespace

std::string engine::place() const { return waits_in_->place(waits_where_); }

std::string engine::describe_unsent() const {
  constexpr int peers_shown = 8;
  std::string text;
  int shown = 0;
  unsent_.for_each_peer([&](rank_t lane, std::size_t packets) {
    if (shown++ < peers_shown)
      text += fmt::format("{}{} packets to rank {}", text.empty() ? "" : ", ", packets, lane / threads_);
  });
  if (shown > peers_shown) text += fmt::format(", and to {} more ranks", shown - peers_shown);
  if (text.empty()) return "none";
  return worlds_count_ == 1 ? text : text + " of the job";
}

void engine::look_for_stall(const endpoint& in, std::string_view where, bool is_stall) {
  constexpr auto question = static_cast<std::byte>(peer_questions::content::question);
  const std::uint64_t now_ns = transport_.now_ns();
  if (questions_.is_due(now_ns)) {
    log_warning(
        rank(),
        fmt::format("no answer for {} s from {}: a handler there does not return, or the program computes "
                    "without calls that make progress",
                    peer_questions::silence_ns / 1'000'000'000, describe_peers(questions_.take_silent(), threads_)));
  }
  if (!stall_clock_.is_due(now_ns) && !is_stall) return;
  log_warning(rank(), in.stall_report(where, stall_clock_.seconds()));
  if (transport_.caps().virtual_time) return;  // the simulator knows which ranks wait
  std::vector<rank_t> peers = in.peers_to_ask();
  for (const rank_t lane : peers) send(lane, service::wake, {&question, 1});
  questions_.ask(std::move(peers), now_ns);
}

std::size_t engine::take_questions() {
  constexpr auto answer = static_cast<std::byte>(peer_questions::content::answer);
  const std::uint64_t now_ns = transport_.now_ns();
  peer_answers& answers = questions_.answers();
  if (answers.is_due(now_ns)) {
    for (const rank_t lane : answers.take(now_ns)) send(lane, service::wake, {&answer, 1});
  }
  has_questions_ = answers.any();
  return questions_.take_arrived();
}

void engine::report_busy_wait(const endpoint& in, std::string_view where) {
  if (where.empty()) return;
  std::uint64_t handled = 0;
  for (const member& each : worlds_) {
    if (each.owner != nullptr) handled += each.owner->counts().total().messages_handled;
  }
  if (!busy_wait_.is_due(transport_.now_ns(), in.handlers(), in.counts(), handled)) return;
  const std::string rates = busy_wait_.rates(in.handlers(), in.counts());
  log_warning(rank(), fmt::format("{} has lasted for {:.0f} s, and messages are still being handled: {}; if this never "
                                  "ends, handlers send without end",
                                  where, busy_wait_.seconds(), rates.empty() ? "of other worlds" : rates));
}

}  // namespace amity::core
