#pragma once

/// Active messages over a substrate: rings for each pair of PEs, in the memory of the one that receives.
///
/// - Messages of one PE to another are handled in the order in which they were sent. One that is larger than a record
///   travels in fragments.
/// - Handlers run in `poll`, one at a time, on the caller's thread, unless a mutex is held.
/// - Threads that share a PE come in one after the other, if the guard is required.
/// - A reply never waits: where a ring is full it is kept here, and its request does not count as complete until it
///   has gone. As a PE has a bounded number of requests under way to another, so are the replies that are kept.
/// - Two counters travel back in one word: the records that were taken, and the requests that are complete.
///
/// `Substrate` offers what `node_substrate` does.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "amity/base/guard.hpp"
#include "amity/interop/shmem/am/handlers.hpp"
#include "amity/interop/shmem/am/record.hpp"
#include "amity/interop/shmem/am/traffic.hpp"

namespace amity::shmem {

template <class Substrate>
class am_engine {
 public:
  static constexpr std::uint32_t records_max = 1024;        ///< under way from one PE to another
  static constexpr std::uint32_t payload_lines_max = 4096;  ///< likewise, of payloads that are larger than a record
  static constexpr std::size_t fragment_bytes_max = 64 * 1024;
  static constexpr std::uint32_t requests_max = 16384;  ///< of one PE to another that are not complete
  static constexpr std::size_t bytes_per_peer = (records_max + payload_lines_max + 1) * line_bytes;

  /// Collective.
  am_engine()
      : me_(Substrate::me()),
        outboxes_(static_cast<std::size_t>(Substrate::pes())),
        inboxes_(outboxes_.size()),
        records_(static_cast<record_line*>(Substrate::allocate(inboxes_.size() * records_max * line_bytes))),
        payloads_(static_cast<std::byte*>(Substrate::allocate(inboxes_.size() * payload_lines_max * line_bytes))),
        answers_(static_cast<answer*>(Substrate::allocate(inboxes_.size() * sizeof(answer)))) {}

  /// For several threads of this PE at once.
  guard& threads() noexcept { return threads_; }
  /// Whether the caller is inside a handler.
  bool in_handler() {
    const guard::inside alone(threads_, std::try_to_lock);  // a handler's thread is inside already
    return alone.entered() && running_ != nullptr;
  }

  /// For the function of the API that is called `call`.
  void attach(const char* call, int id, shmemx_am_handler handler) {
    const guard::inside alone(threads_);
    if (handler == nullptr) fail(call, "the handler of id " + std::to_string(id) + " is null", "give it a function");
    if (handlers_.find(id) != nullptr) {
      fail(call, "id " + std::to_string(id) + " is registered already", "detach it first, or use another id");
    }
    handlers_.add(id, handler);
  }
  void detach(int id) {
    const guard::inside alone(threads_);
    if (handlers_.find(id) == nullptr) {
      fail("shmemx_am_detach", "id " + std::to_string(id) + " is not registered", "attach it first");
    }
    handlers_.remove(id);
  }

  void request(int dest, int id, const void* source, std::size_t bytes) {
    const guard::inside alone(threads_);
    if (running_ != nullptr) [[unlikely]] {
      Substrate::fail("shmemx_am_request", "it is called inside a handler",
                      "reply with shmemx_am_reply, or send the request after the handler has returned");
    }
    check_bytes("shmemx_am_request", bytes);
    outbox& to = outbox_of(dest);
    if (to.requests - to.completed == requests_max || !to.kept.empty()) [[unlikely]]
      await_turn(dest, to);
    traffic_.count_sent();
    std::size_t sent = 0;
    do {
      while (!send_fragment(dest, to, record_kind::request, id, source, bytes, sent)) [[unlikely]] await_room(dest, to);
    } while (sent < bytes);
    ++to.requests;
    if ((to.requests & 63u) == 0) poll();
  }

