#include "amity/fabric/ofi/ofi_fabric.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "amity/base/log.hpp"

namespace amity::fabric::ofi {

namespace {

backoff backoff_of(rank_t ranks_here, int cpus) {
  return ranks_here > cpus ? backoff{.looks = 1, .yields = 20} : backoff{.looks = 1, .spin_ns = 200'000, .yields = 5};
}

}  // namespace

sizes sizes::from(const settings& config) {
  const auto ns = [&](const char* setting) {
    return static_cast<std::uint64_t>(config.integer(setting)) * 1'000'000'000;
  };
  return {.packet_bytes = static_cast<std::size_t>(config.integer("AMITY_OFI_PACKET_BYTES")),
          .credits = with_reserve(static_cast<std::size_t>(config.integer("AMITY_OFI_CREDITS"))),
          .peer_timeout_ns = ns("AMITY_OFI_PEER_SECONDS"),
          .connect_timeout_ns = ns("AMITY_OFI_CONNECT_SECONDS"),
          .sealed = config.integer("AMITY_OFI_SEALED") != 0};
}

namespace {

std::size_t inline_bytes(const fi_info& info) {
  return std::min(info.tx_attr->inject_size, injected_bytes_max) - header_bytes;
}

std::vector<rank_t> peers_of(rank_t rank, const company& all, reach whom) {
  std::vector<rank_t> found;
  for (rank_t peer = 0; const rank_t node : all.node_of) {
    const bool is_reached = whom == reach::all || node != all.node_of[to_index(rank)];
    if (peer != rank && is_reached) found.push_back(peer);
    ++peer;
  }
  return found;
}

}  // namespace

capabilities capabilities_of(const library& fabrics, const fi_info& info, const sizes& given) {
  const std::size_t buffer_bytes = cache_line_bytes + given.packet_bytes;
  return {.name = "ofi",
          .description = fmt::format("libfabric {}.{}, provider {}, {}{}", FI_MAJOR(fabrics.version()),
                                     FI_MINOR(fabrics.version()), name_of(info), given.sealed ? "sealed" : "not sealed",
                                     describe_registration(info)),
          .packet_bytes_max = given.packet_bytes,
          .inline_bytes_max = inline_bytes(info),
          .credits_per_peer = given.credits - reserve_per_peer,
          .slots_per_peer = given.credits - reserve_per_peer,
          .bytes_per_peer = (2 * given.credits + spare_buffers) * buffer_bytes,
          .ordered = true,
          .virtual_time = false,
          .remote = given.sealed ? remote_capabilities{} : remote_capabilities_of(info, given.packet_bytes)};
}

ofi_fabric::ofi_fabric(std::shared_ptr<bootstrap> start, const company& all, rank_t thread, reach whom,
                       const sizes& given, const library& fabrics, const sodium& crypto, info_ptr info)
    : start_(std::move(start)),
      rank_(start_->rank() * all.threads + thread),
      size_(start_->size() * all.threads),
      given_(given),
      company_(all),
      reached_(peers_of(rank_, company_, whom)),
      caps_(capabilities_of(fabrics, *info, given)),
      receive_count_((given.credits + spare_buffers) * reached_.size()),
      send_count_((given.credits + 1) * to_index(size_)),
      received_(receive_count_, given.packet_bytes),
      sending_(send_count_, given.packet_bytes),
      contexts_(receive_count_ + send_count_),
      sources_(receive_count_ + send_count_, no_rank),
      outgoing_(send_count_),
      unposted_(receive_count_),
      arrived_(receive_count_ + given.credits),
      port_(fabrics, std::move(info), receive_count_ + send_count_ + caps_.remote.operations_max, own_rank()),
      gate_({.crypto = crypto,
             .key = company_.key,
             .sealed = given.sealed,
             .rank = rank_,
             .size = size_,
             .packet_bytes_max = given.packet_bytes,
             .credits = static_cast<std::uint32_t>(given.credits)}) {
  caps_.backoff = backoff_of(
      static_cast<rank_t>(std::ranges::count(company_.node_of, company_.node_of[to_index(rank_)])), company_.cpus);
  port_.register_if_needed(received_, FI_RECV);
  port_.register_if_needed(sending_, FI_SEND);
  for (rank_t peer = 0; peer < size_; ++peer) peers_.emplace_back(given.credits + 1);
  for (rank_t peer = 0; peer < size_; ++peer) {
    for (std::uint32_t i = 0; i < given.credits; ++i) peers_[to_index(peer)].free_slots.push(spare_slot(peer) - i - 1);
  }
  busy_.reserve(to_index(size_));
  for (std::uint32_t i = 0; i < receive_count_; ++i) unposted_.push(i);
  post_receives();
}

void ofi_fabric::connect(const std::vector<std::string>& addresses) {
  addresses_ = port_.insert(addresses);
  if (caps_.remote.available) {
    remote_.emplace(port_, gate_.crypto(), company_.key, rank_, addresses_, lost_);
    caps_.remote.atomics = caps_.remote.atomics && remote_->has_atomics();
  }
  meet_all();
  watch_ = tcp_watch(port_.info().addr_format, addresses, rank_);
}

ofi_fabric::~ofi_fabric() {
  if (std::uncaught_exceptions() > 0) abort();
  report_fault();
  if (!ended()) say_goodbye();
  report_fault();
  const std::uint64_t strange = gate_.refused() + strange_events_ + (remote_ ? remote_->notifications_refused() : 0);
  if (strange > 0) {
    log_warning(
        own_rank(),
        fmt::format("{} packets from unknown processes, changed on the way, or replayed were refused", strange));
  }
  port_.close();
  remote_.reset();
  received_.unregister();
  sending_.unregister();
}

}  // namespace amity::fabric::ofi
