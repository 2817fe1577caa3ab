#include "amity/fabric/checked.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/base/random.hpp"

namespace amity::fabric {
namespace {

constexpr std::size_t trailer_bytes = 16;

std::uint64_t checksum_of(std::uint64_t header, std::uint64_t number, bytes_view payload) {
  std::uint64_t sum = splitmix64::mix(header ^ splitmix64::mix(number + payload.size()));
  while (!payload.empty()) {
    std::uint64_t word = 0;
    const std::size_t bytes = std::min(payload.size(), sizeof word);
    std::memcpy(&word, payload.data(), bytes);
    sum = splitmix64::mix(sum ^ word);
    payload = payload.subspan(bytes);
  }
  return sum;
}

capabilities with_trailer(capabilities caps) {
  caps.packet_bytes_max -= trailer_bytes;
  caps.inline_bytes_max -= std::min(caps.inline_bytes_max, trailer_bytes);
  caps.description += ", each call checked";
  hide_direct(caps);
  return caps;
}

bool aligned(const std::byte* data, std::size_t bytes) { return reinterpret_cast<std::uintptr_t>(data) % bytes == 0; }

bool same(const slot& a, const slot& b) { return a.data == b.data && a.capacity == b.capacity && a.id == b.id; }

}  // namespace

/// Sees every packet before the caller does.
class checked::inspector final : public sink {
 public:
  inspector(checked& own, sink& receiver) : own_(own), receiver_(receiver) {}

  disposition on_packet(const packet& arrived) noexcept override {
    ++count_;
    const packet without_trailer = own_.inspect(arrived);
    const disposition answer = receiver_.on_packet(without_trailer);
    if (answer == disposition::keep) {
      own_.kept_.emplace(arrived.token, arrived);
    } else {
      --own_.known(arrived.source).held;
    }
    return answer;
  }

  void on_done(std::uint64_t context) noexcept override {
    ++count_;
    if (!own_.memory_) own_.fabric_broke("poll", "an event of remote memory, which it has not");
    receiver_.on_done(own_.memory_->inspect_done(context));
  }

  void on_notify(std::uint32_t bits) noexcept override {
    ++count_;
    if (!own_.memory_) own_.fabric_broke("poll", "a notification of remote memory, which it has not");
    own_.memory_->inspect_notification();
    receiver_.on_notify(bits);
  }

  std::size_t count() const { return count_; }