  void reply(int id, const void* source, std::size_t bytes, shmemx_am_token_t token) {
    const guard::inside alone(threads_);
    if (token == nullptr || token != running_) {
      Substrate::fail("shmemx_am_reply", "the token is none of the handler that runs",
                      "reply inside the handler of a request, with the token that it was given");
    }
    if (running_->kind == record_kind::reply) {
      Substrate::fail("shmemx_am_reply", "it is called in the handler of a reply",
                      "reply to requests alone; send a request after the handler has returned");
    }
    if (running_->replied) {
      Substrate::fail("shmemx_am_reply", "it is the second reply to one request", "put all into one reply");
    }
    check_bytes("shmemx_am_reply", bytes);
    running_->replied = true;
    traffic_.count_sent();
    const int dest = running_->source;
    outbox& to = outbox_of(dest);
    std::size_t sent = 0;
    if (to.kept.empty() && send_whole(dest, to, id, source, bytes, sent)) return;
    running_->kept = true;
    const auto* const from = static_cast<const std::byte*>(source);
    to.kept.push_back({.id = id, .sent = sent, .bytes = std::vector<std::byte>(from, from + bytes)});
    ++kept_;
  }

  /// Runs the handlers of what has arrived, or, where none may run, makes room for more. Never waits, not for a thread
  /// that is inside either: that one may hold a mutex, and wait for the caller's own. True if any ran.
  bool poll() {
    const guard::inside alone(threads_, std::try_to_lock);
    if (!alone.entered() || running_ != nullptr || polling_) return false;
    const std::uint64_t handled = handled_;
    polling_ = true;
    if (is_behind()) [[unlikely]]
      catch_up();
    for (std::size_t source = 0; source < inboxes_.size(); ++source) {
      if (has_arrived(source) && held_ == 0) drain(source);
    }
    polling_ = false;
    if (handled_ == handled) return false;
    traffic_.show_handled(handled_);
    return true;
  }

  void quiet() {
    const guard::inside alone(threads_);
    if (running_ != nullptr) return;  // what handlers have begun, others end
    bool arrivals = false;
    for (std::size_t dest = 0; dest < outboxes_.size(); ++dest) {
      await_completion(static_cast<int>(dest));
      // Replies have come before the word that says that their requests are complete.
      arrivals |= has_arrived(dest);
    }
    if (arrivals || is_behind()) handle_replies();
  }

  /// After all PEs have come to a barrier: returns when what any of them has sent before is handled, replies included.
  /// Collective; all must be mapped. Other threads of this PE send again when it has ended: they could keep it from
  /// that.
  void settle() {
    const guard::inside alone(threads_);
    wait("a barrier: the messages before it, and their replies, are to be handled by all PEs", -1, [&] {
      if (traffic_.settle()) return true;
      // What was sent after the barrier may have come, too: then its sender has shown that all before is handled.
      if (held_ > 0 && !stashed_.empty()) fail_holding("a barrier", "messages that have come cannot be handled");
      return false;
    });
  }

  // A PE that holds a mutex keeps messages back. Its other threads stay outside meanwhile: they would wait for what is
  // kept back, and keep the mutex's thread from unlocking it.

  bool try_lock(shmemx_am_mutex& mutex) {
    const guard::inside alone(threads_);
    if (std::atomic_ref(mutex).exchange(1, std::memory_order_acquire) != 0) return false;
    ++held_;
    threads_.stay();
    return true;
  }
  void lock(shmemx_am_mutex& mutex) {
    // No handler runs until the caller does, and other threads of the program may not share a mutex: it stays locked.
    if (try_lock(mutex)) return;
    Substrate::fail("shmemx_am_mutex_lock", "this PE holds the mutex already", "unlock it first, or use trylock");
  }
  void unlock(shmemx_am_mutex& mutex) {
    {
      const guard::inside alone(threads_);
      if (std::atomic_ref(mutex).exchange(0, std::memory_order_release) == 0 || held_ == 0) {
        Substrate::fail("shmemx_am_mutex_unlock", "the mutex is not locked", "lock it first");
      }
      --held_;
      threads_.leave();
    }
    poll();  // what was kept back
  }

 private:
  [[noreturn, gnu::cold]] static void fail(const char* call, const std::string& problem, const char* remedy) {
    Substrate::fail(call, problem.c_str(), remedy);
  }
  static void check_bytes(const char* call, std::size_t bytes) {
    if (bytes >> payload_place::line_shift == 0) [[likely]]
      return;
    fail(call, "a message of " + std::to_string(bytes) + " bytes",
         "no memory has so many: look at how the size was found, maybe as the result of a call that has failed");
  }

