#include "amity/fabric/composite/composite.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/fabric/composite/composite_memory.hpp"
#include "amity/fabric/composite/network_turns.hpp"
#include "amity/fabric/neighbourhood.hpp"

namespace amity::fabric {
namespace {

/// In the token of a packet that has come over the network.
constexpr std::uint64_t network_mark = std::uint64_t{1} << 63;

backoff backoff_of(rank_t ranks_here, int cpus) {
  constexpr std::uint32_t pauses = 2;
  return ranks_here > cpus ? backoff{.looks = 20, .pauses = pauses, .yields = 20}
                           : backoff{.looks = 100, .pauses = pauses, .spin_ns = 100'000, .yields = 5};
}

/// Hands on what comes over the network: packets with its mark.
class marking final : public sink {
 public:
  explicit marking(sink& receiver) : receiver_(receiver) {}
  disposition on_packet(const packet& arrived) noexcept override {
    AMITY_DEBUG_ASSERT((arrived.token & network_mark) == 0, arrived.token);
    packet marked = arrived;
    marked.token |= network_mark;
    return receiver_.on_packet(marked);
  }
  void on_done(std::uint64_t context) noexcept override { receiver_.on_done(context); }
  void on_notify(std::uint32_t bits) noexcept override { receiver_.on_notify(bits); }

 private:
  sink& receiver_;
};

/// The board of the node, whose fabric numbers the ranks of the node alone.
class attention_of_node final : public attention_board {
 public:
  /// `board` may be null.
  attention_of_node(attention_board* board, const std::vector<rank_t>& local_rank_of)
      : board_(board), local_rank_of_(local_rank_of) {}

  void begin() noexcept override { board_->begin(); }
  bool end() noexcept override { return board_->end(); }
  bool engage(rank_t peer) noexcept override {
    const rank_t near = local_rank_of_[static_cast<std::size_t>(peer)];
    return near != no_rank && board_->engage(near);
  }
  void disengage(rank_t peer) noexcept override { board_->disengage(local_rank_of_[static_cast<std::size_t>(peer)]); }

 private:
  attention_board* board_;
  const std::vector<rank_t>& local_rank_of_;
};

class composite final : public fabric {
 public:
  composite(std::unique_ptr<fabric> local, std::unique_ptr<fabric> network, int cpus)
      : local_(std::move(local)),
        network_(std::move(network)),
        caps_(describe_composite(local_->caps(), network_->caps())),
        local_rank_of_(static_cast<std::size_t>(network_->size()), no_rank),
        attention_(local_->attention(), local_rank_of_) {
    caps_.backoff = backoff_of(local_->size(), cpus);
    std::vector<rank_t> node_of;
    for (rank_t rank = 0; rank < network_->size(); ++rank) node_of.push_back(network_->node_of(rank));
    const std::vector<rank_t> beside = ranks_beside(network_->rank(), node_of);
    AMITY_ASSERT(local_->size() == std::ssize(beside), local_->size(), beside.size());
    for (rank_t index = 0; const rank_t rank : beside) local_rank_of_[static_cast<std::size_t>(rank)] = index++;
    AMITY_ASSERT(local_rank(rank()) == local_->rank(), rank(), local_->rank());
    if (local_->remote() != nullptr)
      memory_.emplace(rank(), *local_->remote(), network_->remote(), local_rank_of_, turns_);
  }
  ~composite() override {
    if (std::uncaught_exceptions() > 0) abort();
  }

  rank_t rank() const noexcept override { return network_->rank(); }
  rank_t size() const noexcept override { return network_->size(); }
  const capabilities& caps() const noexcept override { return caps_; }
  rank_t node_of(rank_t peer) const noexcept override { return network_->node_of(peer); }
  allowance allowance_to(rank_t peer) const noexcept override {
    const rank_t near = local_rank(peer);
    return near != no_rank ? local_->allowance_to(near) : network_->allowance_to(peer);
  }

  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept override {
    const rank_t near = local_rank(dest);
    if (near != no_rank) return local_->try_send(near, header, payload, of);
    turns_.expect();
    return network_->try_send(dest, header, payload, of);
  }

  status acquire(rank_t dest, slot& out, claim of) noexcept override {
    const rank_t near = local_rank(dest);
    if (near == no_rank) turns_.expect();
    const status taken = near != no_rank ? local_->acquire(near, out, of) : network_->acquire(dest, out, of);
    if (taken == status::ok) out.capacity = static_cast<std::uint32_t>(caps_.packet_bytes_max);
    return taken;
  }

  void commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept override {
    const rank_t near = local_rank(dest);
    if (near != no_rank) return local_->commit(near, header, filled, payload_bytes);
    turns_.expect();
    network_->commit(dest, header, filled, payload_bytes);
  }

  void release(std::uint64_t token) noexcept override {
    if ((token & network_mark) == 0) return local_->release(token);
    network_->release(token & ~network_mark);
  }

  std::size_t poll(sink& receiver, std::size_t packets_max) override {
    if (packets_max == 0) return 0;
    const std::size_t found = turns_.is_due() ? poll_both(receiver, packets_max) : local_->poll(receiver, packets_max);
    local_looks_ = 0;
    is_waiting_ = false;
    turns_.handed_over(found);
    return found;
  }

  remote_memory* remote() noexcept override { return memory_ ? &*memory_ : nullptr; }

  void check() override {
    passing_on_the_end([this] { local_->check(); });
    passing_on_the_end([this] { network_->check(); });
    if (!is_waiting_) turns_.ask_clock_next();
  }

  bool ready() override {
    is_waiting_ = true;
    if (local_->ready()) return true;
    // A peer of the node answers so soon that even one look at the network would take longer.
    if (local_looks_ < caps_.backoff.looks) {
      ++local_looks_;
      return false;
    }
    if (!network_->ready()) return false;
    turns_.look_next();
    return true;
  }

  void publish() override {
    local_->publish();
    network_->publish();
  }

  alarm arm() override {
    local_looks_ = caps_.backoff.looks;
    const alarm near = passing_on_the_end([this] { return local_->arm(); });
    try {
      const alarm far = passing_on_the_end([this] { return network_->arm(); });
      AMITY_ASSERT(near.word == nullptr && far.word == nullptr);
      return {.descriptors = {near.descriptors[0], far.descriptors[0], -1},
              .sleep_ns_max = std::min(near.sleep_ns_max, far.sleep_ns_max)};
    } catch (...) {
      local_->disarm();
      throw;
    }
  }

  void disarm() noexcept override {
    network_->disarm();
    local_->disarm();
    turns_.look_next();
  }

  attention_board* attention() noexcept override { return local_->attention() != nullptr ? &attention_ : nullptr; }

  std::uint64_t now_ns() const noexcept override { return local_->now_ns(); }

  void abort() noexcept override {
    local_->abort();
    network_->abort();
  }

 private:
  rank_t local_rank(rank_t rank) const noexcept {
    AMITY_DEBUG_ASSERT(rank >= 0 && rank < size(), rank, size());
    return local_rank_of_[static_cast<std::size_t>(rank)];
  }

  /// They take turns to be first, so that neither of them shuts out the other.
  std::size_t poll_both(sink& receiver, std::size_t packets_max) {
    network_first_ = !network_first_;
    const std::size_t first =
        network_first_ ? poll_network(receiver, packets_max) : local_->poll(receiver, packets_max);
    if (first == packets_max) return first;
    return first +
           (network_first_ ? local_->poll(receiver, packets_max - first) : poll_network(receiver, packets_max - first));
  }

  std::size_t poll_network(sink& receiver, std::size_t packets_max) {
    marking marked(receiver);
    network_turns::look now(turns_);
    const std::size_t found = network_->poll(marked, packets_max);
    now.found(found > 0);
    return found;
  }

  /// Whoever learns by one fabric that the job has ended tells the peers that are reached by the other.
  template <class Act>
  std::invoke_result_t<Act> passing_on_the_end(Act&& act) try {
    return act();
  } catch (...) {
    abort();
    throw;
  }
  std::unique_ptr<fabric> local_;
  std::unique_ptr<fabric> network_;
  capabilities caps_;
  std::vector<rank_t> local_rank_of_;  ///< by rank; `no_rank`: on another node
  attention_of_node attention_;
  network_turns turns_;
  std::optional<composite_memory> memory_;
  std::uint32_t local_looks_ = 0;  ///< without an event, since the last poll
  bool is_waiting_ = false;        ///< `ready` was asked since the last poll; otherwise the program polls
  bool network_first_ = false;
};

class composite_lanes final : public lanes {
 public:
  composite_lanes(std::unique_ptr<lanes> local, std::unique_ptr<lanes> network, int cpus)
      : local_(std::move(local)), network_(std::move(network)), cpus_(cpus) {
    AMITY_ASSERT(local_->count() == network_->count(), local_->count(), network_->count());
  }

  rank_t count() const noexcept override { return network_->count(); }
  std::unique_ptr<fabric> enter(rank_t thread) override {
    auto local = local_->enter(thread);
    return std::make_unique<composite>(std::move(local), network_->enter(thread), cpus_);
  }
  void abort() noexcept override {
    local_->abort();
    network_->abort();
  }

 private:
  std::unique_ptr<lanes> local_;
  std::unique_ptr<lanes> network_;
  int cpus_;
};

}  // namespace

capabilities describe_composite(const capabilities& local, const capabilities& network) {
  // Segments are the node's memory. Its ranks apply atomics there themselves, which the network's would not see.
  const bool has_memory = local.remote.available;
  remote_capabilities across = has_memory ? network.remote : remote_capabilities{};
  across.atomics = false;
  return {.name = "composite",
          .description = fmt::format("{} on the node, {} across: {}", local.name, network.name, network.description),
          .packet_bytes_max = std::min(local.packet_bytes_max, network.packet_bytes_max),
          .inline_bytes_max = std::min(local.inline_bytes_max, network.inline_bytes_max),
          .credits_per_peer = std::min(local.credits_per_peer, network.credits_per_peer),
          .slots_per_peer = std::min(local.slots_per_peer, network.slots_per_peer),
          .bytes_per_peer = std::max(local.bytes_per_peer, network.bytes_per_peer),
          .ordered = local.ordered && network.ordered,
          .virtual_time = false,
          .remote = across,
          .remote_on_node = has_memory ? std::optional(local.remote) : std::nullopt};
}

std::unique_ptr<lanes> make_composite(std::unique_ptr<lanes> local, std::unique_ptr<lanes> network, int cpus) {
  return std::make_unique<composite_lanes>(std::move(local), std::move(network), cpus);
}

}  // namespace amity::fabric
