#pragma once

/// The engine of one thread of a rank: it polls the fabric, hands packets to their worlds, sends what waits to be sent,
/// and has the only loop in which the thread waits.
///
/// All worlds of a rank share the engine of each thread. Handlers run one at a time on a thread, whichever world they
/// belong to, and an exception that leaves one of them ends the job in all worlds.
///
/// An owned engine is used by the thread that has made it. A serialized one is used by several threads, one at a time:
/// by a thread that has an `entry`. A thread that waits gives up its place for that time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/base/function_ref.hpp"
#include "amity/base/process_mark.hpp"
#include "amity/base/settings.hpp"
#include "amity/base/stall_clock.hpp"
#include "amity/base/thread_mark.hpp"
#include "amity/base/types.hpp"
#include "amity/core/attentive_waits.hpp"
#include "amity/core/attentiveness.hpp"
#include "amity/core/busy_wait.hpp"
#include "amity/core/flushable.hpp"
#include "amity/core/inbox.hpp"
#include "amity/core/job_failure.hpp"
#include "amity/core/memory_bound.hpp"
#include "amity/core/outbox.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/core/peer_questions.hpp"
#include "amity/core/running_handler.hpp"
#include "amity/core/service.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/waiter.hpp"

namespace amity::core {

class crew;
class endpoint;
class engine_lock;

// Labels of the runtime's own waits, for reports.
inline constexpr std::string_view wait_for_credit = "a send that waits for a credit";
inline constexpr std::string_view wait_for_puts = "puts and Long messages";
inline constexpr std::string_view wait_for_operation = "an operation on memory of a peer";

/// `endpoint::flush`, for templates in this file.
bool send_collected(endpoint& in);

class alignas(cache_line_bytes) engine final : private fabric::sink, private fabric::whereabouts, private immovable {
 public:
  static constexpr std::size_t worlds_max = 256;
  /// Bit n of word n / 64: world number n is in use.
  using world_set = std::array<std::uint64_t, worlds_max / 64>;

  /// Which threads use the engine.
  enum class threading : std::uint8_t {
    owned,       ///< the thread of its constructor
    serialized,  ///< all that have an `entry`, one at a time
    trusted,     ///< any, one at a time, as the program promises: calls do not look at it
  };
  class entry;
  class attentive_wait;

  /// Only this engine polls `transport`, which must live until `leave_fabric`; the end of the job's own world calls
  /// that. Each rank has as many `threads`: one if it is serialized. Throws `error` if a serialized engine cannot have
  /// its descriptor.
  engine(fabric::fabric& transport, const settings& config, rank_t threads, threading how = threading::owned);
  ~engine();

  fabric::fabric& transport() const noexcept { return transport_; }
  rank_t threads() const noexcept { return threads_; }
  rank_t rank() const noexcept { return transport_.rank() / threads_; }  ///< of the job
  /// Whether this thread may use the engine: it has made it, or is inside, in the process that has made it.
  bool on_own_thread() const noexcept {
    return (&thread_mark == owner_.thread || (owner_.thread == nullptr && is_inside())) && owner_.process.is_own();
  }
  /// Whether core requests check the thread that makes them, as all other calls do. In an owned engine of a rank with
  /// one thread they do not, because of their cost.
  bool checks_threads() const noexcept { return threads_ > 1 || lock_ != nullptr; }
  /// The lock of a serialized engine; null: it is owned.
  const engine_lock* lock() const noexcept { return lock_.get(); }
  /// The error for a thread that must not use the engine, of `rank` in the world of the call. In a child of the
  /// process, prints it and ends the child: destructors would use memory that it shares with its parent.
  [[noreturn, gnu::cold]] void throw_wrong_thread(std::string_view call, rank_t rank) const;

  // --- Worlds. ---

