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

#include "amity/interop/shmem/am/guard.hpp"
#include "amity/interop/shmem/am/handlers.hpp"
#include "amity/interop/shmem/am/record.hpp"

namespace amity::shmem {

template <class Substrate>
class am_engine {
 public:
  static constexpr std::uint32_t records_max = 1024;        ///< under way from one PE to another
  static constexpr std::uint32_t payload_lines_max = 1024;  ///< likewise, of large payloads
  static constexpr std::size_t fragment_bytes_max = 16 * 1024;
  static constexpr std::uint32_t requests_max = 16384;  ///< of one PE to another that are not complete
  static constexpr std::size_t bytes_per_peer = (records_max + payload_lines_max + 1) * line_bytes;

  /// Collective.
  am_engine()
      : me_(Substrate::me()),
        peers_(static_cast<std::size_t>(Substrate::pes())),
        records_(static_cast<record_line*>(Substrate::allocate(peers_.size() * records_max * line_bytes))),
        payloads_(static_cast<std::byte*>(Substrate::allocate(peers_.size() * payload_lines_max * line_bytes))),
        answers_(static_cast<answer*>(Substrate::allocate(peers_.size() * sizeof(answer)))) {}

  handler_table& handlers() noexcept { return handlers_; }
  /// For several calls at once, and for the table of handlers.
  guard& threads() noexcept { return threads_; }
  /// Whether the caller is inside a handler.
  bool in_handler() {
    const guard::inside alone(threads_);
    return running_ != nullptr;
  }

  void request(int dest, int id, const void* source, std::size_t bytes) {
    const guard::inside alone(threads_);
    if (running_ != nullptr) [[unlikely]] {
      Substrate::fail("shmemx_am_request", "it is called inside a handler",
                      "reply with shmemx_am_reply, or send the request after the handler has returned");
    }
    peer& to = peer_at(dest);
    if (held_ > 0 && dest == me_ && to.requests - completed(dest) == requests_max) [[unlikely]]
      fail_holding("shmemx_am_request", "its requests to itself cannot be handled");
    // Replies that wait were sent before.
    wait([&] {
      send_kept(dest);
      return to.kept.empty() && to.requests - completed(dest) < requests_max;
    });
    std::size_t sent = 0;
    do wait([&] { return send_fragment(dest, record_kind::request, id, source, bytes, sent); });
    while (sent < bytes);
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
    running_->replied = true;
    const int dest = running_->source;
    peer& to = peer_at(dest);
    std::size_t sent = 0;
    if (to.kept.empty() && send_whole(dest, id, source, bytes, sent)) return;
    running_->kept = true;
    const auto* const from = static_cast<const std::byte*>(source);
    to.kept.push_back({.id = id, .sent = sent, .bytes = std::vector<std::byte>(from, from + bytes)});
  }

  /// Runs the handlers of what has arrived, or, where none may run, makes room for more. Never waits. True if any ran.
  bool poll() {
    const guard::inside alone(threads_);
    if (running_ != nullptr || polling_) return false;
    if (held_ > 0) {
      for (std::size_t source = 0; source < peers_.size(); ++source) set_aside(static_cast<int>(source));
      return false;
    }
    const std::uint64_t handled = handled_;
    polling_ = true;
    while (!stashed_.empty() && held_ == 0) {
      stash next = std::move(stashed_.front());
      stashed_.pop_front();
      take(next.source, next.what, next.total, next.bytes.data());
    }
    for (std::size_t source = 0; source < peers_.size() && held_ == 0; ++source) drain(static_cast<int>(source));
    polling_ = false;
    return handled_ != handled;
  }

  void quiet() {
    const guard::inside alone(threads_);
    if (running_ != nullptr) return;  // what handlers have begun, others end
    if (held_ > 0 && peer_at(me_).requests != completed(me_)) {
      fail_holding("shmemx_am_quiet", "its requests to itself cannot be handled");
    }
    for (int dest = 0; dest < static_cast<int>(peers_.size()); ++dest) {
      wait([&] { return completed(dest) == peer_at(dest).requests; });
    }
    poll();  // replies have come before the words that say that their requests are complete
    const auto is_reply = [](const stash& each) { return each.what.kind == record_kind::reply; };
    if (held_ > 0 && std::ranges::any_of(stashed_, is_reply)) {
      fail_holding("shmemx_am_quiet", "replies that have come cannot be handled");
    }
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
    const guard::inside alone(threads_);
    if (std::atomic_ref(mutex).exchange(0, std::memory_order_release) == 0 || held_ == 0) {
      Substrate::fail("shmemx_am_mutex_unlock", "the mutex is not locked", "lock it first");
    }
    --held_;
    threads_.leave();
  }

