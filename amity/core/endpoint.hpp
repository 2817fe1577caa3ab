#pragma once

/// The endpoint: the engine for active messages of one thread of a rank, over any fabric.
///
/// It numbers handlers, sends requests and replies, hands arrived packets to handlers, holds back what belongs to an
/// epoch that this rank has not begun, keeps what handlers cannot send yet, and keeps the ledger.
///
/// Promises:
/// - Handlers run on the thread that called into amity, one at a time; a handler never interrupts another one.
/// - A handler may send anything to any rank. Such a send never waits and never runs another handler.
/// - A send outside handlers may wait for a credit, and runs handlers while it does.
/// - No order between messages, not even of one pair of ranks. Every message is handled exactly once.
///
/// One thread at a time uses an endpoint: the thread that has made it, or with a serialized engine (engine.hpp) each
/// thread that is inside. A rank with several threads has an endpoint for each: these are lanes, of
/// which the fabric knows nothing but that they are its ranks. Lane l is thread l % threads of rank l / threads. What a
/// user names is a rank; what a packet is sent to is a lane.
///
/// `docs/contracts/core.md` has the states; design: docs/architecture.md.

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"
#include "amity/core/arguments.hpp"
#include "amity/core/collectives.hpp"
#include "amity/core/control.hpp"
#include "amity/core/engine.hpp"
#include "amity/core/flushable.hpp"
#include "amity/core/handler_tables.hpp"
#include "amity/core/ledger.hpp"
#include "amity/core/lent.hpp"
#include "amity/core/long_envelope.hpp"
#include "amity/core/message_counters.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/core/reassembly.hpp"
#include "amity/core/registry.hpp"
#include "amity/core/request.hpp"
#include "amity/core/stream.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

class counter_table;
class memory;
class prepared_long;
class rank_list;
class sub_fabric;

/// The label of a wait for the end of an epoch, for reports.
inline constexpr std::string_view wait_for_end_of_epoch = "the end of an epoch";

/// The lanes that a type of message goes to, by the index that its sends name.
struct destinations {
  rank_t count = 0;
  rank_t stride = 1;
  rank_t first = 0;

  rank_t lane(rank_t index) const noexcept { return index * stride + first; }
  /// The index of a lane; `no_rank` if none stands for it.
  rank_t index(rank_t lane) const noexcept {
    if (stride == 1) return lane - first;
    return lane % stride == first ? lane / stride : no_rank;
  }
};

class endpoint final : private immovable {
 public:
  /// The job's own world, with an engine of its own. `transport` must outlive the endpoint, and nobody else polls it.
  /// Each rank has as many `threads`.
  endpoint(fabric::fabric& transport, const settings& config, rank_t threads = 1,
           engine::threading how = engine::threading::owned);
  /// The world `number` of `members`, ranks of the job in the order of the new ones, on the same thread as `other`.
  endpoint(endpoint& other, world_number number, const rank_list& members, const settings& config);
  ~endpoint();

  /// What this world shares with the others of its rank on this thread.
  engine& own_engine() const noexcept { return *engine_; }

  rank_t rank() const noexcept { return rank_; }
  rank_t size() const noexcept { return size_; }  ///< ranks
  rank_t threads() const noexcept { return threads_; }
  rank_t thread() const noexcept { return lane_ - rank_ * threads_; }
  rank_t home_thread() const noexcept { return home_; }
  /// Threads that run the program: all but the progress thread.
  rank_t program_threads() const noexcept { return home_ == 0 ? threads_ : home_; }
  rank_t lane() const noexcept { return lane_; }
  rank_t lanes() const noexcept { return size_ * threads_; }
  rank_t rank_of(rank_t lane) const noexcept { return threads_ == 1 ? lane : lane / threads_; }
  /// The error for a packet of a lane that no rank sends which runs the same build.
  error invalid_packet(rank_t source, std::string_view content) const;
  rank_t lane_of(rank_t rank, rank_t thread) const noexcept { return rank * threads_ + thread; }

  /// Thread 0 of each rank; the thread that handles what no other one is asked to; this thread's like on each rank.
  destinations main_threads() const noexcept { return {.count = size_, .stride = threads_, .first = 0}; }
  destinations home_threads() const noexcept { return {.count = size_, .stride = threads_, .first = home_}; }
  destinations same_threads() const noexcept { return {.count = size_, .stride = threads_, .first = thread()}; }
  fabric::fabric& transport() noexcept { return fabric_; }
  /// The number of the world among those of the rank; 0: the job's own.
  world_number number() const noexcept { return number_; }
  /// The number in the job of a rank of this world.
  rank_t job_rank(rank_t rank) const noexcept;

