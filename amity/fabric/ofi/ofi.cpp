#include "amity/fabric/ofi/ofi.hpp"

#include <rdma/fi_errno.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/clock.hpp"
#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/fabric/ofi/bounded_queue.hpp"
#include "amity/fabric/ofi/gate.hpp"
#include "amity/fabric/ofi/greeting.hpp"
#include "amity/fabric/ofi/port.hpp"
#include "amity/fabric/ofi/provider.hpp"
#include "amity/fabric/ofi/remote.hpp"
#include "amity/fabric/ofi/tcp_watch.hpp"

namespace amity::fabric::ofi {
namespace {

constexpr std::size_t header_bytes = sizeof(wire_header);

/// Receive buffers a peer on top of its credits, for packets that need none.
constexpr std::size_t spare_buffers = 4;

/// Injected packets are put together on the stack.
constexpr std::size_t injected_bytes_max = 256;

/// The shortest sleep without a descriptor that ends it.
constexpr long nap_ns_min = 20'000;

/// How often a rank that sleeps looks whether the job still runs.
constexpr std::uint64_t look_round_ns = 100'000'000;

/// How long a rank that has nothing to do looks and yields before it sleeps.
struct patience {
  std::uint64_t spin_ns;
  int yields;

  static patience of(rank_t ranks_here) {
    cpu_set_t set;
    const int cpus = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    const bool crowded = ranks_here > cpus && ranks_here > 1;
    return crowded ? patience{.spin_ns = 0, .yields = 20} : patience{.spin_ns = 200'000, .yields = 5};
  }
};

struct sizes {
  std::size_t packet_bytes;
  std::size_t credits;
  std::uint64_t peer_timeout_ns;
  std::uint64_t connect_timeout_ns;

  static sizes from(const settings& config) {
    const auto ns = [&](const char* setting) {
      return static_cast<std::uint64_t>(config.integer(setting)) * 1'000'000'000;
    };
    return {.packet_bytes = static_cast<std::size_t>(config.integer("AMITY_OFI_PACKET_BYTES")),
            .credits = static_cast<std::size_t>(config.integer("AMITY_OFI_CREDITS")),
            .peer_timeout_ns = ns("AMITY_OFI_PEER_SECONDS"),
            .connect_timeout_ns = ns("AMITY_OFI_CONNECT_SECONDS")};
  }
};

std::size_t inline_bytes(const fi_info& info) {
  return std::min(info.tx_attr->inject_size, injected_bytes_max) - header_bytes;
}

capabilities capabilities_of(const library& fabrics, const fi_info& info, const sizes& given) {
  const std::size_t buffer_bytes = cache_line_bytes + given.packet_bytes;
  return {.name = "ofi",
          .description = fmt::format("libfabric {}.{}, provider {}", FI_MAJOR(fabrics.version()),
                                     FI_MINOR(fabrics.version()), name_of(info)),
          .packet_bytes_max = given.packet_bytes,
          .inline_bytes_max = inline_bytes(info),
          .credits_per_peer = given.credits,
          .slots_per_peer = given.credits,
          .bytes_per_peer = (2 * given.credits + spare_buffers) * buffer_bytes,
          .ordered = true,
          .virtual_time = false,
          .remote = remote_capabilities_of(info)};
}

std::size_t to_index(rank_t rank) { return static_cast<std::size_t>(rank); }

/// An outgoing packet in a buffer of the sending arena.
struct outgoing {
  std::uint64_t header = 0;
  std::uint32_t bytes = 0;
  rank_t dest = no_rank;
  packet_kind kind = packet_kind::data;
};

/// An admitted packet that waits to be polled. Its buffer is its token.
struct arrival {
  std::uint64_t header;
  bytes_view payload;
  rank_t source;
  std::uint32_t token;
};

class ofi_fabric final : public fabric {
 public:
  ofi_fabric(std::shared_ptr<bootstrap> start, company all, const sizes& given, const library& fabrics, info_ptr info)
      : start_(std::move(start)),
        rank_(start_->rank()),
        size_(start_->size()),
        given_(given),
        company_(std::move(all)),
        caps_(capabilities_of(fabrics, *info, given)),
        patience_(
            patience::of(static_cast<rank_t>(std::ranges::count(company_.node_of, company_.node_of[to_index(rank_)])))),
        receive_count_((given.credits + spare_buffers) * to_index(size_)),
        send_count_((given.credits + 1) * to_index(size_)),
        received_(receive_count_, given.packet_bytes),
        sending_(send_count_, given.packet_bytes),
        contexts_(receive_count_ + send_count_),
        sources_(receive_count_ + send_count_, no_rank),
        outgoing_(send_count_),
        unposted_(receive_count_),
        arrived_(receive_count_ + given.credits),
        library_(fabrics),
        port_(fabrics, std::move(info), receive_count_ + send_count_, rank_),
        gate_({.key = company_.key,
               .rank = rank_,
               .size = size_,
               .packet_bytes_max = given.packet_bytes,
               .credits = static_cast<std::uint32_t>(given.credits)}) {
    port_.register_if_needed(received_, FI_RECV);
    port_.register_if_needed(sending_, FI_SEND);
    for (rank_t peer = 0; peer < size_; ++peer) peers_.emplace_back(given.credits + 1);
    for (rank_t peer = 0; peer < size_; ++peer) {
      for (std::uint32_t i = 0; i < given.credits; ++i)
        peers_[to_index(peer)].free_slots.push(spare_slot(peer) - i - 1);
    }
    busy_.reserve(to_index(size_));
    // Ready to receive before anybody knows the address.
    for (std::uint32_t i = 0; i < receive_count_; ++i) unposted_.push(i);
    post_receives();
    const std::vector<std::string> addresses = start_->all_gather(port_.address());
    addresses_ = port_.insert(addresses);
    if (caps_.remote.available) {
      remote_.emplace(port_, company_.key, rank_, addresses_, lost_);
      caps_.remote.atomics = caps_.remote.atomics && remote_->has_atomics();
    }
    connect();
    watch_ = tcp_watch(port_.info().addr_format, addresses, rank_);
  }