  /// What a PE tells each source of messages: records taken below, completed requests above.
  struct alignas(line_bytes) answer {
    std::uint64_t word;
  };
  /// The handler that runs; its address is the token.
  struct activation {
    record_kind kind;
    int source;
    bool replied = false;
    bool kept = false;
  };
  struct kept_reply {
    int id;
    std::size_t sent;
    std::vector<std::byte> bytes;
  };
  struct stash {
    int source;
    record what;
    std::uint64_t place;
    std::vector<std::byte> bytes;
  };
  /// What this PE knows of another one that it sends to.
  struct outbox {
    record_position<records_max> next;
    std::uint32_t taken = 0;  ///< records, as far as is known here
    std::uint32_t requests = 0;
    std::uint32_t completed = 0;  ///< requests, as far as is known here
    payload_space<payload_lines_max, 1024> payloads;
    std::array<std::uint32_t, records_max> payload_at{};  ///< of each record, or where the next one would have been
    std::deque<kept_reply> kept;
  };
  /// What it knows of one that it receives from.
  struct inbox {
    record_position<records_max> next;
    std::uint64_t answered =
        0;  ///< between the two that it is made of, or they would be read as one that is half written
    std::uint32_t completed = 0;
    std::vector<std::byte> parts[2];  ///< of messages that have arrived in part: a request, a reply
  };

  outbox& outbox_of(int dest) noexcept { return outboxes_[static_cast<std::size_t>(dest)]; }

  static std::uint64_t load(const std::uint64_t& word) noexcept {
    // Acquire; pairs with the release of put_flag().
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
  }
  record_line* records_of(std::size_t source) const noexcept { return records_ + records_max * source; }
  std::byte* payloads_of(std::size_t source) const noexcept {
    return payloads_ + std::size_t{payload_lines_max} * line_bytes * source;
  }
  std::size_t own_index() const noexcept { return static_cast<std::size_t>(me_); }

  static std::uint64_t pack_answer(std::uint32_t completed, std::uint32_t taken) noexcept {
    return std::uint64_t{completed} << 32 | taken;
  }
  void learn(int dest, outbox& to) const noexcept {
    const std::uint64_t word = load(answers_[dest].word);
    to.taken = static_cast<std::uint32_t>(word);
    to.completed = static_cast<std::uint32_t>(word >> 32);
  }

  static constexpr const char* taking = "shmemx_am_request: requests before it are to be handled by PE";

  /// `what`, of one PE or of all (-1), is for a report of a stall.
  template <class Done>
  void wait(const char* what, int pe, Done done) {
    Substrate::wait(done, what, pe);
  }

  // Sending.

  /// Until there may be one more request, and replies that were to be sent before are on their way.
  [[gnu::noinline]] void await_turn(int dest, outbox& to) {
    learn(dest, to);
    if (held_ > 0 && dest == me_ && to.requests - to.completed == requests_max) [[unlikely]]
      fail_holding("shmemx_am_request", "its requests to itself cannot be handled");
    wait(taking, dest, [&] {
      send_kept(dest);
      learn(dest, to);
      return to.kept.empty() && to.requests - to.completed < requests_max;
    });
  }

  /// Until the target has taken more than was known when a fragment found no room.
  [[gnu::noinline]] void await_room(int dest, outbox& to) {
    wait(taking, dest, [&, known = to.taken] {
      learn(dest, to);
      return to.taken != known;
    });
  }

  /// Finds room for one more record and for a payload of so many lines. False: there is none, as far as is known.
  static bool find_room(outbox& to, std::uint32_t lines, std::uint32_t& place) noexcept {
    const std::uint32_t under_way = to.next.number - to.taken;
    if (under_way == records_max) return false;
    if (under_way == 0) to.payloads.end = 0;
    if (lines == 0) return true;
    place = to.payloads.find(lines, under_way == 0 ? 0 : to.payload_at[to.taken % records_max]);
    return place != to.payloads.nowhere;
  }