  /// The job's own world has number 0 and comes first.
  void attach(endpoint& world);
  /// Gives up what waits in this world. Worlds that outlive the job's own can no longer send.
  void detach(endpoint& world) noexcept;
  /// Null if no world has this number.
  endpoint* find(world_number number) const noexcept {
    return number < worlds_.size() ? worlds_[number].owner : nullptr;
  }
  /// The world of the job itself, for waits that belong to no other one. An engine may have none.
  endpoint& job_world() const noexcept { return *job_world_; }
  std::size_t worlds() const noexcept { return worlds_count_; }
  world_set numbers_used() const noexcept;
  /// Gives the fabric back what is held of it: memory, and after a failure packets. The fabric must not be used
  /// afterwards.
  void leave_fabric() noexcept;

  /// After handlers have run here, `threads` wakes the rank's threads that wait for their effects.
  void set_crew(crew& threads) noexcept { crew_ = &threads; }
  /// Calls `client.on_progress` in every round.
  void attach(progress_client& client) { every_round_.push_back(&client); }
  void detach(progress_client& client) noexcept { std::erase(every_round_, &client); }

  // --- Packets that have been accepted and not sent, and packets that have arrived and are not due. ---

  outbox& unsent() noexcept { return unsent_; }
  inbox& not_due() noexcept { return not_due_; }
  /// Memory of what this thread has accepted and not sent.
  memory_bound& bound() noexcept { return bound_; }
  /// Whether `bytes` more may wait to be sent, after unused memory has been freed.
  bool has_room(std::size_t bytes) noexcept;
  /// Sends a packet of the runtime's own, at most `control_bytes_max`, to a lane of the job, now or as soon as there is
  /// a credit; never refused. If there is no memory in which the packet can wait, the job fails.
  void send_control(rank_t lane, world_number world, packet_header header, bytes_view payload) noexcept try {
    if ((unsent_.empty() || !unsent_.holds(lane, header)) &&
        transport_.try_send(lane, with_world(header.word(), world), payload, claim_of(header)) == status::ok)
      return;
    unsent_.push_control(lane, world, header, payload);
  } catch (...) {
    failure_.set(std::current_exception());
  }
  /// Sends a packet in the same way to a service of that lane.
  void send(rank_t lane, service which, bytes_view payload) noexcept {
    send_control(lane, 0, service_header(which), payload);
  }
  /// The error for a packet of a lane that no rank sends which runs the same build.
  error invalid_packet(rank_t lane, std::string_view content) const;
  /// Human-readable: "3 packets to rank 1".
  std::string describe_unsent() const;

  /// What belongs to no world: records, and remote memory.
  service_table& served() noexcept { return services_; }

  // --- Handlers and failures. ---

  running_handler& running() noexcept { return running_; }
  /// After handlers may have run.
  void wake_waiting_threads() {
    if (crew_ != nullptr) [[unlikely]]
      tell_crew();
  }
  /// Every call that makes progress rethrows it.
  job_failure& failure() noexcept { return failure_; }

  // --- Progress. Illegal inside handlers. ---

  /// Runs the handlers of what has arrived and sends what waits. Returns whether anything happened. Rethrows what a
  /// handler threw.
  bool progress();
  /// Handles about as many arrived packets as were sent since the last call, so that a sender need not poll, and waits
  /// while too much waits to be sent, in this world. Does nothing inside a handler.
  void give_way(endpoint& in);
  /// Call it after each send: it calls `give_way` after several.
  void pace(endpoint& in) {
    if (running_.world() != nullptr || ++sends_since_poll_ < sends_per_pace) return;
    give_way(in);
  }
  /// Sends off all that the flushables of all worlds hold; true if there was anything.
  bool flush_all();