  const ledger& counts() const noexcept { return ledger_; }
  const registry& handlers() const noexcept { return registry_; }

  // --- Handlers: the same calls in the same order on all ranks, outside handlers. ---
  // --- Throw `error` for a number that no handler has. ---

  /// Adds a handler `void(request&)`. `name` is what ranks compare and what messages to a person show. Where ranks have
  /// several threads, each of them needs it: `team::add_handler`.
  handler_id add_handler(std::string_view name, std::function<void(request&)> handler);
  /// Adds a handler of packets with many messages; `context` must outlive the registration.
  /// Ranks also compare the `definition`, with the next wave or barrier.
  handler_id add_handler(std::string_view name, deliver_function deliver, void* context,
                         std::string_view definition = {});
  void remove_handler(handler_id handler);
  /// From now on `open` makes the streams in which messages of this handler arrive (`send_stream`).
  void receive_streams(handler_id handler, stream_opener open) { registry_.set_stream(handler, open); }
  /// Packets of a handler with a higher priority are handled before those of a lower one that have arrived by then. All
  /// have 0 at first.
  void set_priority(handler_id handler, int priority);

  /// Counters of message types that have ended, for a report at the end of the job; null: nobody has asked for one.
  void set_counter_book(counter_book* book) noexcept { counter_book_ = book; }
  counter_book* ended_counters() const noexcept { return counter_book_; }
  /// From now on `table` knows the handlers of this endpoint, and of the endpoints of further worlds that share
  /// its fabric. Before any handler is added.
  void set_counter_table(counter_table& table) noexcept { counter_table_ = &table; }

  // --- Requests, to the thread of a rank that is home to its handlers: the progress thread (AMITY_PROGRESS_THREAD),
  // ---
  // --- or thread 0. Replies come to the thread that has asked. Legal in and outside handlers. ---
  // --- Throw `error` for a wrong rank, an unknown handler, too many args. ---
  // --- Outside handlers they may run handlers, which must leave the arguments and the payload as they are. ---

  /// Short: arguments only, at most `args_max` words; up to 6 of them are one cache line on fabrics with a short road.
  void request_short(rank_t dest, handler_id handler, arguments args = {});
  /// Medium: arguments and a payload of any size, copied before the call returns. What does not fit a packet travels
  /// in fragments, and is handed to the handler whole.
  void request_medium(rank_t dest, handler_id handler, bytes_view payload, arguments args = {});

  /// A medium request that is written where it is sent from: the buffer has room for `bytes_max`, or as many of them as
  /// a packet holds beside `args` arguments. Throws `error` where these are fewer than `bytes_min`. Outside handlers it
  /// may wait, and run handlers. `prepared.hpp` tells the rest.
  prepared_medium prepare_medium(rank_t dest, std::size_t bytes_min, std::size_t bytes_max, std::size_t args = 0);

  // --- Long requests: their payload goes to a segment (`memory`) of the target, in any world, and the handler runs
  // --- when it is in place. Throw `error` as above, for a place that is not in the segment, and for a segment of a
  // rank
  // --- that is not in this world. ---

  /// The memory of this thread, for all its worlds.
  core::memory& memory();
  /// Waits only if too many operations wait already, or for what handlers have sent; in handlers it does neither.
  /// `source_free` is signalled when the payload may change.
  void request_long(const remote_address& to, handler_id handler, bytes_view payload, arguments args,
                    event& source_free);
  /// Waits until the payload may change. Not in handlers.
  void request_long(const remote_address& to, handler_id handler, bytes_view payload, arguments args = {});
  /// A Long request that is written where it is sent from, or where it goes to: as `prepare_medium`, with space for
  /// `bytes_max`, or fewer where the segment ends or the runtime's memory is smaller.
  prepared_long prepare_long(const remote_address& to, std::size_t bytes_min, std::size_t bytes_max,
                             std::size_t args = 0);

  // --- Packets filled in place: used by coalesced messages. ---

