#include "amity/interop/shmem/network.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <span>
#include <thread>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/error.hpp"
#include "amity/fabric/waiter.hpp"
#include "amity/interop/shmem/job.hpp"

namespace amity::shmem {
namespace {

constexpr std::size_t packets_per_poll = 64;
constexpr std::uint32_t idle_polls_max = 1024;
/// A put that would be cut by the end of a packet before this much of it goes into the next one.
constexpr std::size_t part_bytes_min = 256;

/// Places are offsets, since addresses differ between PEs; the highest bit is that of static variables.
constexpr std::uint64_t in_statics = std::uint64_t{1} << 63;

std::uint64_t place_of(const char* call, const void* address, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const bool heap = self.heap.holds(first);
  if (!heap && !self.statics.holds(first)) fail_address(call, address);
  const extent& memory = heap ? self.heap : self.statics;
  if (bytes > memory.bytes_from(address)) fail_length(call, address, bytes);
  const std::uintptr_t offset = first - memory.first;
  return heap ? offset : offset | in_statics;
}

std::byte* address_of(std::uint64_t place, std::size_t bytes) noexcept {
  const extent& memory = (place & in_statics) != 0 ? self.statics : self.heap;
  const std::uint64_t offset = place & ~in_statics;
  AMITY_ASSERT(offset <= memory.bytes && bytes <= memory.bytes - offset, offset, bytes, memory.bytes);
  return reinterpret_cast<std::byte*>(memory.first + offset);
}

template <class Word>
bool move_word(std::byte* to, const std::byte* from) noexcept {
  if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % sizeof(Word) != 0) return false;
  // Release; pairs with the acquire of whoever waits for the word on another thread, and then reads what came before.
  std::atomic_ref(*reinterpret_cast<Word*>(to))
      .store(std::atomic_ref(*reinterpret_cast<Word*>(const_cast<std::byte*>(from))).load(std::memory_order_acquire),
             std::memory_order_release);
  return true;
}

/// Whoever looks at a word meanwhile sees it whole.
void move(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  if (bytes == 8 && move_word<std::uint64_t>(to, from)) return;
  if (bytes == 4 && move_word<std::uint32_t>(to, from)) return;
  if (bytes == 2 && move_word<std::uint16_t>(to, from)) return;
  if (bytes > 0) std::memcpy(to, from, bytes);
}

constexpr std::size_t in_words(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace

network::network(fabric::fabric& transport)
    : transport_(transport),
      packet_bytes_max_(transport.caps().packet_bytes_max / 8 * 8),
      peers_(static_cast<std::size_t>(transport.size())) {
  AMITY_ASSERT(transport.caps().ordered, transport.caps().name);
}

// At the PE that asks

bool network::try_open(int pe, std::size_t bytes) noexcept {
  peer& to = at(pe);
  if (to.used > 0 && packet_bytes_max_ - to.used >= bytes) return true;
  send(pe);
  return transport_.acquire(pe, to.open, fabric::claim::ordinary) == status::ok;
}

// Runs no handlers: they could send, and a message may be half on its way. Other threads come in, one that ends the job
// among them: the PE that this one waits for may have left by then.
void network::rest(unsigned round) {
  const guard::outside others(threads_);
  self.joined->pause(round);
}

template <class Ready, class Describe>
void network::wait_outside(Ready ready, Describe describe) {
  serve_until(
      ready, [] { return false; }, [this](unsigned round) { rest(round); }, self.stall_ns,
      [&](double seconds) { report_stall(seconds, describe()); });
}

void network::open(int pe, std::size_t bytes) {
  // While it rests no packet to this PE is open.
  wait_outside([&] { return try_open(pe, bytes); },
               [&] { return fmt::format("a call that sends: PE {} is to take what it was sent before", pe); });
}

std::byte* network::append(peer& to, const item& what) noexcept {
  std::byte* const place = to.open.data + to.used;
  std::memcpy(place, &what, sizeof what);
  to.used += sizeof what + in_words(what.bytes);
  return place + sizeof what;
}

void network::send(int pe) {
  const guard::inside alone(threads_);
  peer& to = at(pe);
  if (to.used == 0) return;
  transport_.commit(pe, header, to.open, to.used);
  to.used = 0;
}

void network::send_all() {
  const guard::inside alone(threads_);
  for (int pe = 0; pe < self.pes; ++pe) send(pe);
}

void network::write(const char* call, void* dest, const void* source, std::size_t bytes, int pe) {
  const guard::inside alone(threads_);
  std::uint64_t place = place_of(call, dest, bytes);
  const auto* from = static_cast<const std::byte*>(source);
  peer& to = at(pe);
  while (bytes > 0) {
    open(pe, sizeof(item) + in_words(std::min(bytes, part_bytes_min)));
    const std::size_t part = std::min(bytes, packet_bytes_max_ - to.used - sizeof(item));
    move(append(to, {.what = act::put, .bytes = static_cast<std::uint32_t>(part), .at = place}), from, part);
    place += part;
    from += part;
    bytes -= part;
  }
}

void network::atomic(const char* call, void* address, const fabric::atomic_request& what, int pe) {
  const guard::inside alone(threads_);
  const std::uint64_t place = place_of(call, address, what.bytes);
  const operands given{.operand = what.operand, .expected = what.expected, .question = 0};
  open(pe, sizeof(item) + sizeof given);
  at(pe).changed = true;
  const item head{.what = act::atomic, .op = what.op, .word_bytes = what.bytes, .bytes = sizeof given, .at = place};
  std::memcpy(append(at(pe), head), &given, sizeof given);
}

/// A question whose answer goes to `dest`. It may have to wait for the end of others, whose threads are not inside.
std::size_t network::ask_for(void* dest, std::size_t bytes, bool waits) {
  std::size_t number = last_question_;
  // Acquire; pairs with the release in await() and take_data().
  const auto find_free = [&] {
    do {
      number = (number + 1) % questions_max;
      if (!questions_[number].taken.load(std::memory_order_acquire)) return true;
    } while (number != last_question_);
    send_all();
    return false;
  };
  wait_outside(find_free, [] { return "a call that gets: other PEs are to answer those before it"; });
  last_question_ = number;
  question& asked = questions_[number];
  asked.taken.store(true, std::memory_order_relaxed);
  asked.to = static_cast<std::byte*>(dest);
  asked.waits = waits;
  asked.left.store(bytes, std::memory_order_relaxed);
  if (!waits) nobody_waits_.fetch_add(1, std::memory_order_relaxed);
  return number;
}

void network::await(const char* call, std::size_t number, int pe) {
  question& asked = questions_[number];
  // Acquire; pairs with the release in take_data().
  self.joined->wait([&] { return asked.left.load(std::memory_order_acquire) == 0; },
                    [&] { return fmt::format("{}: PE {} is to answer", call, pe); });
  // Not inside: another thread may be there, and wait for this question.
  asked.taken.store(false, std::memory_order_release);
}

std::uint64_t network::fetch(const char* call, void* address, const fabric::atomic_request& what, int pe) {
  std::uint64_t before = 0;
  std::size_t number = 0;
  {
    const guard::inside alone(threads_);
    const std::uint64_t place = place_of(call, address, what.bytes);
    number = ask_for(&before, what.bytes, true);
    const operands given{.operand = what.operand, .expected = what.expected, .question = number};
    open(pe, sizeof(item) + sizeof given);
    const item head{.what = act::fetch, .op = what.op, .word_bytes = what.bytes, .bytes = sizeof given, .at = place};
    std::memcpy(append(at(pe), head), &given, sizeof given);
    send(pe);
  }
  await(call, number, pe);
  return before;
}

void network::send_get(const char* call, std::size_t number, const void* source, std::size_t bytes, int pe) {
  const std::uint64_t place = place_of(call, source, bytes);
  const wanted what{.bytes = bytes, .question = number};
  open(pe, sizeof(item) + sizeof what);
  std::memcpy(append(at(pe), {.what = act::get, .bytes = sizeof what, .at = place}), &what, sizeof what);
}

void network::get(const char* call, void* dest, const void* source, std::size_t bytes, int pe) {
  std::size_t number = 0;
  {
    const guard::inside alone(threads_);
    number = ask_for(dest, bytes, true);
    send_get(call, number, source, bytes, pe);
    send(pe);
  }
  await(call, number, pe);
}

void network::begin_get(const char* call, void* dest, const void* source, std::size_t bytes, int pe) {
  const guard::inside alone(threads_);
  send_get(call, ask_for(dest, bytes, false), source, bytes, pe);
}

void network::quiet_but(int excepted) {
  {
    const guard::inside alone(threads_);
    for (int pe = 0; pe < self.pes; ++pe) {
      peer& to = at(pe);
      if (!to.changed || pe == excepted) continue;
      open(pe, sizeof(item));
      append(to, {.what = act::ask, .at = ++to.asked});
      to.changed = false;
      unanswered_.fetch_add(1, std::memory_order_relaxed);
      send(pe);
    }
  }
  self.joined->wait([&] { return unanswered_.load(std::memory_order_acquire) == 0; },
                    [] { return "a quiet, or a barrier: other PEs are to carry out what this one has sent"; });
  finish_gets();
}

void network::finish_gets() {
  send_all();
  self.joined->wait([&] { return nobody_waits_.load(std::memory_order_acquire) == 0; },
                    [] { return "the end of shmem_get_nbi or the like: other PEs are to answer"; });
}

// At the PE whose memory it is, and back

bool network::poll() {
  const guard::inside alone(threads_, std::try_to_lock);
  if (!alone.entered()) return false;
  const bool any = transport_.poll(*this, packets_per_poll) > 0;
  if (owes_) reply_all();
  // A PE that finds nothing has the time to ask whether the job still runs.
  idle_polls_ = any ? 0 : idle_polls_ + 1;
  if (idle_polls_ == idle_polls_max) {
    idle_polls_ = 0;
    look_for_the_end(1);
  }
  return any;
}

fabric::disposition network::on_packet(const fabric::packet& arrived) noexcept {
  AMITY_ASSERT(arrived.header == header, arrived.header, arrived.source);
  for (bytes_view rest = arrived.payload; !rest.empty();) {
    item next;
    AMITY_ASSERT(rest.size() >= sizeof next, rest.size(), arrived.source);
    std::memcpy(&next, rest.data(), sizeof next);
    rest = rest.subspan(sizeof next);
    AMITY_ASSERT(rest.size() >= in_words(next.bytes), rest.size(), next.bytes, arrived.source);
    carry_out(arrived.source, next, rest.data());
    rest = rest.subspan(in_words(next.bytes));
  }
  return fabric::disposition::release;
}

void network::carry_out(int source, const item& what, const std::byte* content) noexcept {
  peer& from = at(source);
  switch (what.what) {
    case act::put:
      return move(address_of(what.at, what.bytes), content, what.bytes);
    case act::atomic:
    case act::fetch: {
      operands given;
      std::memcpy(&given, content, sizeof given);
      const std::uint64_t before = fabric::apply_atomic(
          {.op = what.op, .bytes = what.word_bytes, .operand = given.operand, .expected = given.expected},
          address_of(what.at, what.word_bytes));
      if (what.what == act::atomic) return;
      from.replies.push_back({.question = given.question, .from = nullptr, .value = before, .left = what.word_bytes});
      owes_ = true;
      return;
    }
    case act::get: {
      wanted asked;
      std::memcpy(&asked, content, sizeof asked);
      from.replies.push_back(
          {.question = asked.question, .from = address_of(what.at, asked.bytes), .value = 0, .left = asked.bytes});
      owes_ = true;
      return;
    }
    case act::data:
      return take_data(what.at, content, what.bytes);
    case act::ask:
      from.to_answer = what.at;
      owes_ = true;
      return;
    case act::answer:
      // Release; pairs with the acquire in quiet(). Of several asks the last one alone may be answered.
      unanswered_.fetch_sub(what.at - from.answers, std::memory_order_release);
      from.answers = what.at;
      return;
  }
  AMITY_ASSERT(false, static_cast<int>(what.what), source);
}

void network::take_data(std::uint64_t number, const std::byte* content, std::size_t bytes) noexcept {
  AMITY_ASSERT(number < questions_max, number);
  question& asked = questions_[number];
  const std::size_t left = asked.left.load(std::memory_order_relaxed);
  AMITY_ASSERT(bytes <= left, bytes, left);
  move(asked.to, content, bytes);
  asked.to += bytes;
  const bool ended = left == bytes && !asked.waits;
  asked.left.store(left - bytes, std::memory_order_release);
  if (!ended) return;
  asked.taken.store(false, std::memory_order_release);
  nobody_waits_.fetch_sub(1, std::memory_order_release);
}

void network::reply_all() noexcept {
  owes_ = false;
  for (int pe = 0; pe < static_cast<int>(peers_.size()); ++pe) {
    peer& to = at(pe);
    if (to.replies.empty() && to.to_answer == to.answered) continue;
    if (!reply_to(pe)) owes_ = true;
    send(pe);
  }
}

/// False: there is more, and no credit for it.
bool network::reply_to(int pe) noexcept {
  peer& to = at(pe);
  if (to.to_answer != to.answered) {
    if (!try_open(pe, sizeof(item))) return false;
    append(to, {.what = act::answer, .at = to.to_answer});
    to.answered = to.to_answer;
  }
  while (!to.replies.empty()) {
    reply& next = to.replies.front();
    if (!try_open(pe, sizeof(item) + in_words(std::min(next.left, part_bytes_min)))) return false;
    const std::size_t part = std::min(next.left, packet_bytes_max_ - to.used - sizeof(item));
    const auto* const from = next.from != nullptr ? next.from : reinterpret_cast<const std::byte*>(&next.value);
    move(append(to, {.what = act::data, .bytes = static_cast<std::uint32_t>(part), .at = next.question}), from, part);
    next.left -= part;
    if (next.from != nullptr) next.from += part;
    if (next.left == 0) to.replies.pop_front();
  }
  return true;
}

void network::look_for_the_end(std::uint64_t timeout_ns) {
  const guard::inside alone(threads_, std::try_to_lock);
  if (!alone.entered()) return;
  try {
    amity::fabric::wait(transport_, timeout_ns);
    return;
  } catch (const job_aborted&) {
    // Whoever has ended the job has said why, and with what status: a launcher is to hear of that first.
    std::this_thread::sleep_for(std::chrono::seconds(1));
  } catch (const std::exception& mistake) {
    std::fprintf(stderr, "%s\n", mistake.what());
  }
  std::fflush(nullptr);
  ::_exit(1);
}

}  // namespace amity::shmem
