#include "amity/fabric/ofi/ofi_fabric.hpp"

#include <poll.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::fabric::ofi {
namespace {

/// Times that the descriptor may end a sleep at once without an event: a packet may be one of the fabric's own.
constexpr std::uint32_t false_alarms_max = 16;

bool is_readable(int descriptor) noexcept {
  pollfd watched{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&watched, 1, 0) > 0;
}

}  // namespace

void ofi_fabric::meet_all() {
  const std::uint64_t begin_ns = steady_now_ns();
  for (rank_t silent = 0; (silent = greet_peers()) != no_rank; rest(1'000'000)) {
    progress();
    if (aborted_ || start_->aborted()) return;  // the first wait will say so
    if (lost()) cannot_reach(lost_.peer, port_.reason(lost_.reason));
    if (steady_now_ns() - begin_ns > given_.connect_timeout_ns) {
      cannot_reach(silent, "no answer within AMITY_OFI_CONNECT_SECONDS");
    }
  }
}

rank_t ofi_fabric::greet_peers() noexcept {
  rank_t silent = no_rank;
  for (const rank_t peer : reached_) {
    const flow& traffic = gate_.with(peer);
    if (traffic.next_in == 0) silent = peer;
    if ((peer > rank_ || traffic.next_in > 0) && traffic.next_out == 0 && !peers_[to_index(peer)].spare_is_busy) {
      send_spare(peer, packet_kind::credits);
    }
  }
  return silent;
}

void ofi_fabric::cannot_reach(rank_t peer, std::string_view reason) {
  abort();
  throw error("AMITY_FABRIC=ofi", own_rank(),
              fmt::format("rank {} at {} cannot be reached: {}", company_.rank_of(peer),
                          port_.text_of(addresses_[to_index(peer)]), reason),
              lost_.reason == FI_EMFILE ? "raise the limit of open files (ulimit -n), or use fewer threads or ranks"
                                        : "let the hosts reach each other's ports, or name each host's address in the "
                                          "right network by AMITY_OFI_ADDRESS");
}

void ofi_fabric::check() {
  check_job_ended();
  const std::uint64_t now = steady_now_ns();
  // Also while packets of other ranks arrive: the rank that this one waits for may have failed.
  if (now - last_knock_ns_ >= given_.peer_timeout_ns / 4) knock(now);
}

bool ofi_fabric::ready() {
  progress();
  if (woken()) return true;
  if (!remote_ || !remote_->was_refused()) return false;
  // The provider does not report when it has space again.
  announce_credits();
  yielder_.yield_or_doze();
  return true;
}

void ofi_fabric::publish() {
  announce_credits();
  knock(steady_now_ns());
}

alarm ofi_fabric::arm() {
  check_job_ended();
  announce_credits();
  // Packets that the provider has refused announce themselves by no event.
  const std::uint64_t limit_ns = busy_.empty() ? look_round_ns : 1'000'000;
  if (!has_waker()) {
    const std::uint64_t nap_ns_limit = nap_ns_max();
    const std::uint64_t nap_ns = std::min(std::exchange(nap_ns_, std::min(2 * nap_ns_, nap_ns_limit)), nap_ns_limit);
    return {.sleep_ns_max = std::min(nap_ns, limit_ns)};
  }
  if (!port_.may_sleep()) return {.sleep_ns_max = 0};
  armed_ns_ = steady_now_ns();
  return {.descriptors = {port_.wait_descriptor(), -1, -1}, .sleep_ns_max = limit_ns};
}

void ofi_fabric::disarm() noexcept {
  if (armed_ns_ == 0) return;
  const bool at_once = steady_now_ns() - std::exchange(armed_ns_, 0) < nap_ns_min;
  if (!at_once || !is_readable(port_.wait_descriptor())) return;
  progress();
  if (!something_new()) ++false_alarms_;
}

bool ofi_fabric::has_waker() const noexcept { return port_.wait_descriptor() >= 0 && false_alarms_ < false_alarms_max; }

// A rank whose memory others use moves their data itself. The data of operations of its own may arrive in many parts,
// which are no events.
std::uint64_t ofi_fabric::nap_ns_max() const noexcept {
  if (remote_ && !remote_->is_idle()) return nap_ns_min;
  return remote_ && remote_->has_segments() ? 100'000 : 1'000'000;
}

void ofi_fabric::rest(std::uint64_t timeout_ns) noexcept {
  const std::uint64_t begin_ns = steady_now_ns();
  alarm by;
  if (has_waker() && port_.may_sleep()) by.descriptors[0] = port_.wait_descriptor();
  amity::fabric::sleep(by, by.descriptors[0] >= 0 ? timeout_ns : nap_ns_min);
  progress();
  if (steady_now_ns() - begin_ns < nap_ns_min) amity::fabric::sleep({}, nap_ns_min);
}

void ofi_fabric::knock(std::uint64_t now) noexcept {
  if (posted_ == 0 && (!remote_ || remote_->is_idle())) miss_the_unreachable(now);
  if (now - last_knock_ns_ < given_.peer_timeout_ns / 4) return;
  is_left_ = is_left_by(start_->starter());
  const rank_t silent = watch_.silent_for(given_.peer_timeout_ns / 2);
  last_knock_ns_ = steady_now_ns();  // with many connections, looking at them takes long
  if (silent != no_rank) lose(silent, FI_EHOSTUNREACH, true);
  for (const rank_t dest : reached_) {
    if (!gate_.with(dest).has_left && !peer(dest).spare_is_busy) send_spare(dest, packet_kind::credits);
  }
}

