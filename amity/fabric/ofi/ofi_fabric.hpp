#pragma once

/// One lane's end of the fabric: it sends (sending.cpp), receives (receiving.cpp), and waits for its peers, from the
/// first greeting to the goodbye (waiting.cpp).
///
/// Here, as in the contract, a rank is one of the fabric: a lane. Only what people read names their process's rank.

#include <rdma/fabric.h>
#include <rdma/fi_eq.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "amity/base/assert.hpp"
#include "amity/base/clock.hpp"
#include "amity/base/error.hpp"
#include "amity/base/settings.hpp"
#include "amity/base/yielder.hpp"
#include "amity/fabric/bootstrap.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/ofi/bounded_queue.hpp"
#include "amity/fabric/ofi/gate.hpp"
#include "amity/fabric/ofi/greeting.hpp"
#include "amity/fabric/ofi/ofi.hpp"
#include "amity/fabric/ofi/port.hpp"
#include "amity/fabric/ofi/provider.hpp"
#include "amity/fabric/ofi/remote.hpp"
#include "amity/fabric/ofi/tcp_watch.hpp"

namespace amity::fabric::ofi {

/// Receive buffers a peer on top of its credits, for packets that need none.
inline constexpr std::size_t spare_buffers = 4;

/// Injected packets are put together on the stack.
inline constexpr std::size_t injected_bytes_max = 256;

/// The shortest sleep without a descriptor that ends it.
inline constexpr std::uint64_t nap_ns_min = 20'000;

/// How often a rank that sleeps looks whether the job still runs.
inline constexpr std::uint64_t look_round_ns = 100'000'000;

/// What the settings say.
struct sizes {
  std::size_t packet_bytes;
  std::size_t credits;  ///< with the reserve
  std::uint64_t peer_timeout_ns;
  std::uint64_t connect_timeout_ns;
  bool sealed;

  static sizes from(const settings& config);
};

capabilities capabilities_of(const library& fabrics, const fi_info& info, const sizes& given);

constexpr std::size_t to_index(rank_t rank) { return static_cast<std::size_t>(rank); }

/// An outgoing packet in a buffer of the sending arena.
struct outgoing {
  std::uint64_t header = 0;
  std::uint32_t bytes = 0;
  rank_t dest = no_rank;
  packet_kind kind = packet_kind::data;
  std::uint32_t released = 0;              ///< as its header says
  std::uint64_t sealed_number = unsealed;  ///< for which it was sealed; a packet that must wait is sealed once

  static constexpr std::uint64_t unsealed = ~std::uint64_t{0};
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
  /// Open: ready to receive before anybody knows the address.
  ofi_fabric(std::shared_ptr<bootstrap> start, const company& all, rank_t thread, reach whom, const sizes& given,
             const library& fabrics, const sodium& crypto, info_ptr info);
  ~ofi_fabric() override;

  std::string address() const { return port_.address(); }

  /// Once, by the thread that uses this from then on. Each pair of ranks that reach each other is connected before
  /// anybody sends data, by its lower rank: where both connect at the same time, providers may close the connection
  /// that has carried packets already. Collective. Throws `error`.
  void connect(const std::vector<std::string>& addresses);

  rank_t rank() const noexcept override { return rank_; }
  rank_t size() const noexcept override { return size_; }
  const capabilities& caps() const noexcept override { return caps_; }
  rank_t node_of(rank_t peer) const noexcept override { return company_.node_of[to_index(peer)]; }

  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept override;
  status acquire(rank_t dest, slot& out, claim of) noexcept override;
  void commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept override;

  void release(std::uint64_t token) noexcept override { release_buffer(static_cast<std::uint32_t>(token)); }
  std::size_t poll(sink& receiver, std::size_t events_max) override;

  remote_memory* remote() noexcept override { return remote_ ? &*remote_ : nullptr; }

  void check() override;
  bool ready() override;
  void publish() override;
  alarm arm() override;
  void disarm() noexcept override;

  std::uint64_t now_ns() const noexcept override { return steady_now_ns(); }
  void abort() noexcept override;

 private:
  struct peer_state {
    explicit peer_state(std::size_t slots) : free_slots(slots), backlog(slots) {}
    bounded_queue<std::uint32_t> free_slots;
    bounded_queue<std::uint32_t> backlog;  ///< committed, in order, and not taken by the provider yet
    std::size_t slots_used = 0;
    bool spare_is_busy = false;
    std::uint64_t unreachable_since_ns = 0;  ///< 0: the provider took the last packet that it was offered
    std::optional<claim> refused;            ///< and has had no credit since: the claim that is served soonest
    bool owes_credits = false;               ///< we do, and the provider had no room for it
    bool is_busy = false;                    ///< stands in `busy_`
  };

  peer_state& peer(rank_t rank) noexcept {
    AMITY_DEBUG_ASSERT(rank >= 0 && rank < size_, rank, size_);
    return peers_[to_index(rank)];
  }
  bool lost() const noexcept { return lost_.peer != no_rank; }
  rank_t own_rank() const noexcept { return company_.rank_of(rank_); }
  bool ended() const noexcept { return aborted_ || lost() || is_left_ || ends_job(fault_) || start_->aborted(); }

  // ---- connecting

  void meet_all();

  /// Greets the ranks above, and those below that have greeted. Returns one that has not been heard of.
  rank_t greet_peers() noexcept;
  [[noreturn]] void cannot_reach(rank_t peer, std::string_view reason);

  // ---- sending

  static status refused(peer_state& by, claim of) noexcept {
    by.refused = std::max(by.refused, std::optional(of));
    return status::again;
  }

