#include "amity/fabric/ofi/ofi_fabric.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::fabric::ofi {
namespace {

/// The shortest sleep without a descriptor that ends it.
constexpr long nap_ns_min = 20'000;

}  // namespace

void ofi_fabric::meet_all() {
  const std::uint64_t begin_ns = steady_now_ns();
  for (rank_t silent = 0; (silent = greet_peers()) != no_rank; sleep(1'000'000)) {
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

void ofi_fabric::wait(std::uint64_t timeout_ns) {
  look_for_the_end();
  const std::uint64_t begin_ns = steady_now_ns();
  // Also where others always have something: they need not be the one that is waited for.
  if (begin_ns - last_knock_ns_ >= given_.peer_timeout_ns / 4) knock(begin_ns);
  if (timeout_ns == 0 || woken()) return;
  if (remote_ && remote_->was_refused()) {
    // The provider does not say when it has room again.
    progress();
    announce_credits();
    yielder_.yield_or_doze();
    return;
  }
  std::uint64_t now = begin_ns;
  do {
    progress();
    if (woken()) return;
    now = steady_now_ns();
  } while (now - begin_ns < std::min(patience_.spin_ns, timeout_ns));
  announce_credits();
  knock(now);
  for (int i = 0; i < patience_.yields; ++i) {
    progress();
    if (woken()) return;
    if (!yielder_.yield()) break;
  }
  const std::uint64_t passed_ns = steady_now_ns() - begin_ns;
  if (passed_ns < timeout_ns) sleep(std::min(timeout_ns - passed_ns, look_round_ns));
  look_for_the_end();
}

bool ofi_fabric::ready() {
  progress();
  return woken();
}

alarm ofi_fabric::set_alarm() {
  look_for_the_end();
  announce_credits();
  knock(steady_now_ns());
  // Sends that the provider has refused announce themselves by no event.
  const std::uint64_t look_again_ns = busy_.empty() ? look_round_ns : 1'000'000;
  if (port_.wait_descriptor() < 0) return {};
  return {.descriptor = port_.wait_descriptor(), .look_again_ns = port_.may_sleep() ? look_again_ns : 0};
}

void ofi_fabric::sleep(std::uint64_t timeout_ns) noexcept {
  // Sends that the provider has refused announce themselves by no event.
  const std::uint64_t limit_ns = busy_.empty() ? timeout_ns : std::min<std::uint64_t>(timeout_ns, 1'000'000);
  const std::uint64_t end_ns = steady_now_ns() + limit_ns;
  long nap_ns = nap_ns_min;
  for (std::uint64_t now = steady_now_ns(); now < end_ns;) {
    const bool slept = port_.sleep(end_ns - now);
    progress();
    if (something_new()) return;
    const std::uint64_t before = std::exchange(now, steady_now_ns());
    // A descriptor that is ready all the time, as that of a broken connection is, is no reason to stay awake; nor is
    // it one to sleep for long, since data for this rank's memory may be coming in.
    if (slept && now - before > static_cast<std::uint64_t>(nap_ns_min)) continue;
    const timespec nap{.tv_sec = 0, .tv_nsec = nap_ns};
    ::nanosleep(&nap, nullptr);
    nap_ns = std::min(2 * nap_ns, remote_ && remote_->has_segments() ? 100'000L : 1'000'000L);
  }
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
  return found;
}

void ofi_fabric::lose(rank_t peer, int reason, bool with_its_host) noexcept {
  if (lost() || leaving_) return;
  lost_ = {.peer = peer, .reason = reason, .with_its_host = with_its_host};
}

void ofi_fabric::look_for_the_end() {
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
    while (!arrived_.empty()) {
      release_buffer(arrived_.front().token);
      arrived_.pop();
    }
    if (remote_) remote_->forget_events();
    if (!have_parted_from_all()) sleep(1'000'000);
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