  ~ofi_fabric() override {
    if (std::uncaught_exceptions() > 0) abort();
    if (!ended()) say_goodbye();
    const std::uint64_t strange = gate_.refused() + (remote_ ? remote_->notifications_refused() : 0);
    if (strange > 0) {
      log_warning(rank_, fmt::format("{} packets of strangers, or altered on the way, were refused", strange));
    }
    port_.close();
    remote_.reset();
    received_.unregister();
    sending_.unregister();
  }

  rank_t rank() const noexcept override { return rank_; }
  rank_t size() const noexcept override { return size_; }
  const capabilities& caps() const noexcept override { return caps_; }
  rank_t node_of(rank_t peer) const noexcept override { return company_.node_of[to_index(peer)]; }

  status try_send(rank_t dest, std::uint64_t header, bytes_view payload) noexcept override {
    peer_state& to = peer(dest);
    if (gate_.credits_left(dest) == 0) return refused(to);
    if (payload.size() <= caps_.inline_bytes_max && dest != rank_ && to.backlog.empty() &&
        inject(dest, packet_kind::data, header, payload)) {
      ++gate_.with(dest).data_out;
      return status::ok;
    }
    slot filled;
    if (acquire(dest, filled) != status::ok) return status::again;
    if (!payload.empty()) std::memcpy(filled.data, payload.data(), payload.size());
    commit(dest, header, filled, payload.size());
    return status::ok;
  }

  status acquire(rank_t dest, slot& out) noexcept override {
    peer_state& to = peer(dest);
    if (gate_.credits_left(dest) == 0 || to.slots_used == given_.credits) return refused(to);
    const std::uint32_t index = take_slot(to);
    ++gate_.with(dest).data_out;
    out = {.data = sending_.payload(index), .capacity = static_cast<std::uint32_t>(given_.packet_bytes), .id = index};
    return status::ok;
  }

  void commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept override {
    if (dest == rank_) return commit_to_self(header, filled.id, payload_bytes);
    outgoing_[filled.id] = {
        .header = header, .bytes = static_cast<std::uint32_t>(payload_bytes), .dest = dest, .kind = packet_kind::data};
    send_or_queue(filled.id);
  }