  /// Opens a packet of at least `capacity` bytes (at most `packet_bytes_max()`) for a lane. False: no credit, call
  /// `make_room` and try again. Never false inside a handler: without a credit the packet lies in the outbox, and
  /// `error` is thrown if that has no space. `type` is of the messages, for that error.
  [[nodiscard]] bool try_open(rank_t lane, std::size_t capacity, std::string_view type, outgoing& out) {
    return try_open(lane, capacity, type, out, fabric::claim::ordinary);
  }
  /// Sends the first `bytes` of an open packet, which holds `messages` messages, and resets `out`. Runs no handler.
  void close(rank_t lane, handler_id handler, outgoing& out, std::size_t bytes, std::uint64_t messages);
  /// Sends `payload`, which holds `messages` messages, as a packet; without a credit it waits in the outbox. Runs no
  /// handler.
  void send_collected(rank_t lane, handler_id handler, bytes_view payload, std::uint64_t messages);
  /// Makes progress after a refused `try_open`. Illegal inside a handler.
  void make_room(rank_t lane);
  /// Sends one message as a packet of its own. False, and no handler has run, if that would have to wait, or if the
  /// message takes fragments.
  [[nodiscard]] bool try_send(rank_t lane, handler_id handler, bytes_view payload);
  /// Sends one message as a packet of its own, or in fragments. Handlers may run before `payload` has been read.
  void send(rank_t lane, handler_id handler, bytes_view payload) {
    send_parts(lane, header_for(handler, sending_epoch_), {}, payload);
  }
  /// Sends messages from where they lie, in packets of as many as fit. What finds no credit waits as a reference, in
  /// handlers too. An epoch does not end before. `buffer` has its items and its token. Outside handlers it may make
  /// progress, and waits while more than AMITY_CORE_SPILL_BYTES_HIGH_WATER bytes wait for credits.
  void send_lent(rank_t lane, handler_id handler, lent_buffer buffer);
  /// What the target of a stream gets: the pieces as they arrive (`receive_streams`), or the message as one packet.
  enum class stream_target { pieces, whole };
  /// Sends one message of `bytes` bytes, which `from` produces and the caller owns. No handler runs before all of them
  /// are produced. Outside handlers this call waits until the message has left. If that takes handlers, or in a handler
  /// without a credit, it copies the rest. In a handler, the outbox must have space for the whole message.
  void send_stream(rank_t lane, handler_id handler, outgoing_stream& from, std::uint64_t bytes, stream_target target);
  /// Like `send_stream`, to a target that gets the pieces, for a stream that owns what it reads: nothing is copied, and
  /// handlers run while this call waits. In a handler, the stream is kept until it has left.
  void send_owned_stream(rank_t lane, handler_id handler, std::unique_ptr<outgoing_stream> from, std::uint64_t bytes);

  std::size_t packet_bytes_max() const noexcept { return packet_bytes_max_; }

  void add_flushable(flushable& holder, bool in_every_round = false);
  void remove_flushable(flushable& holder);

  // --- Progress. Illegal inside handlers. ---

  /// Runs `run()`, which handles messages that this rank has sent to itself without a packet, and counts them as sent
  /// and handled. As for those in packets, it must not make progress, and what it throws ends the job.
  template <class Run>
  void handle_here(handler_id handler, std::uint64_t messages, Run&& run) {
    check_own_call("endpoint::handle_here");
    ledger_.sent(handler, lane_, messages, epoch_open());
    try {
      enter_handler(open_epoch_, color_);
      run();
    } catch (...) {
      leave_handler();
      note_failure(handler, lane_);
      fail(std::current_exception());
      throw;
    }
    leave_handler();
    ledger_.handled(handler, lane_, messages, epoch_open());
    engine_->wake_waiting_threads();
  }

  /// Calls `engine::progress`, with the rules for calls of an endpoint.
  bool progress() {
    check_own_call("endpoint::progress");
    return engine_->progress();
  }
  /// Calls `engine::wait_until` in this world, with the rules for calls of an endpoint.
  template <class Done, class OnIdle>
  void wait_until(std::string_view where, Done&& done, OnIdle&& on_idle) {
    check_own_call("endpoint::wait_until");
    engine_->wait_until(*this, where, done, on_idle);
  }
  template <class Done>
  void wait_until(std::string_view where, Done&& done) {
    wait_until(where, done, [] { return false; });
  }
  void fail(std::exception_ptr cause) noexcept { engine_->failure().set(std::move(cause)); }
  /// Events of this world so far: messages sent and handled, packets sent and received.
  std::uint64_t activity() const noexcept {
    const traffic& all = ledger_.total();
    return all.messages_sent + all.messages_handled + all.packets_sent - engine_->unsent().of_world(number_).packets +
           control_packets_;
  }