  /// Makes progress until `done()` holds, in a world. When nothing arrives and nothing can go out, packets that are
  /// being filled are sent off, then `on_idle()` is called, and if it does nothing (returns false), the thread sleeps
  /// until something arrives. A wait that is over sends nothing off. With `stores`, it also looks at these while
  /// nothing arrives, and in some other rounds if they are outside; `done()` depends on them. `where` is for stall
  /// reports; there are none without it. `done` may change it.
  template <class Done, class OnIdle>
  void wait_until(endpoint& in, const std::string_view& where, Done&& done, OnIdle&& on_idle,
                  fabric::watched_memory* stores = nullptr) {
    begin_wait();
    bool is_quiet = false;  // something has happened, and not in this world
    while (!done()) {
      if (std::exchange(is_quiet, false) && (send_collected(in) || on_idle())) continue;
      const round was = advance_for(in, where, stores);
      is_quiet = was == round::eventful_elsewhere;
      if (was == round::idle && !on_idle()) sleep(in, where, stores);
    }
  }
  /// One round of it, for a loop that tries again itself.
  void wait_once(endpoint& in, std::string_view where) {
    if (!progress() && !flush_all()) sleep(in, where, nullptr);
  }
  /// Takes packets while no handler may run, and calls `attempt()`, which returns whether it has sent anything, until
  /// `done()` holds. Returns earlier if other ranks may wait for handlers of this one while there is no credit.
  /// `before_handlers` is called at the end, before anything is handled that had to wait.
  void wait_without_handlers(endpoint& in, function_ref<bool()> attempt, function_ref<bool()> done,
                             function_ref<void()> before_handlers);
  /// A credit was found: the next wait is a new one, though nothing has arrived.
  void sent() noexcept { waiter_.progressed(); }
  /// Rounds of the present wait in which nothing has happened.
  std::uint32_t idle_rounds() const noexcept { return waiter_.rounds(); }
  /// Sleeps until something arrives, or for this time. While another thread of a serialized engine does so, this one
  /// takes a seat, for `seat_ns` at most, and that one wakes it.
  void wait_in_fabric(std::uint64_t timeout_ns, std::uint64_t seat_ns, fabric::watched_memory* stores = nullptr);

  /// Throws if the job has ended or this rank has lost another one, which ends the job as an exception of a handler
  /// does.
  void check_job();
  /// A round of a loop that a program polls in until something has happened.
  enum class poll_round : std::uint8_t {
    idle,      ///< nothing was handled or sent
    eventful,  ///< something was
    last,      ///< what the loop waits for has happened
  };
  /// Call it after each such round. If it was idle, does `check_job`, and lets others have the CPU after many idle
  /// ones. `where` is for reports.
  void polled(endpoint& in, std::string_view where, poll_round how);

  /// What waits are attentive: see `attentive_wait`.
  attentive_waits& attentive() noexcept { return attentive_; }

  /// How often this thread has looked for what has arrived, and with AMITY_CORE_ATTENTIVENESS=1, how long it did not.
  attention_clock& attention() noexcept { return attention_; }

 private:
  class without_handlers;
  class known_place;
  struct member {
    endpoint* owner = nullptr;       ///< null: this number is free
    std::uint64_t activity = 0;      ///< of the world at the last round
    std::uint32_t quiet_rounds = 0;  ///< since then
  };
  /// What has made the engine.
  struct owner {
    const char* thread;  ///< its mark; null: the engine is serialized or trusted
    process_mark process;
  };
  enum class round { eventful, eventful_elsewhere, idle };
  static constexpr std::uint32_t sends_per_pace = 16;

  fabric::disposition on_packet(const fabric::packet& arrived) noexcept override;
  void on_done(std::uint64_t context) noexcept override;
  void on_notify(std::uint32_t bits) noexcept override;
  std::string place() const override;

  // These are for serialized engines.
  bool is_inside() const noexcept;
  void enter() noexcept;
  bool try_enter() noexcept;
  void leave() noexcept;
  /// After a round, if it has polled something or the wait before it has found the fabric ready.
  void wake_seats(bool has_polled) noexcept;