  /// Sends the next fragment of a message of which `sent` bytes have gone, if there is room. False: there is none.
  bool send_fragment(int dest, outbox& to, record_kind kind, int id, const void* source, std::size_t total,
                     std::size_t& sent) {
    const std::size_t bytes = std::min(total - sent, fragment_bytes_max);
    const bool large = bytes > record::inline_bytes_max;
    const auto lines = large ? static_cast<std::uint32_t>((bytes + line_bytes - 1) / line_bytes) : 0;
    payload_place place{.line = to.payloads.end, .message_bytes = total};
    if (!find_room(to, lines, place.line)) [[unlikely]] {
      learn(dest, to);
      if (!find_room(to, lines, place.line)) return false;
    }
    record_line& line = records_of(own_index())[to.next.index()];
    const auto* const from = static_cast<const std::byte*>(source) + sent;
    if (large) {
      Substrate::put(payloads_of(own_index()) + place.line * line_bytes, from, bytes, dest);
      const std::uint64_t word = place.pack();
      Substrate::put(&line.place, &word, sizeof word, dest);
      to.payloads.end = place.line + lines;
    } else if (bytes > 0) {
      Substrate::put(line.payload, from, bytes, dest);
    }
    const record::parts what{
        .kind = kind, .first = sent == 0, .last = sent + bytes == total, .bytes = bytes, .handler = id};
    Substrate::put_flag(&line.word, record::pack(what, to.next.mark()), dest);
    to.payload_at[to.next.index()] = place.line;
    ++to.next.number;
    sent += bytes;
    return true;
  }

  bool send_whole(int dest, outbox& to, int id, const void* source, std::size_t bytes, std::size_t& sent) {
    do {
      if (!send_fragment(dest, to, record_kind::reply, id, source, bytes, sent)) return false;
    } while (sent < bytes);
    return true;
  }

  void send_kept(int dest) {
    outbox& to = outbox_of(dest);
    inbox& from = inboxes_[static_cast<std::size_t>(dest)];
    while (!to.kept.empty()) {
      kept_reply& next = to.kept.front();
      if (!send_whole(dest, to, next.id, next.bytes.data(), next.bytes.size(), next.sent)) break;
      to.kept.pop_front();
      --kept_;
      ++from.completed;
    }
    answer_source(dest, from);
  }

  void await_completion(int dest) {
    outbox& to = outbox_of(dest);
    if (to.completed == to.requests) return;
    learn(dest, to);
    if (held_ > 0 && dest == me_ && to.completed != to.requests) {
      fail_holding("shmemx_am_quiet", "its requests to itself cannot be handled");
    }
    wait("shmemx_am_quiet: requests are to be handled by PE", dest, [&] {
      learn(dest, to);
      return to.completed == to.requests;
    });
  }

  void handle_replies() {
    poll();
    const auto is_reply = [](const stash& each) { return each.what.kind() == record_kind::reply; };
    if (held_ > 0 && std::ranges::any_of(stashed_, is_reply)) {
      fail_holding("shmemx_am_quiet", "replies that have come cannot be handled");
    }
  }

  // Receiving.

  bool has_arrived(std::size_t source) const noexcept {
    const record_position<records_max> next = inboxes_[source].next;
    return record(load(records_of(source)[next.index()].word)).mark() == next.mark();
  }

  /// The next record, which has arrived; its memory is the source's again once that is told.
  record_line& next_arrival(std::size_t source) noexcept {
    return records_of(source)[inboxes_[source].next.number++ % records_max];
  }
  std::byte* payload_of(std::size_t source, record what, record_line& line) const noexcept {
    if (what.bytes() <= record::inline_bytes_max) return line.payload;
    return payloads_of(source) + payload_place::unpack(line.place).line * line_bytes;
  }

  void answer_source(int source, inbox& from) {
    const std::uint64_t word = pack_answer(from.completed, from.next.number);
    if (word == from.answered) return;
    from.answered = word;
    Substrate::put_flag(&answers_[me_].word, word, source);
  }

  /// Runs the handlers of what has arrived from a source, something at least.
  void drain(std::size_t index) {
    const auto source = static_cast<int>(index);
    inbox& from = inboxes_[index];
    // What comes meanwhile is for the next time, or a busy source would keep the PE here. A handler may have left with
    // a mutex in its hands.
    std::uint32_t untold = 0;  // bytes that the source may wait for
    std::uint32_t taken = 0;
    do {
      record_line& line = next_arrival(index);
      const record what(line.word);
      take(source, what, payload_of(index, what, line), line.place);
      untold += static_cast<std::uint32_t>(line_bytes) + what.bytes();
      if (untold < told_bytes_min) continue;
      answer_source(source, from);
      untold = 0;
    } while (++taken < records_max && held_ == 0 && has_arrived(index));
    answer_source(source, from);
  }