  void release(std::uint64_t token) noexcept override { release_buffer(static_cast<std::uint32_t>(token)); }

  std::size_t poll(sink& receiver, std::size_t events_max) override {
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
      if (receiver.on_packet(shown) == disposition::release) release_buffer(next.token);
    }
    // A rank that always finds packets must also see its own sends complete.
    if (handed_over > 0 && ++polls_since_progress_ >= 8) progress();
    return handed_over;
  }

  remote_memory* remote() noexcept override { return remote_ ? &*remote_ : nullptr; }

  void wait(std::uint64_t timeout_ns) override {
    look_for_the_end();
    if (timeout_ns == 0) return;
    if (woken()) return;
    if (remote_ && remote_->was_refused()) {
      // The provider does not say when it has room again.
      progress();
      ::sched_yield();
      return;
    }
    const std::uint64_t begin_ns = steady_now_ns();
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
      ::sched_yield();
    }
    const std::uint64_t passed_ns = steady_now_ns() - begin_ns;
    if (passed_ns < timeout_ns) sleep(std::min(timeout_ns - passed_ns, look_round_ns));
    look_for_the_end();
  }

  bool ready() override {
    progress();
    return woken();
  }

  alarm set_alarm() override {
    look_for_the_end();
    announce_credits();
    knock(steady_now_ns());
    // Sends that the provider has refused announce themselves by no event.
    const std::uint64_t look_again_ns = busy_.empty() ? look_round_ns : 1'000'000;
    if (port_.wait_descriptor() < 0) return {};
    return {.descriptor = port_.wait_descriptor(), .look_again_ns = port_.may_sleep() ? look_again_ns : 0};
  }

  std::uint64_t now_ns() const noexcept override { return steady_now_ns(); }

  void abort() noexcept override {
    if (aborted_) return;
    aborted_ = true;
    start_->abort();
    // Whoever has not heard of it yet; a peer that takes nothing now learns it in another way.
    for (rank_t peer = 0; peer < size_; ++peer) {
      if (peer != rank_) static_cast<void>(inject(peer, packet_kind::abort, 0, {}));
    }
    if (!lost()) progress();
  }

 private:
  struct peer_state {
    explicit peer_state(std::size_t slots) : free_slots(slots), backlog(slots) {}
    bounded_queue<std::uint32_t> free_slots;
    bounded_queue<std::uint32_t> backlog;  ///< committed, in order, and not taken by the provider yet
    std::size_t slots_used = 0;
    bool spare_is_busy = false;
    std::uint64_t unreachable_since_ns = 0;  ///< 0: the provider took the last packet that it was offered
    bool refused = false;                    ///< and has had no credit since
    bool owes_credits = false;               ///< we do, and the provider had no room for it
    bool is_busy = false;                    ///< stands in `busy_`
    bool has_left = false;                   ///< has said goodbye, or cannot be reached any more
    bool heard_goodbye = false;              ///< ours
  };

  peer_state& peer(rank_t rank) noexcept {
    AMITY_DEBUG_ASSERT(rank >= 0 && rank < size_, rank, size_);
    return peers_[to_index(rank)];
  }
  bool lost() const noexcept { return lost_.peer != no_rank; }
  bool ended() const noexcept { return aborted_ || lost() || start_->aborted(); }

  // ---- connecting

  /// Each pair of ranks is connected before anybody sends data, by its lower rank: where both connect at the same time,
  /// providers may close the connection that has carried packets already.
  void connect() {
    const std::uint64_t begin_ns = steady_now_ns();
    for (rank_t silent = 0; (silent = greet_peers()) != no_rank; sleep(1'000'000)) {
      progress();
      if (aborted_ || start_->aborted()) return;  // the first wait will say so
      if (lost()) cannot_reach(lost_.peer, library_.strerror(lost_.reason));
      if (steady_now_ns() - begin_ns > given_.connect_timeout_ns) {
        cannot_reach(silent, "no answer within AMITY_OFI_CONNECT_SECONDS");
      }
    }
  }