  fabric::disposition on_other_packet(const fabric::packet& arrived) noexcept;
  /// Answers the questions that are due. Returns how many questions and answers have arrived: they are no progress.
  std::size_t take_questions();
  bool advance(std::size_t events_max);
  bool send_waiting();
  bool handle_due();
  std::size_t handle_behind(std::size_t events, std::size_t events_max);
  void take_as_sent();
  void pass_busy_time(std::uint64_t weight);
  void flush_quiet_worlds();
  void tell_crew();
  void begin_wait() noexcept {
    waiter_.progressed();
    busy_wait_.restart();
  }
  round advance_for(endpoint& in, std::string_view where, const fabric::watched_memory* stores);
  void sleep(endpoint& in, std::string_view where, fabric::watched_memory* stores);
  void look_for_stall(const endpoint& in, std::string_view where, bool is_stall);
  void report_busy_wait(const endpoint& in, std::string_view where);

  // What every round of progress looks at comes first, on few cache lines: a simulated rank finds them cold.
  fabric::fabric& transport_;
  endpoint* job_world_ = nullptr;
  running_handler running_;
  job_failure failure_;
  crew* crew_ = nullptr;               ///< null: the rank has no other thread
  std::unique_ptr<engine_lock> lock_;  ///< null: the engine is not serialized
  const owner owner_;                  ///< services ask for it until their end
  std::vector<progress_client*> every_round_;
  bool has_questions_ = false;  ///< whether `take_questions` has something to do
  std::uint32_t sends_since_poll_ = 0;
  rank_t threads_;
  std::size_t worlds_count_ = 0;
  std::vector<member> worlds_;     ///< by number
  std::uint64_t busy_weight_ = 0;  ///< of what was done since all packets were last closed
  inbox not_due_;
  outbox unsent_;
  memory_bound bound_;
  fabric::waiter waiter_;
  attention_clock attention_;
  attentive_waits attentive_;
  bool has_left_ = false;  ///< the fabric
  std::size_t leaving_bytes_high_water_;
  std::uint64_t packets_sent_before_ = 0;  ///< when arrived packets last had their turn
  const endpoint* waits_in_ = nullptr;     ///< for a simulator's report
  std::string_view waits_where_;
  stall_clock stall_clock_;
  busy_wait busy_wait_;
  peer_questions questions_;
  service_table services_;
};

/// Waits during its lifetime are attentive, if that is offered: peers know that this thread polls all the time. At the
/// end, it polls what they have sent for this reason. Packets that wait for content must not be open then.
class engine::attentive_wait : private immovable {
 public:
  explicit attentive_wait(engine& of) noexcept : of_(of.attentive_.are_offered() ? &of : nullptr) {
    if (of_ != nullptr) of_->attentive_.begin();
  }
  ~attentive_wait() {
    if (of_ != nullptr && of_->attentive_.end()) poll();
  }

 private:
  void poll() noexcept;

  engine* of_;  ///< null: not offered
};

/// A thread is inside an engine during its lifetime, or was before. It ends before the engine, on the same thread.
///
/// For an owned engine it is the check of the thread, as endpoints make it. Into a serialized engine it waits until no
/// other thread is inside; then this thread may call the engine, its worlds and its memory. Inside such calls, in
/// handlers for example, a thread may enter again. A call that waits lets other threads in.
class engine::entry : private immovable {
 public:
  /// Throws `error` of `call` on a thread that does not own an owned engine.
  explicit entry(engine& of, std::string_view call = "engine::entry") : of_(of.lock_ != nullptr ? &of : nullptr) {
    if (of_ != nullptr && of.owner_.process.is_own()) {
      of_->enter();
    } else if (!of.on_own_thread()) {
      of.throw_wrong_thread(call, of.rank());
    }
  }
  /// For a thread that only makes progress. Not `entered` if another thread is inside, or waits for the fabric, which
  /// makes the same progress; and on a thread that does not own an owned engine.
  entry(engine& of, std::try_to_lock_t)
      : of_(of.lock_ != nullptr && of.owner_.process.is_own() && of.try_enter() ? &of : nullptr),
        entered_(of_ != nullptr || (of.lock_ == nullptr && of.on_own_thread())) {}
  ~entry() {
    if (of_ != nullptr) of_->leave();
  }

  bool entered() const noexcept { return entered_; }

 private:
  engine* of_;  ///< null: nothing to leave
  bool entered_ = true;
};

}  // namespace amity::core