  // --- Collectives: all ranks, same order, outside handlers and epochs' bodies may call them too. ---

  void barrier();
  /// Reduces one word over all ranks; every rank gets the result.
  std::uint64_t reduce(reduction operation, std::uint64_t value);

  // --- Epochs: used by the floor above. ---

  /// From now on messages belong to the epoch `tag`; those of it that came too early are handled by `progress`. With a
  /// declared depth, packets carry their generation as their color, and handlers at that depth must not send.
  void open_epoch(epoch_tag tag, int depth = any_depth);
  /// The place of the epoch among the collectives of this rank: `begin_call` before `open_epoch`, `await_end_call`
  /// where the rank waits for the end. Both throw `error`, which ends the job, where ranks make calls in different
  /// order.
  void begin_call();
  void await_end_call();
  /// This rank, if it waits for the end of an epoch; and what a wave has reported about others that do.
  end_call awaited_end() const noexcept { return collectives_.order().awaited_end(); }
  void compare(const end_call& others);
  /// For threads other than thread 0, which alone calls collectives: it hears of epochs that other ranks have begun.
  void forward_rank_ahead();
  /// Nothing more is sent outside handlers: what is sent there from now on belongs to no epoch.
  void end_epoch_body() noexcept;
  /// Messages of the next epoch are held back from now on.
  void close_epoch();
  /// Whether this rank is between `open_epoch` and `close_epoch`.
  bool epoch_open() const noexcept { return open_epoch_ != no_epoch; }
  /// Who sends messages over other ranks says so for as long as it may: each of these makes them deeper, which the
  /// program that has declared a depth knows nothing of.
  void add_route() noexcept { ++routes_; }
  void remove_route() noexcept { --routes_; }
  bool has_routes() const noexcept { return routes_ > 0; }
  /// Whether what is sent now belongs to an epoch. A handler's sends belong to the epoch of the message that it
  /// handles, or to none if that did: an epoch could end between the two. Nor does what is sent outside handlers once
  /// the body has ended.
  bool in_epoch() const noexcept { return sending_epoch_ != no_epoch; }
  /// Whether a handler of any world of this rank runs.
  bool in_handler() const noexcept { return engine_->running().exists(); }

  /// Takes detector packets, and is told of newer colors; null: none.
  void set_control(control* listener) noexcept { control_ = listener; }
  void set_color(wave_color color) noexcept { color_ = color; }
  wave_color color() const noexcept { return color_; }
  /// Sends a packet of the runtime's own, at most `control_bytes_max`, now or as soon as there is a credit; never
  /// refused.
  void send_control(rank_t lane, packet_kind kind, bytes_view payload) noexcept;

  /// The thread `lane` of another rank has other handlers than this one: it receives these, and ends the job.
  void tell_handlers(rank_t lane);

  // --- For Long messages. ---

  /// The header of a request or reply to a lane, with the checks of requests.
  packet_header header_for_request(std::string_view call, rank_t lane, handler_id handler, std::size_t args) const {
    check_request(call, rank_of(lane), handler, args);
    return header_for(handler, sending_epoch_);
  }
  /// Where they are counted.
  ledger& own_counts() noexcept { return ledger_; }
  /// The lane in this world of a lane of the job; `no_rank` if it is not of a member.
  rank_t lane_in_world(rank_t lane) const noexcept { return number_ == 0 ? lane : lane_in_part(lane); }
  /// Runs the handler of a message whose parts have all arrived.
  void handle_whole(packet_header header, const inbound& message) {
    note_color(header);
    run_handler(header, message);
  }

  /// Whether all of them are out: a rank that leaves a collective operation earlier may leave others waiting.
  bool control_sent() const noexcept { return engine_->unsent().of_world(number_).control == 0; }