 private:
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
    std::uint64_t total;
    std::vector<std::byte> bytes;
  };
  struct peer {
    // As a destination.
    record_position<records_max> next_sent;
    payload_position<payload_lines_max> payloads_sent;
    std::array<std::uint32_t, records_max> payloads_before{};  ///< what was `payloads_sent` when the record was sent
    std::uint32_t taken_there = 0;                             ///< records, as far as is known here
    std::uint32_t requests = 0;
    std::deque<kept_reply> kept;
    // As a source.
    record_position<records_max> next_taken;
    payload_position<payload_lines_max> payloads_taken;
    std::uint32_t completed = 0;
    std::uint64_t answered = 0;
    std::vector<std::byte> parts[2];  ///< of messages that have arrived in part: a request, a reply
  };

  peer& peer_at(int pe) noexcept { return peers_[index_of(pe)]; }

  static std::uint64_t load(const std::uint64_t& word) noexcept {
    // Acquire; pairs with the release of put_flag().
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
  }
  record_line* records_of(int source) const noexcept { return records_ + std::size_t{records_max} * index_of(source); }
  std::byte* payloads_of(int source) const noexcept {
    return payloads_ + std::size_t{payload_lines_max} * line_bytes * index_of(source);
  }
  static std::size_t index_of(int pe) noexcept { return static_cast<std::size_t>(pe); }
  std::uint64_t answer_of(int dest) const noexcept { return load(answers_[dest].word); }
  std::uint32_t completed(int dest) const noexcept { return static_cast<std::uint32_t>(answer_of(dest) >> 32); }

  template <class Done>
  void wait(Done done) {
    for (unsigned round = 0; !done(); ++round) {
      poll();
      Substrate::rest(round);
    }
  }

  // Sending.

  /// Whether there is a free record, and lines for a payload that ends before `payload_end`.
  bool has_room(peer& to, std::uint32_t payload_end) const noexcept {
    const std::uint32_t under_way = to.next_sent.number - to.taken_there;
    if (under_way == 0) return true;
    if (under_way == records_max) return false;
    // Payloads are free up to that of the first record that was not taken.
    return payload_end - to.payloads_before[to.taken_there % records_max] <= payload_lines_max;
  }

  /// Sends the next fragment of a message of which `sent` bytes have gone, if there is room. False: there is none.
  bool send_fragment(int dest, record_kind kind, int id, const void* source, std::size_t total, std::size_t& sent) {
    peer& to = peer_at(dest);
    const std::size_t bytes = std::min(total - sent, fragment_bytes_max);
    const bool large = bytes > record::inline_bytes_max;
    auto payloads = to.payloads_sent;
    const std::uint32_t first_line = large ? payloads.take(bytes) : 0;
    if (!has_room(to, payloads.number)) {
      to.taken_there = static_cast<std::uint32_t>(answer_of(dest));
      if (!has_room(to, payloads.number)) return false;
    }
    record_line& line = records_of(me_)[to.next_sent.index()];
    const auto* const from = static_cast<const std::byte*>(source) + sent;
    record_line filled;
    filled.message_bytes = total;
    if (large) {
      Substrate::put(payloads_of(me_) + first_line * line_bytes, from, bytes, dest);
    } else if (bytes > 0) {
      std::memcpy(filled.payload, from, bytes);
    }
    Substrate::put(&line.message_bytes, &filled.message_bytes, sizeof filled.message_bytes + (large ? 0 : bytes), dest);
    const record what{.kind = kind,
                      .first = sent == 0,
                      .last = sent + bytes == total,
                      .bytes = static_cast<std::uint32_t>(bytes),
                      .handler = id};
    Substrate::put_flag(&line.word, what.pack(to.next_sent.mark()), dest);
    to.payloads_before[to.next_sent.index()] = to.payloads_sent.number;
    to.payloads_sent = payloads;
    ++to.next_sent.number;
    sent += bytes;
    return true;
  }

  bool send_whole(int dest, int id, const void* source, std::size_t bytes, std::size_t& sent) {
    do {
      if (!send_fragment(dest, record_kind::reply, id, source, bytes, sent)) return false;
    } while (sent < bytes);
    return true;
  }