  /// Greets the ranks above, and those below that have greeted. Returns one that has not been heard of.
  rank_t greet_peers() noexcept {
    rank_t silent = no_rank;
    for (rank_t peer = 0; peer < size_; ++peer) {
      if (peer == rank_) continue;
      const flow& traffic = gate_.with(peer);
      if (traffic.next_in == 0) silent = peer;
      if ((peer > rank_ || traffic.next_in > 0) && traffic.next_out == 0 && !peers_[to_index(peer)].spare_is_busy) {
        send_spare(peer, packet_kind::credits);
      }
    }
    return silent;
  }

  [[noreturn]] void cannot_reach(rank_t peer, std::string_view reason) {
    abort();
    throw error(
        "AMITY_FABRIC=ofi", rank_,
        fmt::format("rank {} at {} cannot be reached: {}", peer, port_.text_of(addresses_[to_index(peer)]), reason),
        "let the hosts reach each other's ports, or name each host's address in the right network by "
        "AMITY_OFI_ADDRESS");
  }

  // ---- sending

  static status refused(peer_state& by) noexcept {
    by.refused = true;
    return status::again;
  }

  /// A slot of its own for what needs no credit and must be known to have been sent.
  std::uint32_t spare_slot(rank_t peer) const noexcept {
    return static_cast<std::uint32_t>(to_index(peer) * (given_.credits + 1) + given_.credits);
  }

  void send_spare(rank_t dest, packet_kind kind) noexcept {
    const std::uint32_t index = spare_slot(dest);
    peer(dest).spare_is_busy = true;
    outgoing_[index] = {.header = 0, .bytes = 0, .dest = dest, .kind = kind};
    send_or_queue(index);
  }

  std::uint32_t take_slot(peer_state& to) noexcept {
    const std::uint32_t index = to.free_slots.front();
    to.free_slots.pop();
    ++to.slots_used;
    return index;
  }

  void free_slot(std::uint32_t index) noexcept {
    const auto owner = static_cast<rank_t>(index / (given_.credits + 1));
    peer_state& to = peer(owner);
    if (index == spare_slot(owner)) {
      to.spare_is_busy = false;
      return;
    }
    to.free_slots.push(index);
    --to.slots_used;
    credit_came_back(owner);
  }

  void credit_came_back(rank_t from) noexcept {
    peer_state& to = peer(from);
    if (!to.refused || gate_.credits_left(from) == 0 || to.slots_used == given_.credits) return;
    to.refused = false;
    credit_is_back_ = true;
  }

  /// Sends a packet that the provider copies at once. False: it has no room now.
  bool inject(rank_t dest, packet_kind kind, std::uint64_t header, bytes_view payload) noexcept {
    alignas(16) std::array<std::byte, injected_bytes_max> bytes;
    const wire_header made = gate_.make(dest, kind, header, payload.size());
    std::memcpy(bytes.data(), &made, sizeof made);
    if (!payload.empty()) std::memcpy(bytes.data() + sizeof made, payload.data(), payload.size());
    const ssize_t status =
        fi_inject(port_.endpoint(), bytes.data(), sizeof made + payload.size(), addresses_[to_index(dest)]);
    if (status == -FI_EAGAIN) return false;
    if (status != 0) lose(dest, static_cast<int>(-status));
    gate_.sent(dest, made);
    return true;
  }

  /// Gives a filled slot to the provider. False: it has no room now.
  bool post(std::uint32_t index) noexcept {
    const outgoing& packet = outgoing_[index];
    const wire_header made = gate_.make(packet.dest, packet.kind, packet.header, packet.bytes);
    std::byte* const wire = sending_.wire(index);
    std::memcpy(wire, &made, sizeof made);
    const std::size_t bytes = sizeof made + packet.bytes;
    const fi_addr_t to = addresses_[to_index(packet.dest)];
    const bool injected = bytes <= port_.info().tx_attr->inject_size && packet.kind == packet_kind::data;
    const ssize_t status = injected ? fi_inject(port_.endpoint(), wire, bytes, to)
                                    : fi_send(port_.endpoint(), wire, bytes, sending_.descriptor(), to,
                                              &contexts_[receive_count_ + index]);
    if (status == -FI_EAGAIN) return false;
    if (status != 0) lose(packet.dest, static_cast<int>(-status));
    gate_.sent(packet.dest, made);
    if (injected || status != 0) {
      free_slot(index);
    } else {
      ++posted_;
    }
    peer(packet.dest).unreachable_since_ns = 0;
    return true;
  }