 private:
  checked& own_;
  sink& receiver_;
  std::size_t count_ = 0;
};

checked::checked(fabric& inner_fabric) : decorator(inner_fabric) {
  const std::size_t bytes_max = inner().caps().packet_bytes_max;
  if (bytes_max < packet_bytes_guaranteed + trailer_bytes) {
    throw error("checked", rank(), fmt::format("packets of {} bytes leave no room for the checks", bytes_max),
                fmt::format("make them {} bytes or more, or turn AMITY_FABRIC_CHECKED off",
                            packet_bytes_guaranteed + trailer_bytes));
  }
  caps_ = with_trailer(inner().caps());
  outgoing_.resize(bytes_max);
  remote_memory* const below = inner().remote();
  if ((below != nullptr) != (caps_.remote.available || caps_.remote_on_node)) {
    fabric_broke("remote", "remote memory and the capabilities contradict each other");
  }
  if (below != nullptr) memory_.emplace(*this, *below);
}

checked::~checked() {
  if (ended_ || std::uncaught_exceptions() > 0) return;
  if (!slots_.empty()) {
    caller_broke("destructor", fmt::format("{} slots were acquired and never committed, one of them to rank {}",
                                           slots_.size(), slots_.begin()->second.dest));
  }
  if (!kept_.empty()) {
    caller_broke("destructor", fmt::format("{} packets were kept and never released, one of them from rank {}",
                                           kept_.size(), kept_.begin()->second.source));
  }
  if (memory_) memory_->check_end();
}

rank_t checked::node_of(rank_t rank) const noexcept {
  check_rank("node_of", rank);
  return inner().node_of(rank);
}

// Sending

status checked::try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept {
  enter("try_send");
  check_rank("try_send", dest);
  if (payload.size() > caps_.packet_bytes_max) {
    caller_broke("try_send", fmt::format("a payload of {} bytes to rank {}; a packet holds {}", payload.size(), dest,
                                         caps_.packet_bytes_max));
  }
  if (payload.data() == nullptr && !payload.empty()) caller_broke("try_send", "a payload at no address");
  if (!payload.empty()) std::memcpy(outgoing_.data(), payload.data(), payload.size());
  seal(dest, header, outgoing_.data(), payload.size());
  const status answer = inner().try_send(dest, header, {outgoing_.data(), payload.size() + trailer_bytes}, of);
  // The number of a refused packet goes to the next one.
  if (answer != status::ok) --known(dest).next_to_send;
  return answer;
}

status checked::acquire(rank_t dest, slot& out, claim of) noexcept {
  enter("acquire");
  check_rank("acquire", dest);
  const slot before = out;
  const status answer = inner().acquire(dest, out, of);
  if (answer != status::ok) {
    if (!same(before, out)) fabric_broke("acquire", "a refusal has changed the caller's slot");
    return answer;
  }
  if (out.capacity != inner().caps().packet_bytes_max) {
    fabric_broke("acquire",
                 fmt::format("a slot of {} bytes; packets have {}", out.capacity, inner().caps().packet_bytes_max));
  }
  if (out.data == nullptr || !aligned(out.data, cache_line_bytes)) {
    fabric_broke("acquire", "a slot that is not aligned to a cache line");
  }
  if (!slots_.try_emplace(out.data, acquired_slot{dest, out.id}).second) {
    fabric_broke("acquire", "a slot that has not been committed was handed out once more");
  }
  if (of != claim::ordinary) urgent_slot_ = out.data;
  const std::size_t open = ++known(dest).slots;
  const allowance most = allowance_to(dest);
  if (open > std::min(most.slots, most.packets) + static_cast<std::size_t>(of)) {
    fabric_broke("acquire", fmt::format("{} slots are open to rank {}, more than there are", open, dest));
  }
  out.capacity = static_cast<std::uint32_t>(caps_.packet_bytes_max);
  return answer;
}

void checked::commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept {
  enter("commit", filled.data);
  check_rank("commit", dest);
  const auto found = slots_.find(filled.data);
  if (found == slots_.end() || found->second.id != filled.id) {
    caller_broke("commit", "a slot that is not acquired, or has been committed already");
  }
  if (found->second.dest != dest) {
    caller_broke("commit",
                 fmt::format("a slot acquired for rank {} is committed to rank {}", found->second.dest, dest));
  }
  if (payload_bytes > caps_.packet_bytes_max) {
    caller_broke("commit", fmt::format("{} bytes in a slot of {}", payload_bytes, caps_.packet_bytes_max));
  }
  slots_.erase(found);
  --known(dest).slots;
  seal(dest, header, filled.data, payload_bytes);
  const slot whole{filled.data, static_cast<std::uint32_t>(inner().caps().packet_bytes_max), filled.id};
  inner().commit(dest, header, whole, payload_bytes + trailer_bytes);
}

void checked::seal(rank_t dest, std::uint64_t header, std::byte* payload, std::size_t payload_bytes) {
  const std::uint64_t number = known(dest).next_to_send++;
  const trailer end{number, checksum_of(header, number, {payload, payload_bytes})};
  static_assert(sizeof end == trailer_bytes);
  std::memcpy(payload + payload_bytes, &end, sizeof end);
}

// Receiving

std::size_t checked::poll(sink& receiver, std::size_t packets_max) {
  if (polling_) caller_broke("poll", "called from a sink");
  enter("poll");
  inspector between(*this, receiver);
  polling_ = true;
  const std::size_t handed = inner().poll(between, packets_max);
  polling_ = false;
  if (handed > packets_max || handed != between.count()) {
    fabric_broke("poll", fmt::format("says {} events, has handed over {}, was asked for at most {}", handed,
                                     between.count(), packets_max));
  }
  return handed;
}

packet checked::inspect(const packet& arrived) {
  check_rank("poll", arrived.source);
  const std::size_t bytes = arrived.payload.size();
  if (bytes < trailer_bytes || bytes > inner().caps().packet_bytes_max) {
    fabric_broke("poll", fmt::format("a packet of {} bytes from rank {}; each has 16 to {} here", bytes, arrived.source,
                                     inner().caps().packet_bytes_max));
  }
  if (!aligned(arrived.payload.data(), 16)) fabric_broke("poll", "a payload that is not aligned to 16 bytes");
  if (kept_.contains(arrived.token)) fabric_broke("poll", "two packets with one token");

  packet without_trailer = arrived;
  without_trailer.payload = arrived.payload.first(bytes - trailer_bytes);
  trailer end;
  std::memcpy(&end, arrived.payload.last(trailer_bytes).data(), sizeof end);
  if (end.checksum != checksum_of(arrived.header, end.number, without_trailer.payload)) {
    fabric_broke("poll", fmt::format("a packet from rank {} has changed on its way", arrived.source));
  }
  peer& from = known(arrived.source);
  check_order(from, arrived.source, end.number);
  // A fabric may count packets in slots apart from the others.
  const allowance most = allowance_to(arrived.source);
  if (++from.held > most.packets + most.slots + reserve_per_peer) {
    fabric_broke("poll", fmt::format("{} packets of rank {} are held, more than there are credits and slots", from.held,
                                     arrived.source));
  }
  return without_trailer;
}

void checked::check_order(peer& from, rank_t source, std::uint64_t number) {
  if (number < from.next_to_arrive || from.arrived_early.contains(number)) {
    fabric_broke("poll", fmt::format("packet {} from rank {} arrived twice", number, source));
  }
  if (number != from.next_to_arrive) {
    if (caps_.ordered) {
      fabric_broke("poll",
                   fmt::format("packet {} from rank {} arrived before packet {}", number, source, from.next_to_arrive));
    }
    from.arrived_early.insert(number);
    return;
  }
  ++from.next_to_arrive;
  while (from.arrived_early.erase(from.next_to_arrive) == 1) ++from.next_to_arrive;
}

void checked::release(std::uint64_t token) noexcept {
  enter("release");
  const auto found = kept_.find(token);
  if (found == kept_.end()) {
    caller_broke("release", fmt::format("token {:#x} names no packet that is kept", token));
  }
  const packet p = found->second;
  trailer end;
  std::memcpy(&end, p.payload.last(trailer_bytes).data(), sizeof end);
  if (end.checksum != checksum_of(p.header, end.number, p.payload.first(p.payload.size() - trailer_bytes))) {
    fabric_broke("release", fmt::format("a packet from rank {} has changed while it was kept", p.source));
  }
  kept_.erase(found);
  --known(p.source).held;
  inner().release(token);
}

// Waiting, and the end

template <class Act>
auto checked::wait_call(std::string_view call, Act&& act) {
  if (polling_) caller_broke(call, "called from a sink");
  enter(call);
  try {
    return act();
  } catch (...) {
    ended_ = true;
    throw;
  }
}

void checked::check() {
  wait_call("check", [this] { inner().check(); });
}

bool checked::ready() {
  return wait_call("ready", [this] { return inner().ready(); });
}

void checked::publish() {
  wait_call("publish", [this] { inner().publish(); });
}

alarm checked::arm() {
  if (armed_) caller_broke("arm", "called twice without disarm");
  const alarm by = wait_call("arm", [this] { return inner().arm(); });
  armed_ = true;
  return by;
}

void checked::disarm() noexcept {
  if (!std::exchange(armed_, false)) caller_broke("disarm", "called without arm");
  inner().disarm();
}

void checked::abort() noexcept {
  ended_ = true;
  inner().abort();
}

// The first call decides which thread the fabric belongs to: it may have been made elsewhere.
void checked::enter(std::string_view call, const std::byte* committed) {
  if (user_ == std::thread::id()) user_ = std::this_thread::get_id();
  if (user_ != std::this_thread::get_id()) caller_broke(call, "called from a second thread");
  const std::byte* const urgent = std::exchange(urgent_slot_, nullptr);
  if (urgent != nullptr && urgent != committed)
    caller_broke(call, "a slot that was claimed for a packet without an epoch is open; commit it first");
}

void checked::check_rank(std::string_view call, rank_t rank) const {
  if (rank < 0 || rank >= size()) caller_broke(call, fmt::format("rank {} of a job of {}", rank, size()));
}

void checked::caller_broke(std::string_view call, std::string_view problem) const {
  log_warning(rank(), fmt::format("the caller broke the fabric contract in {}: {}", call, problem));
  std::abort();
}

void checked::fabric_broke(std::string_view call, std::string_view problem) const {
  log_warning(rank(), fmt::format("the fabric {} broke its contract in {}: {}", caps_.name, call, problem));
  std::abort();
}

}  // namespace amity::fabric