  /// Whether this rank holds nothing that could become a message: no packet and no buffer waits to be sent, no packet
  /// that has arrived waits for its handler, and no message is held back uncounted.
  bool quiet() const noexcept {
    return engine_->unsent().of_world(number_).packets == 0 && !engine_->not_due().holds(number_) && remote_quiet() &&
           !holds_uncounted();
  }
  /// Sends off all that the flushables of this world hold; true if there was anything.
  bool flush();
  /// Epochs that this rank has begun so far.
  std::uint64_t epochs_opened() const noexcept { return epochs_opened_; }

  // --- For the engine. ---

  /// A packet of this world has arrived, as the fabric hands it over.
  fabric::disposition on_packet(const fabric::packet& arrived) noexcept;
  /// As `on_packet`, for a packet that the inbox had, in the fabric's memory or copied.
  fabric::disposition on_due(const fabric::packet& arrived, bool copied) noexcept;
  /// As `on_packet`, while no handler may run: handles what runs none. The rest is kept until the next round of
  /// progress, and `deferred` is set.
  fabric::disposition defer_handlers(const fabric::packet& arrived, bool& deferred) noexcept;
  /// Handles a packet of this world.
  void deliver(const fabric::packet& arrived) noexcept;
  bool priorities_differ() const noexcept { return priorities_differ_; }
  /// Takes the counters of this world out of the table of the rank.
  void leave_counter_table() noexcept;
  /// Human-readable: where the rank waits; what it waits for and what is under way.
  std::string place(std::string_view where) const;
  std::string stall_report(std::string_view where, double seconds) const;
  /// Lanes of the job that a wait in this world may be for.
  std::vector<rank_t> peers_to_ask() const;

  [[noreturn]] void throw_wrong_rank(std::string_view call, rank_t dest) const;
  [[noreturn]] void throw_outside_epoch(std::string_view call) const;
  /// Throws `error` if this thread has not made the endpoint, or is not inside its engine.
  void check_thread(std::string_view call) const {
    if (!engine_->on_own_thread()) [[unlikely]]
      engine_->throw_wrong_thread(call, rank_);
  }
  /// Throws `error` in a handler, and on a wrong thread.
  void check_own_call(std::string_view call) const {
    check_thread(call);
    if (in_handler()) [[unlikely]]
      check_outside_handler(call);
  }

 private:
  struct request_handler {
    endpoint& owner;
    std::function<void(request&)> call;
  };
  friend class prepared_medium;
  friend class request;
  class no_waiting;

  /// `part` is null for the job's own world.
  endpoint(std::shared_ptr<engine> on, std::unique_ptr<sub_fabric> part, const settings& config);
  rank_t job_lane(rank_t lane) const noexcept { return number_ == 0 ? lane : job_lane_of_part(lane); }
  rank_t job_lane_of_part(rank_t lane) const noexcept;
  rank_t lane_in_part(rank_t lane) const noexcept;
  bool holds_uncounted() const noexcept;
  bool remote_quiet() const noexcept;
  rank_t source_of(const fabric::packet& arrived) const noexcept;
  bool keep_for_later(const fabric::packet& arrived, packet_header header);
  int priority_of(packet_header header) const noexcept;
  void compare_priorities();
  void note_color(packet_header header);
  void deliver_message(packet_header header, const inbound& packet);
  void deliver_fragment(packet_header header, const inbound& packet);
  void deliver_piece(packet_header header, const inbound& packet);
  void run_handler(packet_header header, const inbound& packet);
  void run(const registry::entry& target, packet_header header, const inbound& packet);
  [[gnu::noinline]] std::uint64_t deliver_timed(const registry::entry& target, const inbound& packet);
  void enter_generation(wave_color generation);
  void enter_handler(epoch_tag epoch, wave_color color);
  void leave_handler() noexcept;
  [[noreturn]] void throw_no_memory(const inbound& fragment) const;
  [[gnu::cold]] void note_failure(handler_id handler, rank_t source);
  [[noreturn]] void throw_unknown_handler(packet_header header, rank_t source) const;