  void send_or_queue(std::uint32_t index) noexcept {
    peer_state& to = peer(outgoing_[index].dest);
    if (to.backlog.empty() && post(index)) return;
    to.backlog.push(index);
    mark_busy(outgoing_[index].dest);
  }

  void mark_busy(rank_t dest) noexcept {
    peer_state& to = peer(dest);
    if (to.is_busy) return;
    to.is_busy = true;
    busy_.push_back(dest);
  }

  /// Offers again what the provider had no room for.
  void send_backlogs() noexcept {
    std::erase_if(busy_, [this](rank_t dest) {
      peer_state& to = peer(dest);
      while (!to.backlog.empty() && post(to.backlog.front())) to.backlog.pop();
      if (!to.backlog.empty()) return false;
      if (to.owes_credits && !announce(dest)) return false;
      to.is_busy = false;
      return true;
    });
  }

  void commit_to_self(std::uint64_t header, std::uint32_t index, std::size_t payload_bytes) noexcept {
    const auto token = static_cast<std::uint32_t>(receive_count_ + index);
    sources_[token] = rank_;
    arrived_.push(
        {.header = header, .payload = {sending_.payload(index), payload_bytes}, .source = rank_, .token = token});
  }

  // ---- credits

  void release_buffer(std::uint32_t token) noexcept {
    const rank_t source = sources_[token];
    flow& from = gate_.with(source);
    if (source == rank_) {
      ++from.released_out;
      free_slot(token - static_cast<std::uint32_t>(receive_count_));
      return;
    }
    ++from.released_in;
    unposted_.push(token);
    post_receives();
    if (from.released_in - from.announced >= std::max<std::size_t>(given_.credits / 2, 1)) owe_credits(source);
  }

  void owe_credits(rank_t source) noexcept {
    peer_state& to = peer(source);
    if (to.has_left) return;
    if (to.backlog.empty() && announce(source)) return;
    to.owes_credits = true;
    mark_busy(source);
  }

  /// True if the peer knows all its credits, or will.
  bool announce(rank_t source) noexcept {
    const flow& from = gate_.with(source);
    peer(source).owes_credits = from.announced != from.released_in && !inject(source, packet_kind::credits, 0, {});
    return !peer(source).owes_credits;
  }

  void announce_credits() noexcept {
    for (rank_t source = 0; source < size_; ++source) {
      const flow& from = gate_.with(source);
      if (source != rank_ && from.announced != from.released_in) owe_credits(source);
    }
  }

  // ---- progress

  void post_receives() noexcept {
    while (!unposted_.empty()) {
      const std::uint32_t index = unposted_.front();
      const ssize_t status = fi_recv(port_.endpoint(), received_.wire(index), header_bytes + given_.packet_bytes,
                                     received_.descriptor(), FI_ADDR_UNSPEC, &contexts_[index]);
      // A provider that refuses one has enough of them until some complete.
      if (status == -FI_EAGAIN) return;
      AMITY_ASSERT(status == 0, status);
      unposted_.pop();
    }
  }

  void progress() noexcept {
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

  /// Beyond all contexts for what is none of them.
  std::size_t index_of(const void* context) const noexcept {
    if (context < contexts_.data() || context >= contexts_.data() + contexts_.size()) return contexts_.size();
    return static_cast<std::size_t>(static_cast<const fi_context2*>(context) - contexts_.data());
  }

  void take_completion(const fi_cq_data_entry& done) noexcept {
    if (remote_ && remote_->owns(done.op_context)) return remote_->take_completion(done.op_context);
    const std::size_t index = index_of(done.op_context);
    if (index >= contexts_.size()) {
      if (remote_ && (done.flags & FI_REMOTE_CQ_DATA) != 0) remote_->take_notification(done.data);
      return;
    }
    if (index >= receive_count_) {
      --posted_;
      return free_slot(static_cast<std::uint32_t>(index - receive_count_));
    }
    take_packet(static_cast<std::uint32_t>(index), done.len);
  }

  void take_packet(std::uint32_t index, std::size_t bytes) noexcept {
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
      if (found.kind == packet_kind::goodbye) peer(found.source).has_left = true;
    } else if (verdict == admission::lost) {
      packets_lost_ = true;
    }
    unposted_.push(index);
  }