  void send_kept(int dest) {
    peer& to = peer_at(dest);
    while (!to.kept.empty()) {
      kept_reply& next = to.kept.front();
      if (!send_whole(dest, next.id, next.bytes.data(), next.bytes.size(), next.sent)) return;
      to.kept.pop_front();
      ++to.completed;
    }
  }

  // Receiving.

  /// A record that has come, and its payload.
  struct arrival {
    record what;
    std::uint64_t message_bytes;
    std::byte* payload;
  };

  /// The next record of a source, if it is there; its memory is the source's again once that is told.
  bool next_arrival(int source, arrival& found) {
    peer& from = peer_at(source);
    record_line& line = records_of(source)[from.next_taken.index()];
    const std::uint64_t word = load(line.word);
    if (word >> 63 != from.next_taken.mark()) return false;
    found = {.what = record::unpack(word), .message_bytes = line.message_bytes, .payload = line.payload};
    if (found.what.bytes > record::inline_bytes_max) {
      found.payload = payloads_of(source) + from.payloads_taken.take(found.what.bytes) * line_bytes;
    }
    ++from.next_taken.number;
    return true;
  }

  void answer_source(int source) {
    peer& from = peer_at(source);
    const std::uint64_t word = std::uint64_t{from.completed} << 32 | from.next_taken.number;
    if (word == from.answered) return;
    from.answered = word;
    Substrate::put_flag(&answers_[me_].word, word, source);
  }

  void drain(int source) {
    peer& from = peer_at(source);
    if (!from.kept.empty()) [[unlikely]]
      send_kept(source);
    arrival next;
    // What comes meanwhile is for the next time, or a busy source would keep the PE here. A handler may have left with
    // a mutex in its hands.
    for (std::uint32_t taken = 1; taken <= records_max && held_ == 0 && next_arrival(source, next); ++taken) {
      take(source, next.what, next.message_bytes, next.payload);
      if (taken % (records_max / 4) == 0) answer_source(source);
    }
    answer_source(source);
  }

  /// Makes room for the source while no handler may run.
  void set_aside(int source) {
    arrival next;
    while (next_arrival(source, next)) {
      stashed_.push_back({source, next.what, next.message_bytes,
                          std::vector<std::byte>(next.payload, next.payload + next.what.bytes)});
    }
    answer_source(source);
  }

  /// Takes a record in, and runs the handler if its message is complete.
  void take(int source, const record& what, std::uint64_t total, std::byte* payload) {
    if (what.first && what.last) [[likely]] {
      run(source, what, payload, what.bytes);
      return;
    }
    auto& parts = peer_at(source).parts[what.kind == record_kind::reply ? 1 : 0];
    if (what.first) parts.reserve(total);
    parts.insert(parts.end(), payload, payload + what.bytes);
    if (!what.last) return;
    std::vector<std::byte> whole;
    whole.swap(parts);
    run(source, what, whole.data(), whole.size());
  }

  void run(int source, const record& what, std::byte* payload, std::size_t bytes) {
    const shmemx_am_handler handler = handlers_.find(what.handler);
    if (handler == nullptr) [[unlikely]]
      fail_unknown(source, what);
    activation current{.kind = what.kind, .source = source};
    running_ = &current;
    handler(payload, bytes, source, &current);
    running_ = nullptr;
    ++handled_;
    if (what.kind == record_kind::request && !current.kept) ++peer_at(source).completed;
  }

  [[noreturn, gnu::cold]] static void fail_holding(const char* call, const std::string& what) {
    Substrate::fail(call, ("this PE holds a mutex, so that " + what).c_str(), "unlock it first");
  }

  [[noreturn, gnu::cold]] void fail_unknown(int source, const record& what) {
    const std::string problem = "PE " + std::to_string(source) + " has sent a " +
                                (what.kind == record_kind::reply ? "reply" : "request") + " to handler " +
                                std::to_string(what.handler) +
                                ", which is not registered here; registered: " + handlers_.describe();
    Substrate::fail("active message", problem.c_str(),
                    "attach the id on this PE, and synchronise the PEs before the first request");
  }

  int me_;
  std::vector<peer> peers_;
  record_line* records_;  ///< rings, by source
  std::byte* payloads_;   ///< likewise
  answer* answers_;       ///< by destination
  guard threads_;
  handler_table handlers_;
  activation* running_ = nullptr;
  int held_ = 0;  ///< mutexes
  std::uint64_t handled_ = 0;
  bool polling_ = false;
  std::deque<stash> stashed_;
};

}  // namespace amity::shmem
