#pragma once

/// Active messages over a substrate: a ring for each pair of PEs, in the memory of the one that receives.
///
/// - Messages of one PE to another are handled in the order in which they were sent. One that is larger than a record
///   travels in fragments.
/// - Handlers run in `poll`, one at a time, on the caller's thread, unless a mutex is held.
/// - A reply never waits: where the ring is full it is kept here, and its request does not count as complete until it
///   has gone. As a PE has a bounded number of requests under way to another, so are the replies that are kept.
/// - Two counters travel back in one word: the lines that are free again, and the requests that are complete.
///
/// `Substrate` offers what `node_substrate` does.

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <vector>

#include "amity/interop/shmem/am/handlers.hpp"
#include "amity/interop/shmem/am/record.hpp"

namespace amity::shmem {

template <class Substrate>
class am_engine {
 public:
  static constexpr std::uint32_t ring_lines = 1024;
  static constexpr std::size_t fragment_bytes_max = 16 * 1024 - record::payload_offset;
  static constexpr std::size_t ring_bytes = ring_lines * line_bytes;
  static constexpr std::size_t bytes_per_peer = ring_bytes + line_bytes;
  static constexpr std::uint32_t requests_max = 16 * ring_lines;  ///< under way to one PE

  /// Collective.
  am_engine()
      : me_(Substrate::me()),
        peers_(static_cast<std::size_t>(Substrate::pes())),
        rings_(static_cast<std::byte*>(Substrate::allocate(peers_.size() * ring_bytes))),
        answers_(static_cast<answer*>(Substrate::allocate(peers_.size() * sizeof(answer)))) {}

  handler_table& handlers() noexcept { return handlers_; }
  bool in_handler() const noexcept { return running_ != nullptr; }

  void request(int dest, int id, const void* source, std::size_t bytes) {
    if (running_ != nullptr) [[unlikely]] {
      Substrate::fail("shmemx_am_request", "it is called inside a handler",
                      "reply with shmemx_am_reply, or send the request after the handler has returned");
    }
    peer& to = peer_at(dest);
    wait([&] { return to.requests - completed(dest) < requests_max; });
    std::size_t sent = 0;
    do wait([&] { return send_fragment(dest, record_kind::request, id, source, bytes, sent); });
    while (sent < bytes);
    ++to.requests;
    if ((to.requests & 63u) == 0) poll();
  }

  void reply(int id, const void* source, std::size_t bytes, shmemx_am_token_t token) {
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

  /// Runs the handlers of what has arrived. Never waits.
  void poll() {
    if (running_ != nullptr || held_ > 0 || polling_) return;
    polling_ = true;
    while (!stashed_.empty() && held_ == 0) {
      stash next = std::move(stashed_.front());
      stashed_.pop_front();
      take(next.source, next.what, next.total, next.bytes.data());
    }
    for (std::size_t source = 0; source < peers_.size() && held_ == 0; ++source) drain(static_cast<int>(source));
    polling_ = false;
  }

  void quiet() {
    if (running_ != nullptr) return;  // what handlers have begun, others end
    if (held_ > 0 && peer_at(me_).requests != completed(me_)) {
      Substrate::fail("shmemx_am_quiet", "this PE holds a mutex, so that its requests to itself cannot be handled",
                      "unlock it first");
    }
    for (int dest = 0; dest < static_cast<int>(peers_.size()); ++dest) {
      wait([&] { return completed(dest) == peer_at(dest).requests; });
    }
    poll();  // replies have come before the words that say that their requests are complete
  }

  // A PE that holds a mutex keeps messages back.

  bool try_lock(shmemx_am_mutex& mutex) {
    if (std::atomic_ref(mutex).exchange(1, std::memory_order_acquire) != 0) return false;
    ++held_;
    return true;
  }
  void lock(shmemx_am_mutex& mutex) {
    // On this PE nobody else runs until the caller does: a mutex that is locked stays so.
    if (try_lock(mutex)) return;
    Substrate::fail("shmemx_am_mutex_lock", "this PE holds the mutex already", "unlock it first, or use trylock");
  }
  void unlock(shmemx_am_mutex& mutex) {
    if (std::atomic_ref(mutex).exchange(0, std::memory_order_release) == 0 || held_ == 0) {
      Substrate::fail("shmemx_am_mutex_unlock", "the mutex is not locked", "lock it first");
    }
    --held_;
  }

 private:
  /// What a PE tells each source of messages: free lines below, completed requests above.
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
    std::uint32_t sent_lines = 0;
    std::uint32_t free_below = ring_lines;  ///< lines that may be sent, by what is known here
    std::uint32_t requests = 0;
    std::deque<kept_reply> kept;
    // As a source.
    std::uint32_t taken_lines = 0;
    std::uint32_t completed = 0;
    std::uint64_t answered = 0;
    std::vector<std::byte> parts[2];  ///< of messages that have arrived in part: a request, a reply
  };

  peer& peer_at(int pe) noexcept { return peers_[static_cast<std::size_t>(pe)]; }

  static std::uint64_t load(const std::uint64_t& word) noexcept {
    // Acquire; pairs with the release of put_flag().
    return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
  }
  std::uint64_t answer_of(int dest) const noexcept { return load(answers_[dest].word); }
  std::uint32_t completed(int dest) const noexcept { return static_cast<std::uint32_t>(answer_of(dest) >> 32); }

  template <class Done>
  void wait(Done done) {
    for (unsigned round = 0; !done(); ++round) {
      if (held_ > 0) {
        for (std::size_t source = 0; source < peers_.size(); ++source) set_aside(static_cast<int>(source));
      } else {
        poll();
      }
      Substrate::rest(round);
    }
  }

