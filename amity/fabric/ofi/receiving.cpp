#include "amity/fabric/ofi/ofi_fabric.hpp"

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>

namespace amity::fabric::ofi {

std::size_t ofi_fabric::poll(sink& receiver, std::size_t events_max) {
  std::size_t handed_over = 0;
  if (arrived_.empty() && events_max > 0) progress();
  if (has_remote_events()) {
    // Neither packets nor what remote memory has to tell wait for ever because of the other.
    remote_comes_first_ = !remote_comes_first_;
    const std::size_t share =
        arrived_.empty() ? events_max : events_max / 2 + (remote_comes_first_ ? events_max % 2 : 0);
    handed_over = remote_->hand_over(receiver, share);
  }
  while (handed_over < events_max && !arrived_.empty()) {
    const arrival next = arrived_.front();
    arrived_.pop();
    ++handed_over;
    const packet shown{.header = next.header, .payload = next.payload, .source = next.source, .token = next.token};
    ++gate_.with(next.source).held;
    if (receiver.on_packet(shown) == disposition::release) {
      release_buffer(next.token);
    } else if (gate_.credits_are_due(next.source)) {
      owe_credits(next.source);
    }
  }
  // A rank that always finds packets must also see its own sends complete.
  if (handed_over > 0 && ++polls_since_progress_ >= 8) progress();
  return handed_over;
}

void ofi_fabric::release_buffer(std::uint32_t token) noexcept {
  const rank_t source = sources_[token];
  flow& from = gate_.with(source);
  --from.held;
  if (source == rank_) {
    ++from.released_out;
    free_slot(token - static_cast<std::uint32_t>(receive_count_));
    return;
  }
  ++from.released_in;
  unposted_.push(token);
  post_receives();
  if (gate_.credits_are_due(source)) owe_credits(source);
}

void ofi_fabric::owe_credits(rank_t source) noexcept {
  if (gate_.with(source).has_left || gate_.with(source).heard_goodbye) return;
  peer_state& to = peer(source);
  if (to.backlog.empty() && announce(source)) return;
  to.owes_credits = true;
  mark_busy(source);
}

bool ofi_fabric::announce(rank_t source) noexcept {
  const flow& from = gate_.with(source);
  peer(source).owes_credits = from.announced != from.released_in && !inject(source, packet_kind::credits, 0, {});
  return !peer(source).owes_credits;
}

void ofi_fabric::announce_credits() noexcept {
  for (const rank_t source : reached_) {
    const flow& from = gate_.with(source);
    if (from.announced != from.released_in) owe_credits(source);
  }
}

void ofi_fabric::post_receives() noexcept {
  while (!unposted_.empty()) {
    const std::uint32_t index = unposted_.front();
    const ssize_t status = fi_recv(port_.endpoint(), received_.wire(index), header_bytes + given_.packet_bytes,
                                   received_.descriptor(), FI_ADDR_UNSPEC, &contexts_[index]);
    // A provider that refuses one has enough of them until some complete; that named shm says so in its own way.
    const bool some_posted = unposted_.room() > 0;
    if (status == -FI_EAGAIN || (status == -FI_ENOMEM && some_posted)) return;
    AMITY_ASSERT(status == 0, status);
    unposted_.pop();
  }
}

void ofi_fabric::progress() noexcept {
  polls_since_progress_ = 0;
  std::array<fi_cq_data_entry, 16> done;
  for (int batches = 0; batches < 4; ++batches) {
    if (remote_ && !remote_->has_room_for(done.size())) break;
    const ssize_t count = fi_cq_read(port_.queue(), done.data(), done.size());
    if (count == -FI_EAVAIL) {
      take_failure();
      continue;
    }
    if (count <= 0) break;
    for (ssize_t i = 0; i < count; ++i) take_completion(done[static_cast<std::size_t>(i)]);
    if (static_cast<std::size_t>(count) < done.size()) break;
  }
  if (!busy_.empty()) send_backlogs();
  if (!unposted_.empty()) post_receives();
}

void ofi_fabric::take_completion(const fi_cq_data_entry& done) noexcept {
  if (remote_ && remote_->owns(done.op_context)) return remote_->take_completion(done.op_context);
  const std::size_t index = index_of(done.op_context);
  if (index >= contexts_.size()) {
    // Only a rank that has remote memory expects operations of its peers.
    if (remote_ && (done.flags & FI_REMOTE_CQ_DATA) != 0) return remote_->take_notification(done.data);
    if (!remote_) ++strange_events_;
    return;
  }
  if (index >= receive_count_) {
    --posted_;
    return free_slot(static_cast<std::uint32_t>(index - receive_count_));
  }
  take_packet(static_cast<std::uint32_t>(index), done.len);
}

void ofi_fabric::take_packet(std::uint32_t index, std::size_t bytes) noexcept {
  admitted_packet found;
  const admission verdict =
      gate_.admit({received_.wire(index), std::min(bytes, header_bytes + given_.packet_bytes)}, found);
  if (verdict == admission::admitted) {
    if (found.released) credit_came_back(found.source);
    if (found.kind == packet_kind::data) {
      sources_[index] = found.source;
      arrived_.push({.header = found.header, .payload = found.payload, .source = found.source, .token = index});
      return;
    }
    if (found.kind == packet_kind::abort) aborted_ = true;
  } else if (ends_job(verdict) && !ends_job(fault_)) {
    fault_ = verdict;
    faulty_ = found.source;
  }
  unposted_.push(index);
}

void ofi_fabric::take_failure() noexcept {
  fi_cq_err_entry failed{};
  if (fi_cq_readerr(port_.queue(), &failed, 0) < 0) return;
  if (remote_ && remote_->owns(failed.op_context)) return remote_->take_failure(failed.op_context, failed.err);
  const std::size_t index = index_of(failed.op_context);
  if (index >= contexts_.size()) return;
  if (index < receive_count_) {
    // Longer than any packet of a rank: from an unknown process. Or cut off, with its connection.
    if (failed.err == FI_ETRUNC) ++strange_events_;
    unposted_.push(static_cast<std::uint32_t>(index));
    return;
  }
  const auto slot_index = static_cast<std::uint32_t>(index - receive_count_);
  const rank_t dest = outgoing_[slot_index].dest;
  --posted_;
  free_slot(slot_index);
  if (!gate_.with(dest).has_left) lose(dest, failed.err);
  gate_.with(dest).has_left = true;
}

}  // namespace amity::fabric::ofi