  void send_request(std::string_view call, rank_t dest, handler_id handler, std::span<const std::uint64_t> args,
                    bytes_view payload);
  bool try_send_parts(rank_t lane, packet_header header, std::span<const std::uint64_t> args, bytes_view payload);
  void send_parts(rank_t lane, packet_header header, std::span<const std::uint64_t> args, bytes_view payload);
  [[gnu::noinline]] void send_later(rank_t lane, packet_header header, std::span<const std::uint64_t> args,
                                    bytes_view payload);
  void send_in_slot(rank_t lane, packet_header header, std::span<const std::uint64_t> args, bytes_view payload);
  bool send_some(rank_t lane, lent_buffer& buffer);
  lent_buffer begin_stream(rank_t lane, packet_header header, outgoing_stream& from, std::uint64_t bytes,
                           stream_target target);
  void wait_without_handlers(rank_t lane, lent_buffer message);
  void send_all(rank_t lane, lent_buffer& message);
  void copy_rest(lent_buffer& message) const;
  void keep_rest(rank_t lane, lent_buffer message);
  void check_request(std::string_view call, rank_t dest, handler_id handler, std::size_t args) const {
    if (checks_threads_) [[unlikely]]
      check_thread(call);
    if (static_cast<std::uint32_t>(dest) >= static_cast<std::uint32_t>(size_)) [[unlikely]]
      throw_wrong_rank(call, dest);
    check_handler(call, handler);
    if (at_depth_ || (sending_epoch_ == no_epoch && is_between_ends())) [[unlikely]]
      throw_outside_epoch(call);
    check_args(call, rank_, args);
  }
  /// The program, which for epochs is thread 0, has asked for the end of one that is still open.
  bool is_between_ends() const noexcept { return epoch_open() && !in_handler() && thread() == 0; }
  void check_handler(std::string_view call, handler_id handler) const {
    if (!registry_.contains(handler)) [[unlikely]]
      throw_unregistered(call, handler);
  }
  [[noreturn, gnu::cold]] void throw_unregistered(std::string_view call, handler_id handler) const;
  void check_outside_handler(std::string_view call) const;
  bool try_open(rank_t lane, std::size_t capacity, std::string_view type, outgoing& out, fabric::claim of);
  void open_or_wait(rank_t lane, std::size_t capacity, std::string_view type, outgoing& out, fabric::claim of);
  void commit(rank_t lane, packet_header header, outgoing& out, std::size_t bytes);
  void check_room(rank_t lane, std::size_t bytes, std::string_view type);
  packet_header header_for(handler_id handler, epoch_tag epoch) const noexcept {
    return packet_header({.handler = handler, .check = registry_.at(handler).check, .epoch = epoch, .color = color_});
  }

  bool ask_rank_ahead();
  std::string likely_cause() const;

  // What every round of progress looks at comes first, on few cache lines: a simulated rank finds them cold.
  std::shared_ptr<engine> engine_;
  std::unique_ptr<sub_fabric> sub_fabric_;  ///< null in the job's own world
  fabric::fabric& fabric_;
  rank_t lane_;
  epoch_tag open_epoch_ = no_epoch;     ///< that this rank is in
  epoch_tag body_epoch_ = no_epoch;     ///< the same until the body has ended
  epoch_tag sending_epoch_ = no_epoch;  ///< the same, or in a handler the epoch of the message that it handles
  wave_color color_ = 0;
  bool at_depth_ = false;  ///< in a handler that must not send, as the declared depth says
  bool priorities_differ_ = false;
  bool checks_threads_;
  world_number number_ = 0;
  int depth_ = any_depth;  ///< declared for the open epoch
  std::vector<flushable*> flushables_;
  registry registry_;
  ledger ledger_;
  collectives collectives_;
  handler_tables tables_;

  rank_t threads_;
  rank_t rank_;
  rank_t size_;
  rank_t home_;           ///< the thread that handles what no other one is asked to
  int priority_max_ = 0;  ///< of all handlers
  control* control_ = nullptr;
  counter_book* counter_book_ = nullptr;
  std::size_t packet_bytes_max_;
  std::uint64_t control_packets_ = 0;  ///< of the runtime that have arrived
  std::uint64_t epochs_opened_ = 0;
  std::uint32_t prepared_ = 0;    ///< packets that were prepared outside handlers, and are not committed
  std::uint32_t routes_ = 0;      ///< see `add_route`
  std::uint64_t fragmented_ = 0;  ///< messages that were sent in fragments
  std::vector<std::unique_ptr<request_handler>> request_handlers_;  ///< by number; null: a handler of packets
  reassembly reassembly_;
  incoming_streams streams_;
  counter_table* counter_table_ = nullptr;  ///< null: not requested
};

inline rank_t request::source() const noexcept { return owner_.rank_of(packet_.source); }

}  // namespace amity::core
