#include "amity/fabric/traced.hpp"

#include <iterator>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::fabric {

class traced::counter final : public sink {
 public:
  counter(traced& own, sink& receiver) : own_(own), receiver_(receiver) {}

  disposition on_packet(const packet& arrived) noexcept override {
    peer_counts& from = own_.peers_[arrived.source];
    ++from.packets_received;
    from.bytes_received += arrived.payload.size();
    const disposition answer = receiver_.on_packet(arrived);
    from.packets_kept += answer == disposition::keep;
    return answer;
  }

  void on_done(std::uint64_t context) noexcept override {
    ++own_.own_.operations_done;
    receiver_.on_done(context);
  }

  void on_notify(std::uint32_t bits) noexcept override {
    ++own_.own_.notifications;
    receiver_.on_notify(bits);
  }

 private:
  traced& own_;
  sink& receiver_;
};

traced::traced(fabric& inner_fabric) : decorator(inner_fabric), caps_(inner().caps()) {
  hide_direct(caps_);
  if (inner().remote() != nullptr) memory_.emplace(*this, *inner().remote());
}

status traced::try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept {
  const status answer = inner().try_send(dest, header, payload, of);
  if (answer == status::ok) {
    count_sent(dest, payload.size());
  } else {
    count_refused(dest);
  }
  return answer;
}

status traced::acquire(rank_t dest, slot& out, claim of) noexcept {
  const status answer = inner().acquire(dest, out, of);
  if (answer != status::ok) count_refused(dest);
  return answer;
}

void traced::commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept {
  inner().commit(dest, header, filled, payload_bytes);
  count_sent(dest, payload_bytes);
}

std::size_t traced::poll(sink& receiver, std::size_t packets_max) {
  counter between(*this, receiver);
  const std::size_t handed = inner().poll(between, packets_max);
  ++own_.polls;
  own_.polls_empty += handed == 0;
  return handed;
}

void traced::sleep(const alarm& by, std::uint64_t timeout_ns) noexcept {
  const std::uint64_t start_ns = now_ns();
  inner().sleep(by, timeout_ns);
  slept_ns_.fetch_add(now_ns() - start_ns, std::memory_order_relaxed);
  sleeps_.fetch_add(1, std::memory_order_relaxed);
}

void traced::disarm() noexcept {
  inner().disarm();
  const std::uint64_t sleeps = sleeps_.exchange(0, std::memory_order_relaxed);
  if (sleeps == 0) return;
  const std::uint64_t slept_ns = slept_ns_.exchange(0, std::memory_order_relaxed);
  own_.sleeps += sleeps;
  own_.slept_ns += slept_ns;
}

void traced::count_sent(rank_t dest, std::size_t bytes) noexcept {
  peer_counts& to = peers_[dest];
  ++to.packets_sent;
  to.bytes_sent += bytes;
}

void traced::count_refused(rank_t dest) noexcept { ++peers_[dest].refused; }

stage traced::count(rank_t peer, counter_of operations, counter_of moved, std::size_t bytes, stage reached) noexcept {
  if (reached == stage::refused) {
    count_refused(peer);
    return reached;
  }
  peer_counts& with = peers_[peer];
  ++(with.*operations);
  if (moved != nullptr) with.*moved += bytes;
  return reached;
}

traced::peer_counts traced::with(rank_t peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? peer_counts{} : found->second;
}

std::string traced::report() const {
  fmt::memory_buffer text;
  const auto out = std::back_inserter(text);
  const auto line = [&](const std::string& name, const peer_counts& c) {
    fmt::format_to(out, "{:>8} {:>12} {:>14} {:>10} {:>12} {:>14} {:>10}\n", name, c.packets_sent, c.bytes_sent,
                   c.refused, c.packets_received, c.bytes_received, c.packets_kept);
  };
  const auto remote_line = [&](const std::string& name, const peer_counts& c) {
    fmt::format_to(out, "{:>8} {:>12} {:>14} {:>10} {:>12} {:>14}\n", name, c.puts, c.bytes_put, c.atomics, c.gets,
                   c.bytes_got);
  };
  fmt::format_to(out, "rank {} of {} on {}: {} polls ({} empty), {} sleeps ({} ns)\n", rank(), size(), caps().name,
                 own_.polls, own_.polls_empty, own_.sleeps, own_.slept_ns);
  fmt::format_to(out, "{:>8} {:>12} {:>14} {:>10} {:>12} {:>14} {:>10}\n", "peer", "sent", "bytes", "refused",
                 "received", "bytes", "kept");
  peer_counts total;
  for (const auto& [peer, c] : peers_) {
    line(std::to_string(peer), c);
    total.packets_sent += c.packets_sent;
    total.bytes_sent += c.bytes_sent;
    total.refused += c.refused;
    total.packets_received += c.packets_received;
    total.bytes_received += c.bytes_received;
    total.packets_kept += c.packets_kept;
    total.puts += c.puts;
    total.bytes_put += c.bytes_put;
    total.gets += c.gets;
    total.bytes_got += c.bytes_got;
    total.atomics += c.atomics;
  }
  line("all", total);
  if (total.puts + total.gets + total.atomics + own_.notifications > 0) {
    fmt::format_to(out, "remote memory: {} events of operations, {} notifications\n", own_.operations_done,
                   own_.notifications);
    fmt::format_to(out, "{:>8} {:>12} {:>14} {:>10} {:>12} {:>14}\n", "peer", "puts", "bytes", "atomics", "gets",
                   "bytes");
    for (const auto& [peer, c] : peers_) remote_line(std::to_string(peer), c);
    remote_line("all", total);
  }
  return fmt::to_string(text);
}

}  // namespace amity::fabric