  // Sending.

  bool has_room(int dest, std::uint32_t lines) {
    peer& to = peer_at(dest);
    if (to.free_below - to.sent_lines >= lines) return true;
    to.free_below = static_cast<std::uint32_t>(answer_of(dest)) + ring_lines;
    return to.free_below - to.sent_lines >= lines;
  }

  /// The place of line `number` of this PE's ring at any PE.
  std::byte* line_at(int source, std::uint32_t number) const noexcept {
    return rings_ + static_cast<std::size_t>(source) * ring_bytes + std::size_t{number % ring_lines} * line_bytes;
  }

  void put_word(int dest, std::byte* line, const record& what) {
    Substrate::put_flag(reinterpret_cast<std::uint64_t*>(line), what.pack(), dest);
  }

  /// Sends the next fragment of a message of which `sent` bytes have gone, if there is room. False: there is none.
  bool send_fragment(int dest, record_kind kind, int id, const void* source, std::size_t total, std::size_t& sent) {
    peer& to = peer_at(dest);
    const std::size_t bytes = total - sent < fragment_bytes_max ? total - sent : fragment_bytes_max;
    const std::uint32_t lines = record::lines_for(bytes);
    const std::uint32_t to_end = ring_lines - to.sent_lines % ring_lines;
    const std::uint32_t skipped = lines > to_end ? to_end : 0;
    if (!has_room(dest, skipped + lines)) return false;
    if (skipped > 0) {
      put_word(dest, line_at(me_, to.sent_lines), {.bytes = skipped});
      to.sent_lines += skipped;
    }
    std::byte* const line = line_at(me_, to.sent_lines);
    const std::uint64_t size = total;
    const auto* const from = static_cast<const std::byte*>(source) + sent;
    constexpr std::size_t in_first = line_bytes - record::payload_offset;
    if (bytes <= in_first) {
      std::byte together[sizeof size + in_first];
      std::memcpy(together, &size, sizeof size);
      if (bytes > 0) std::memcpy(together + sizeof size, from, bytes);
      Substrate::put(line + record::size_offset, together, sizeof size + bytes, dest);
    } else {
      Substrate::put(line + record::size_offset, &size, sizeof size, dest);
      Substrate::put(line + record::payload_offset, from, bytes, dest);
    }
    put_word(dest, line,
             {.kind = kind,
              .first = sent == 0,
              .last = sent + bytes == total,
              .bytes = static_cast<std::uint32_t>(bytes),
              .handler = id});
    to.sent_lines += lines;
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

  /// The record that comes next from a source, if it is there.
  bool next_record(int source, record& what, std::byte*& line) {
    line = line_at(source, peer_at(source).taken_lines);
    const std::uint64_t word = load(*reinterpret_cast<const std::uint64_t*>(line));
    if (word == 0) return false;
    what = record::unpack(word);
    return true;
  }

  /// Frees the lines of a record: all begin with zero again.
  void free_lines(int source, const record& what, std::byte* line) {
    const std::uint32_t lines = what.lines();
    const std::uint32_t written = what.kind == record_kind::skip ? 1 : lines;
    for (std::uint32_t i = 0; i < written; ++i) {
      *reinterpret_cast<std::uint64_t*>(line + std::size_t{i} * line_bytes) = 0;
    }
    peer_at(source).taken_lines += lines;
  }

  void answer_source(int source) {
    peer& from = peer_at(source);
    const std::uint64_t word = std::uint64_t{from.completed} << 32 | from.taken_lines;
    if (word == from.answered) return;
    from.answered = word;
    Substrate::put_flag(&answers_[me_].word, word, source);
  }

  void drain(int source) {
    record what;
    std::byte* line = nullptr;
    peer& from = peer_at(source);
    if (!from.kept.empty()) [[unlikely]]
      send_kept(source);
    // What arrives meanwhile is for the next time, or a busy source would keep the PE here.
    const std::uint32_t start = from.taken_lines;
    std::uint32_t last_answer = start;
    // A handler may have left with a mutex in its hands.
    while (held_ == 0 && from.taken_lines - start < ring_lines && next_record(source, what, line)) {
      if (what.kind != record_kind::skip) take(source, what, total_of(line), line + record::payload_offset);
      free_lines(source, what, line);
      if (from.taken_lines - last_answer >= ring_lines / 4) {
        answer_source(source);
        last_answer = from.taken_lines;
      }
    }
    answer_source(source);
  }

  static std::uint64_t total_of(const std::byte* line) noexcept {
    std::uint64_t total;
    std::memcpy(&total, line + record::size_offset, sizeof total);
    return total;
  }

  /// Makes room for the source while no handler may run.
  void set_aside(int source) {
    record what;
    std::byte* line = nullptr;
    while (next_record(source, what, line)) {
      if (what.kind != record_kind::skip) {
        const std::byte* const payload = line + record::payload_offset;
        stashed_.push_back({source, what, total_of(line), std::vector<std::byte>(payload, payload + what.bytes)});
      }
      free_lines(source, what, line);
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
    if (what.kind == record_kind::request && !current.kept) ++peer_at(source).completed;
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
  std::byte* rings_;  ///< by source
  answer* answers_;   ///< by destination
  handler_table handlers_;
  activation* running_ = nullptr;
  int held_ = 0;  ///< mutexes
  bool polling_ = false;
  std::deque<stash> stashed_;
};

}  // namespace amity::shmem