  void take_failure() noexcept {
    fi_cq_err_entry failed{};
    if (fi_cq_readerr(port_.queue(), &failed, 0) < 0) return;
    if (remote_ && remote_->owns(failed.op_context)) return remote_->take_failure(failed.op_context, failed.err);
    const std::size_t index = index_of(failed.op_context);
    if (index >= contexts_.size()) return;
    if (index < receive_count_) {
      // Too long for a packet of ours, or cut off: a stranger's.
      unposted_.push(static_cast<std::uint32_t>(index));
      return;
    }
    const auto slot_index = static_cast<std::uint32_t>(index - receive_count_);
    const rank_t dest = outgoing_[slot_index].dest;
    --posted_;
    free_slot(slot_index);
    if (!peer(dest).has_left) lose(dest, failed.err);
    peer(dest).has_left = true;
  }

  void lose(rank_t peer, int reason) noexcept {
    if (lost() || leaving_) return;
    lost_ = {.peer = peer, .reason = reason};
  }

  // ---- waiting and ending

  /// Providers try for ever to connect anew to a process that is gone, and take no packet for it meanwhile. Where
  /// nothing else is under way that is no lack of room.
  void miss_the_unreachable(std::uint64_t now) noexcept {
    for (const rank_t dest : busy_) {
      peer_state& each = peer(dest);
      if (each.has_left) continue;
      if (each.unreachable_since_ns == 0) each.unreachable_since_ns = now;
      if (now - each.unreachable_since_ns > given_.peer_timeout_ns / 2) lose(dest, FI_ECONNREFUSED);
    }
  }

  /// A rank that waits for long sends something to all: where a process is gone, the system answers in its place, and
  /// the connection breaks. Where a whole host is cut off nobody answers at all.
  void knock(std::uint64_t now) noexcept {
    if (posted_ == 0) miss_the_unreachable(now);
    if (now - last_knock_ns_ < given_.peer_timeout_ns / 4) return;
    last_knock_ns_ = now;
    const rank_t silent = watch_.silent_for(given_.peer_timeout_ns / 2);
    if (silent != no_rank) lose(silent, FI_EHOSTUNREACH);
    for (rank_t dest = 0; dest < size_; ++dest) {
      const peer_state& each = peer(dest);
      if (dest != rank_ && !each.has_left && !each.spare_is_busy) {
        send_spare(dest, packet_kind::credits);
      }
    }
  }

  /// Whether the caller has something to do.
  bool woken() noexcept {
    const bool found = something_new();
    credit_is_back_ = false;
    return found;
  }
  bool something_new() const noexcept {
    return credit_is_back_ || !arrived_.empty() || has_remote_events() || ended() || packets_lost_;
  }
  bool has_remote_events() const noexcept { return remote_ && remote_->has_events(); }