  /// Whether no handler may run, or something was kept for later.
  bool is_behind() const noexcept { return held_ > 0 || kept_ > 0 || !stashed_.empty(); }
  /// Then: makes room for others, or does what was kept.
  [[gnu::noinline]] void catch_up() {
    for (std::size_t pe = 0; pe < inboxes_.size() && held_ > 0; ++pe) set_aside(pe);
    while (!stashed_.empty() && held_ == 0) {
      stash next = std::move(stashed_.front());
      stashed_.pop_front();
      take(next.source, next.what, next.bytes.data(), next.place);
      answer_source(next.source, inboxes_[static_cast<std::size_t>(next.source)]);
    }
    for (int dest = 0; dest < static_cast<int>(outboxes_.size()) && kept_ > 0; ++dest) {
      if (!outbox_of(dest).kept.empty()) send_kept(dest);
    }
  }

  /// Makes room for the source while no handler may run.
  void set_aside(std::size_t index) {
    const auto source = static_cast<int>(index);
    while (has_arrived(index)) {
      record_line& line = next_arrival(index);
      const record what(line.word);
      const std::byte* const payload = payload_of(index, what, line);
      stashed_.push_back({source, what, line.place, std::vector<std::byte>(payload, payload + what.bytes())});
    }
    answer_source(source, inboxes_[index]);
  }

  /// Takes a record in, and runs the handler if its message is complete.
  void take(int source, record what, std::byte* payload, std::uint64_t place) {
    if (what.whole()) [[likely]] {
      run(source, what, payload, what.bytes());
    } else {
      collect(source, what, payload, place);
    }
  }

  [[gnu::noinline]] void collect(int source, record what, const std::byte* payload, std::uint64_t place) {
    auto& parts = inboxes_[static_cast<std::size_t>(source)].parts[what.kind() == record_kind::reply ? 1 : 0];
    if (what.first()) parts.reserve(payload_place::unpack(place).message_bytes);
    parts.insert(parts.end(), payload, payload + what.bytes());
    if (!what.last()) return;
    run(source, what, parts.data(), parts.size());
    if (parts.capacity() > parts_bytes_kept) parts = {};
    parts.clear();
  }

  void run(int source, record what, std::byte* payload, std::size_t bytes) {
    const shmemx_am_handler handler = handlers_.find(what.handler());
    if (handler == nullptr) [[unlikely]]
      fail_unknown(source, what);
    activation current{.kind = what.kind(), .source = source};
    running_ = &current;
    handler(payload, bytes, source, &current);
    running_ = nullptr;
    ++handled_;
    if (what.kind() == record_kind::request && !current.kept) ++inboxes_[static_cast<std::size_t>(source)].completed;
  }

  [[noreturn, gnu::cold]] static void fail_holding(const char* call, const std::string& what) {
    fail(call, "this PE holds a mutex, so that " + what, "unlock it first");
  }

  [[noreturn, gnu::cold]] void fail_unknown(int source, record what) {
    fail("active message",
         "PE " + std::to_string(source) + " has sent a " + (what.kind() == record_kind::reply ? "reply" : "request") +
             " to handler " + std::to_string(what.handler()) +
             ", which is not registered here; registered: " + handlers_.describe(),
         "attach the id on this PE, and synchronise the PEs before the first request");
  }

  /// A source is told of what was taken at the latest after so much, with which it may go on.
  static constexpr std::uint32_t told_bytes_min = records_max / 4 * line_bytes;
  /// Memory for a message in parts that is kept for the next one of the source.
  static constexpr std::size_t parts_bytes_kept = std::size_t{16} << 20;

  int me_;
  std::vector<outbox> outboxes_;  ///< by destination
  std::vector<inbox> inboxes_;    ///< by source
  record_line* records_;          ///< rings, by source
  std::byte* payloads_;           ///< likewise
  answer* answers_;               ///< by destination
  traffic<Substrate> traffic_;
  activation* running_ = nullptr;
  std::uint64_t handled_ = 0;  ///< messages
  int held_ = 0;               ///< mutexes
  bool polling_ = false;
  std::size_t kept_ = 0;  ///< replies, to all
  guard threads_;
  std::deque<stash> stashed_;
  handler_table handlers_;
};

}  // namespace amity::shmem