  /// A slot of its own for what needs no credit and must be known to have been sent.
  std::uint32_t spare_slot(rank_t peer) const noexcept;
  void send_spare(rank_t dest, packet_kind kind) noexcept;
  std::uint32_t take_slot(peer_state& to) noexcept {
    const std::uint32_t index = to.free_slots.front();
    to.free_slots.pop();
    ++to.slots_used;
    return index;
  }
  void free_slot(std::uint32_t index) noexcept;
  void credit_came_back(rank_t from) noexcept;

  /// Sends a packet that the provider copies at once. False: it has no room now.
  bool inject(rank_t dest, packet_kind kind, std::uint64_t header, bytes_view payload) noexcept;
  /// Gives a filled slot to the provider. False: it has no room now.
  bool post(std::uint32_t index) noexcept;
  void send_or_queue(std::uint32_t index) noexcept;
  void mark_busy(rank_t dest) noexcept;

  /// Offers again what the provider had no room for.
  void send_backlogs() noexcept;
  void commit_to_self(std::uint64_t header, std::uint32_t index, std::size_t payload_bytes) noexcept;

  // ---- credits

  void release_buffer(std::uint32_t token) noexcept;
  void owe_credits(rank_t source) noexcept;
  /// True if the peer knows all its credits, or will.
  bool announce(rank_t source) noexcept;
  void announce_credits() noexcept;

  // ---- progress

  void post_receives() noexcept;
  void progress() noexcept;

  /// Beyond all contexts for what is none of them.
  std::size_t index_of(const void* context) const noexcept {
    if (context < contexts_.data() || context >= contexts_.data() + contexts_.size()) return contexts_.size();
    return static_cast<std::size_t>(static_cast<const fi_context2*>(context) - contexts_.data());
  }

  void take_completion(const fi_cq_data_entry& done) noexcept;
  void take_packet(std::uint32_t index, std::size_t bytes) noexcept;
  void take_failure() noexcept;
  void lose(rank_t peer, int reason, bool with_its_host = false) noexcept;

  // ---- waiting and ending

  /// Providers try for ever to connect anew to a process that is gone, and take no packet for it meanwhile. Where
  /// nothing else is under way that is no lack of room.
  void miss_the_unreachable(std::uint64_t now) noexcept;
  /// A rank that waits for long sends something to all: where a process is gone, the system answers in its place, and
  /// the connection breaks. Where a whole host is cut off nobody answers at all.
  void knock(std::uint64_t now) noexcept;

  /// Whether the caller has something to do.
  bool woken() noexcept;
  bool something_new() const noexcept { return credit_is_back_ || !arrived_.empty() || has_remote_events() || ended(); }
  bool has_remote_events() const noexcept { return remote_ && remote_->has_events(); }

  /// While the fabric starts and ends.
  void rest(std::uint64_t timeout_ns) noexcept;
  /// Whether the descriptor to sleep on is of use: some are readable all the time, as that of a broken connection.
  bool has_waker() const noexcept;
  std::uint64_t nap_ns_max() const noexcept;
  void check_job_ended();
  [[noreturn]] void end_by_loss();
  /// Names the failed ranks in error messages.
  std::string name_of_lost() const;
  [[noreturn]] void end_by_fault();
  /// Prints a fault that was not thrown yet, and aborts the job: for the end of a rank.
  void report_fault() noexcept;
  error fault_error() const;

  /// Leaves in good order: what was sent arrives before the connection closes, and nothing of the peers lies unread
  /// then, which would make the system throw away what they have not read yet.
  void say_goodbye() noexcept;
  /// Says goodbye to those who have not heard it, and tells whether all have answered.
  bool have_parted_from_all() noexcept;

  std::shared_ptr<bootstrap> start_;
  rank_t rank_;
  rank_t size_;
  sizes given_;
  company company_;
  std::vector<rank_t> reached_;  ///< in ascending order; this one is not among them
  capabilities caps_;
  yielder yielder_;
  std::uint64_t nap_ns_ = nap_ns_min;  ///< next sleep without a descriptor
  std::uint64_t armed_ns_ = 0;         ///< since when this rank sleeps on the descriptor; 0: it does not
  std::uint32_t false_alarms_ = 0;     ///< of the descriptor, since something has arrived

  std::size_t receive_count_;
  std::size_t send_count_;
  buffer_arena received_;
  buffer_arena sending_;
  std::vector<fi_context2> contexts_;  ///< by buffer: first those that receive, then those that send
  std::vector<rank_t> sources_;        ///< by buffer, of the packet in it
  std::vector<outgoing> outgoing_;     ///< by buffer that sends
  bounded_queue<std::uint32_t> unposted_;
  bounded_queue<arrival> arrived_;
  port port_;
  gate gate_;
  std::vector<fi_addr_t> addresses_;  ///< by rank; empty before `connect`
  tcp_watch watch_;
  std::vector<peer_state> peers_;  ///< by rank
  std::vector<rank_t> busy_;       ///< peers with something that the provider had no room for

  std::size_t posted_ = 0;  ///< packets that the provider sends from their slots now
  std::uint64_t last_knock_ns_ = steady_now_ns();
  int polls_since_progress_ = 0;
  bool credit_is_back_ = false;  ///< of a peer that had refused
  bool aborted_ = false;
  bool leaving_ = false;
  bool is_left_ = false;                   ///< by the launcher of this process
  admission fault_ = admission::admitted;  ///< of a packet that ends the job
  rank_t faulty_ = no_rank;                ///< its source
  std::uint64_t strange_events_ = 0;       ///< of the provider, that no operation of a rank explains
  bool remote_comes_first_ = false;
  loss lost_;
  std::optional<ofi::remote> remote_;
};

}  // namespace amity::fabric::ofi