  void sleep(std::uint64_t timeout_ns) noexcept {
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

  void look_for_the_end() {
    // First: ranks that end an aborted job take their connections with them.
    if (aborted_ || start_->aborted()) throw job_aborted("amity: another rank has ended the job");
    if (lost()) {
      const rank_t who = lost_.peer;
      abort();
      throw error("AMITY_FABRIC=ofi", rank_,
                  fmt::format("rank {} has vanished: {}", who, library_.strerror(lost_.reason)),
                  "see what it has printed, or what has become of its host");
    }
    if (packets_lost_) {
      abort();
      throw error("AMITY_FABRIC=ofi", rank_, "the provider has lost packets", "use another AMITY_OFI_PROVIDER");
    }
  }

  /// Leaves in good order: what was sent arrives before the connection closes, and nothing of the peers lies unread
  /// then, which would make the system throw away what they have not read yet.
  void say_goodbye() noexcept {
    const std::uint64_t begin_ns = steady_now_ns();
    leaving_ = true;
    while (!have_parted_from_all() && !ended() && steady_now_ns() - begin_ns < given_.peer_timeout_ns) {
      progress();
      while (!arrived_.empty()) arrived_.pop();
      if (!have_parted_from_all()) sleep(1'000'000);
    }
  }

  /// Says goodbye to those who have not heard it, and tells whether all have answered.
  bool have_parted_from_all() noexcept {
    bool all = true;
    for (rank_t dest = 0; dest < size_; ++dest) {
      if (dest == rank_) continue;
      peer_state& each = peer(dest);
      if (!each.heard_goodbye && !each.spare_is_busy) {
        each.heard_goodbye = true;
        send_spare(dest, packet_kind::goodbye);
      }
      all = all && each.heard_goodbye && each.has_left && each.slots_used == 0 && !each.spare_is_busy;
    }
    return all;
  }

  std::shared_ptr<bootstrap> start_;
  rank_t rank_;
  rank_t size_;
  sizes given_;
  company company_;
  capabilities caps_;
  patience patience_;

  std::size_t receive_count_;
  std::size_t send_count_;
  buffer_arena received_;
  buffer_arena sending_;
  std::vector<fi_context2> contexts_;  ///< by buffer: first those that receive, then those that send
  std::vector<rank_t> sources_;        ///< by buffer, of the packet in it
  std::vector<outgoing> outgoing_;     ///< by buffer that sends
  bounded_queue<std::uint32_t> unposted_;
  bounded_queue<arrival> arrived_;
  library library_;
  port port_;
  gate gate_;
  std::vector<fi_addr_t> addresses_;  ///< by rank
  tcp_watch watch_;
  std::vector<peer_state> peers_;  ///< by rank
  std::vector<rank_t> busy_;       ///< peers with something that the provider had no room for

  std::size_t posted_ = 0;  ///< packets that the provider sends from their slots now
  std::uint64_t last_knock_ns_ = steady_now_ns();
  int polls_since_progress_ = 0;
  bool credit_is_back_ = false;  ///< of a peer that had refused
  bool aborted_ = false;
  bool leaving_ = false;
  bool packets_lost_ = false;
  bool remote_comes_first_ = false;
  loss lost_;
  std::optional<ofi::remote> remote_;
};

/// The provider that rank 0 has found. Hosts need not find the same one first, and one does not understand another.
info_ptr agree_on_provider(const library& fabrics, provider_request wanted, bootstrap& start) {
  std::string why;
  info_ptr found = find_provider(fabrics, wanted, why);
  const std::string mine = found ? found->fabric_attr->prov_name : "";
  const std::string agreed = start.all_gather(mine).front();
  if (mine != agreed && !agreed.empty()) {
    wanted.provider = agreed;
    found = find_provider(fabrics, wanted, why);
    if (!found) why += ", which rank 0 uses";
  }
  if (found) return found;
  throw error("AMITY_FABRIC=ofi", start.rank(), why,
              "unset AMITY_OFI_PROVIDER and AMITY_OFI_ADDRESS, or name others (`fi_info -t FI_EP_RDM` lists them)");
}

}  // namespace

bool available() noexcept { return true; }

capabilities describe(const settings& config, rank_t) {
  std::string why;
  library fabrics;
  info_ptr found;
  if (fabrics.load(why)) found = find_provider(fabrics, provider_request::from(config, true), why);
  if (found) return capabilities_of(fabrics, *found, sizes::from(config));
  capabilities none;
  none.name = "ofi";
  none.description = why;
  return none;
}

std::unique_ptr<fabric> join(const settings& config, std::shared_ptr<bootstrap> start) {
  const sizes given = sizes::from(config);
  company all = greet(*start, fmt::format("AMITY_OFI_PACKET_BYTES={} AMITY_OFI_CREDITS={} AMITY_OFI_PROVIDER={}",
                                          given.packet_bytes, given.credits, config.text("AMITY_OFI_PROVIDER")));
  std::string why;
  library fabrics;
  if (!fabrics.load(why)) throw error("AMITY_FABRIC=ofi", start->rank(), why, "install libfabric (libfabric1)");
  info_ptr info = agree_on_provider(fabrics, provider_request::from(config, all.one_node()), *start);
  return std::make_unique<ofi_fabric>(std::move(start), std::move(all), given, fabrics, std::move(info));
}

}  // namespace amity::fabric::ofi