void ofi_fabric::miss_the_unreachable(std::uint64_t now) noexcept {
  for (const rank_t dest : busy_) {
    if (gate_.with(dest).has_left) continue;
    peer_state& each = peer(dest);
    if (each.unreachable_since_ns == 0) each.unreachable_since_ns = now;
    if (now - each.unreachable_since_ns > given_.peer_timeout_ns / 2) lose(dest, FI_ECONNREFUSED);
  }
}

bool ofi_fabric::woken() noexcept {
  const bool found = something_new();
  credit_is_back_ = false;
  if (found) {
    nap_ns_ = nap_ns_min;
    false_alarms_ = 0;
  }
  return found;
}

void ofi_fabric::lose(rank_t peer, int reason, bool with_its_host) noexcept {
  if (lost() || leaving_) return;
  lost_ = {.peer = peer, .reason = reason, .with_its_host = with_its_host};
}

void ofi_fabric::check_job_ended() {
  // First: ranks that end an aborted job take their connections with them.
  if (!aborted_) aborted_ = start_->aborted();
  if (aborted_) throw job_aborted("amity: another rank has ended the job");
  if (lost()) end_by_loss();
  if (is_left_) {
    abort();
    throw_left("AMITY_FABRIC=ofi", own_rank(), start_->starter());
  }
  if (ends_job(fault_)) end_by_fault();
}

void ofi_fabric::end_by_loss() {
  const rank_t who = company_.rank_of(lost_.peer);
  abort();
  if (lost_.unregistered_bytes > 0) {
    throw error(
        "AMITY_FABRIC=ofi", own_rank(),
        fmt::format("{} bytes of memory of this rank cannot be registered for an operation in the memory of rank "
                    "{}: {}",
                    lost_.unregistered_bytes, who, port_.reason(lost_.reason)),
        "increase the limit of locked memory (ulimit -l), or transfer fewer bytes at once");
  }
  if (lost_.in_its_memory) {
    throw error("AMITY_FABRIC=ofi", own_rank(),
                fmt::format("an operation in the memory of rank {} has failed: {}", who, port_.reason(lost_.reason)),
                fmt::format("release a segment after a barrier that follows its last use, and check the output of rank "
                            "{}; an unknown process may also have connected in its place",
                            who));
  }
  throw error("AMITY_FABRIC=ofi", own_rank(),
              fmt::format("{} has vanished: {}", name_of_lost(), port_.reason(lost_.reason)),
              lost_.with_its_host ? "check the state of that host, and the network between it and this one"
                                  : fmt::format("check the output of rank {} and the state of its host; an unknown "
                                                "process may also have connected in its place",
                                                who));
}

std::string ofi_fabric::name_of_lost() const {
  std::vector<rank_t> ranks;
  if (lost_.with_its_host) {
    for (const rank_t lane : watch_.ranks_on_host_of(lost_.peer)) ranks.push_back(company_.rank_of(lane));
    ranks.erase(std::ranges::unique(ranks).begin(), ranks.end());
  }
  if (ranks.size() < 2) return fmt::format("rank {}", company_.rank_of(lost_.peer));
  return fmt::format("the host of ranks {}", fmt::join(ranks, ", "));
}

void ofi_fabric::end_by_fault() {
  abort();
  throw fault_error();
}

void ofi_fabric::report_fault() noexcept {
  if (!ends_job(fault_) || aborted_) return;
  abort();
  std::fprintf(stderr, "%s\n", fault_error().what());
}

error ofi_fabric::fault_error() const {
  const rank_t who = company_.rank_of(faulty_);
  if (fault_ == admission::lost) {
    return error("AMITY_FABRIC=ofi", own_rank(),
                 fmt::format("packets from rank {} are missing: an unknown process may have connected in its place, or "
                             "the provider has closed the connection",
                             who),
                 fmt::format("keep other processes away from the ports of the job, or use another AMITY_OFI_PROVIDER{}",
                             remote_ ? "; release segments after a barrier that follows their last use" : ""));
  }
  return error("AMITY_FABRIC=ofi", own_rank(), fmt::format("rank {} sent an invalid packet: {}", who, describe(fault_)),
               "run the same build of the program with the same AMITY_OFI settings on all ranks");
}

void ofi_fabric::abort() noexcept {
  if (aborted_) return;
  aborted_ = true;
  start_->abort();
  if (addresses_.empty()) return;
  // Whoever has not heard of it yet; a peer that takes nothing now learns it in another way.
  for (const rank_t peer : reached_) static_cast<void>(inject(peer, packet_kind::abort, 0, {}));
  // What gets and atomics would still write may be gone.
  if (!lost() && (!remote_ || remote_->is_idle())) progress();
}

void ofi_fabric::say_goodbye() noexcept {
  const std::uint64_t begin_ns = steady_now_ns();
  leaving_ = true;
  while (!have_parted_from_all() && !ended() && steady_now_ns() - begin_ns < given_.peer_timeout_ns) {
    progress();
    for (; !arrived_.empty(); arrived_.pop()) {
      ++gate_.with(arrived_.front().source).held;
      release_buffer(arrived_.front().token);
    }
    if (remote_) remote_->forget_events();
    if (!have_parted_from_all()) rest(1'000'000);
  }
}

bool ofi_fabric::have_parted_from_all() noexcept {
  bool all = true;
  for (const rank_t dest : reached_) {
    const peer_state& each = peer(dest);
    flow& traffic = gate_.with(dest);
    if (!traffic.heard_goodbye && !each.spare_is_busy) {
      traffic.heard_goodbye = true;
      send_spare(dest, packet_kind::goodbye);
    }
    all = all && traffic.heard_goodbye && traffic.has_left && each.slots_used == 0 && !each.spare_is_busy;
  }
  return all;
}

}  // namespace amity::fabric::ofi
