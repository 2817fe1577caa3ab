#include "amity/core/record_stream.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/copy_bytes.hpp"
#include "amity/core/engine.hpp"

namespace amity::core {
namespace {

/// The stream's own record: the origin asks how far its records were carried out. `at` is the number of the flush.
constexpr std::uint8_t act_ask = 0;

/// In front of each part of an answer, which is filled up to whole words.
struct answer_head {
  std::uint32_t question;  ///< `no_question`: the flush `at`, and all before it
  std::uint32_t bytes;     ///< of the content, and `last_bit`
  std::uint64_t at;

  static constexpr std::uint32_t last_bit = std::uint32_t{1} << 31;
  std::size_t content_bytes() const noexcept { return bytes & ~last_bit; }
  bool is_last() const noexcept { return (bytes & last_bit) != 0; }
};
static_assert(sizeof(answer_head) == 16 && sizeof(answer_head) <= sizeof(record));

/// A put that the end of a packet would cut before this much of it begins in the next one.
constexpr std::size_t part_bytes_min = 256;

/// A record of few bytes, alone in a packet.
constexpr std::size_t short_packet_bytes = 64;

constexpr std::size_t in_words(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

/// The memory of a packet held others before, to other ranks maybe: what fills up the last word must not contain them.
void clear_padding(std::byte* content, std::size_t bytes) noexcept {
  if (bytes % 8 != 0) std::memset(content + bytes, 0, in_words(bytes) - bytes);
}

/// Before another record follows the last one, or the packet leaves: content may have joined.
void end_tail(const fabric::slot& open, std::size_t at, const record_tail& last) noexcept {
  if (last.is_open()) clear_padding(open.data + at + sizeof(record), last.last().bytes);
}

constexpr packet_header answers_header = service_header(service::answers);

constexpr std::uint16_t next_after(std::uint16_t sequence) {
  return static_cast<std::uint16_t>((sequence + 1) & check_mask);
}
/// Packets from one number to another.
constexpr std::uint16_t distance(std::uint16_t from, std::uint16_t to) {
  return static_cast<std::uint16_t>((to - from) & check_mask);
}

}  // namespace

/// The answers to the records of one packet.
class record_stream::answer_packet final : public answers, private immovable {
 public:
  answer_packet(fabric::fabric& transport, rank_t dest) : transport_(transport), dest_(dest) {}
  ~answer_packet() { send(); }

  std::byte* try_write(std::uint32_t question, std::uint64_t at, std::size_t bytes, answer_part part) override {
    const std::size_t room = sizeof(answer_head) + in_words(bytes);
    if (used_ > 0 && room > slot_.capacity - used_) send();
    if (used_ == 0 && !open()) return nullptr;
    const answer_head head{
        .question = question,
        .bytes = static_cast<std::uint32_t>(bytes) | (part == answer_part::last ? answer_head::last_bit : 0),
        .at = at};
    std::byte* const place = slot_.data + used_;
    std::memcpy(place, &head, sizeof head);
    clear_padding(place + sizeof head, bytes);
    used_ += room;
    return place + sizeof head;
  }
  /// After each record: what has only a credit of the reserve must not stay open.
  void end_record() noexcept {
    if (reserved_) send();
  }

 private:
  bool open() noexcept {
    if (transport_.acquire(dest_, slot_, fabric::claim::ordinary) == status::ok) return true;
    reserved_ = transport_.acquire(dest_, slot_, fabric::claim::answer) == status::ok;
    return reserved_;
  }
  void send() noexcept {
    if (used_ > 0) transport_.commit(dest_, answers_header.word(), slot_, used_);
    used_ = 0;
    reserved_ = false;
  }

  fabric::fabric& transport_;
  rank_t dest_;
  fabric::slot slot_;
  std::size_t used_ = 0;
  bool reserved_ = false;
};

record_stream::record_stream(engine& on)
    : engine_(on),
      transport_(on.transport()),
      packet_bytes_max_(transport_.caps().packet_bytes_max / 8 * 8),
      short_bytes_max_(std::min(transport_.caps().inline_bytes_max, short_packet_bytes)) {
  engine_.served().attach(service::records, *this);
  engine_.served().attach(service::answers, *this);
}

record_stream::~record_stream() {
  engine_.detach(static_cast<progress_client&>(*this));
  if (!engine_.on_own_thread()) return;
  for (const rank_t lane : stalled_) {
    peer& of = at(lane);
    for (const kept_packet& each : of.kept) transport_.release(each.token);
  }
}

record_stream::peer& record_stream::at(rank_t lane) {
  std::unique_ptr<peer>& found = peers_[lane];
  if (found == nullptr) [[unlikely]] {
    found = std::make_unique<peer>();
    lanes_.push_back(lane);
  }
  return *found;
}

// At the origin

std::size_t record_stream::peer::used() const noexcept {
  return tail.is_open() ? tail_at + sizeof(record) + in_words(tail.last().bytes) : 0;
}

std::size_t record_stream::room(rank_t target, std::size_t bytes) {
  const std::size_t left = packet_bytes_max_ - at(target).used();
  return left >= sizeof(record) + std::min(bytes, part_bytes_min) ? left - sizeof(record)
                                                                  : record_bytes_max(packet_bytes_max_);
}

std::byte* record_stream::try_append(rank_t target, const record& what, tracking by, fabric::claim of) noexcept {
  peer& to = at(target);
  const std::size_t bytes = sizeof what + in_words(what.bytes);
  if (bytes > packet_bytes_max_ - to.used()) send(target);
  if (!to.tail.is_open()) {
    if (transport_.acquire(target, to.open, of) != status::ok) return nullptr;
    engine_.sent();
  }
  end_tail(to.open, to.tail_at, to.tail);
  to.tail_at = to.used();
  std::byte* const place = to.open.data + to.tail_at;
  to.tail.begin(what, place, packet_bytes_max_ - to.tail_at);
  note_tracking(target, to, what, by);
  return place + sizeof what;
}

// An answer proves that a record has been carried out.
void record_stream::note_tracking(rank_t target, peer& to, const record& what, tracking by) {
  if (what.question != no_question || by != tracking::by_flush) return;
  to.changed = true;
  if (!std::exchange(to.listed, true)) changed_.push_back(target);
}

bool record_stream::try_send(rank_t target, const record& what, bytes_view content, tracking by,
                             fabric::claim of) noexcept {
  peer& to = at(target);
  const std::size_t bytes = sizeof what + in_words(content.size());
  if (to.tail.is_open() || bytes > short_bytes_max_) {
    std::byte* const place = try_append(target, what, by, of);
    if (place == nullptr) return false;
    copy_bytes(place, content.data(), content.size());
    send(target);
    return true;
  }
  std::array<std::byte, short_packet_bytes> packet{};
  std::memcpy(packet.data(), &what, sizeof what);
  copy_bytes(packet.data() + sizeof what, content.data(), content.size());
  const std::uint64_t header = service_header(service::records, to.next_out).word();
  if (transport_.try_send(target, header, {packet.data(), bytes}, of) != status::ok) return false;
  engine_.sent();
  to.next_out = next_after(to.next_out);
  note_tracking(target, to, what, by);
  return true;
}

void record_stream::send(rank_t target) noexcept {
  const std::unique_ptr<peer>* const found = peers_.find(target);
  if (found == nullptr || !(*found)->tail.is_open()) return;
  peer& to = **found;
  end_tail(to.open, to.tail_at, to.tail);
  transport_.commit(target, service_header(service::records, to.next_out).word(), to.open, to.used());
  to.next_out = next_after(to.next_out);
  to.tail.close();
}

std::optional<std::uint32_t> record_stream::try_expect(rank_t target, mutable_bytes to, awaited& told) {
  if (questions_under_way_ == questions_max) return std::nullopt;
  ++questions_under_way_;
  return questions_.add({.target = target, .to = to.data(), .bytes = to.size(), .left = to.size(), .told = &told});
}

void record_stream::withdraw(std::uint32_t number) {
  const bool was_asked = questions_.remove(number);
  AMITY_ASSERT(was_asked, number);
  --questions_under_way_;
}

void record_stream::flush(rank_t target, awaited& complete) {
  peer& to = at(target);
  to.flushes.push_back({.number = to.asked + 1, .told = &complete});
  ++flushes_waiting_;
  static_cast<void>(try_ask(target, to));
}

void record_stream::flush_all(rank_t but) {
  std::erase_if(changed_, [&](rank_t target) {
    peer& to = at(target);
    if (target == but && to.changed) return false;
    to.listed = false;
    if (to.changed && !to.must_ask) static_cast<void>(try_ask(target, to));
    return true;
  });
}

bool record_stream::try_ask(rank_t target, peer& to) noexcept {
  if (!try_send(target, {.act = act_ask, .at = to.asked + 1}, {}, tracking::otherwise, fabric::claim::no_epoch)) {
    if (!std::exchange(to.must_ask, true)) continue_later(unasked_, target);
    return false;
  }
  ++to.asked;
  ++flushes_under_way_;
  to.changed = to.must_ask = false;
  return true;
}

// Most rounds of progress have nothing to continue, and never look here.
void record_stream::continue_later(std::vector<rank_t>& lanes, rank_t lane) {
  lanes.push_back(lane);
  if (!std::exchange(in_every_round_, true)) engine_.attach(static_cast<progress_client&>(*this));
}

bool record_stream::on_progress() try {
  // Events on the stack of a function that an exception has left do not exist.
  if (engine_.failure().exists()) return false;
  bool any = false;
  for (std::size_t i = 0; i < unasked_.size();) {
    if (at(unasked_[i]).must_ask && !try_ask(unasked_[i], at(unasked_[i]))) {
      ++i;
      continue;
    }
    any = true;
    unasked_[i] = unasked_.back();
    unasked_.pop_back();
  }
  for (std::size_t i = 0; i < stalled_.size();) {
    const rank_t source = stalled_[i];
    peer& of = at(source);
    const std::size_t kept = of.kept.size(), done = of.done;
    const std::uint64_t told = of.told;
    const bool no_more = carry_out_kept(source, of);
    const bool all = tell_flushed(source, of) && no_more;  // what was kept may be a flush
    any |= kept != of.kept.size() || done != of.done || told != of.told;
    // Packets that came too early wait for others to arrive, which carry these out, too.
    if (!all) {
      ++i;
      continue;
    }
    of.stalls = false;
    stalled_[i] = stalled_.back();
    stalled_.pop_back();
  }
  if (unasked_.empty() && stalled_.empty()) {
    engine_.detach(static_cast<progress_client&>(*this));
    in_every_round_ = false;
  }
  return any;
} catch (...) {
  // As for arrivals: other ranks hear of it, and nothing more is handled.
  engine_.failure().set(std::current_exception());
  return false;
}

bool record_stream::settled() const noexcept {
  if (!flushed() || questions_under_way_ > 0) return false;
  return std::ranges::none_of(changed_, [this](rank_t each) { return (*peers_.find(each))->changed; });
}

std::vector<rank_t> record_stream::awaited_lanes() const {
  std::vector<rank_t> lanes;
  for (const rank_t lane : lanes_) {
    const peer& of = **peers_.find(lane);
    bool waits = of.must_ask || of.asked != of.answered;
    questions_.for_each([&](const question& each) { waits |= each.target == lane; });
    if (waits) lanes.push_back(lane);
  }
  return lanes;
}

// Arrivals

fabric::disposition record_stream::on_packet(packet_header header, const fabric::packet& arrived) {
  if (static_cast<service>(header.handler()) == service::records) return on_records(header, arrived);
  on_answers(arrived.source, arrived.payload);
  return fabric::disposition::release;
}

fabric::disposition record_stream::on_records(packet_header header, const fabric::packet& arrived) {
  peer& of = at(arrived.source);
  const std::uint16_t early = distance(of.next_in, header.check());
  const bool is_next = early == 0 && (of.kept.empty() || of.kept.front().sequence != of.next_in);
  if (is_next && carry_out(arrived.source, of, arrived.payload)) {
    of.next_in = next_after(of.next_in);
    static_cast<void>(carry_out_kept(arrived.source, of));
    if (!tell_flushed(arrived.source, of)) stall(arrived.source, of);
    return fabric::disposition::release;
  }
  // Credits bound how far a packet can be ahead.
  const auto behind = std::ranges::find_if(
      of.kept, [&](const kept_packet& each) { return distance(of.next_in, each.sequence) >= early; });
  if (early > check_mask / 2 || (behind != of.kept.end() && behind->sequence == header.check()))
    throw engine_.invalid_packet(arrived.source, "records that arrived before");
  of.kept.insert(behind, {.sequence = header.check(), .payload = arrived.payload, .token = arrived.token});
  stall(arrived.source, of);
  return fabric::disposition::keep;
}

void record_stream::stall(rank_t source, peer& of) {
  if (!std::exchange(of.stalls, true)) continue_later(stalled_, source);
}

bool record_stream::carry_out_kept(rank_t source, peer& of) {
  while (!of.kept.empty() && of.kept.front().sequence == of.next_in) {
    const kept_packet next = of.kept.front();
    if (!carry_out(source, of, next.payload)) return false;
    of.kept.erase(of.kept.begin());
    of.next_in = next_after(of.next_in);
    transport_.release(next.token);
  }
  return of.kept.empty();
}

// Goes on behind what was carried out before.
bool record_stream::carry_out(rank_t source, peer& of, bytes_view payload) {
  answer_packet answered(transport_, source);
  while (of.done < payload.size() && !engine_.failure().exists()) {
    const bytes_view rest = payload.subspan(of.done);
    record what;
    if (rest.size() < sizeof what)
      throw engine_.invalid_packet(source, fmt::format("a record of {} bytes", rest.size()));
    std::memcpy(&what, rest.data(), sizeof what);
    if (in_words(what.bytes) > rest.size() - sizeof what) {
      throw engine_.invalid_packet(source, fmt::format("a record with {} bytes of content in a packet that has {}",
                                                       what.bytes, rest.size() - sizeof what));
    }
    if (what.owner == record_owner::stream) {
      if (what.act != act_ask || what.at <= of.flushed)
        throw engine_.invalid_packet(source, fmt::format("flush {} after flush {}", what.at, of.flushed));
      of.flushed = what.at;
    } else if (!executor_of(source, what).execute(source, what, rest.subspan(sizeof what, what.bytes), answered)) {
      return false;
    }
    answered.end_record();
    of.done += sizeof what + in_words(what.bytes);
  }
  of.done = 0;
  return true;
}

record_executor& record_stream::executor_of(rank_t source, const record& what) {
  const auto index = static_cast<std::size_t>(what.owner);
  if (what.owner == record_owner::memory) static_cast<void>(engine_.served().memory());  // it attaches its executor
  if (index >= executors_.size() || executors_[index] == nullptr)
    throw engine_.invalid_packet(source, fmt::format("a record of owner {}", index));
  return *executors_[index];
}

bool record_stream::tell_flushed(rank_t source, peer& of) noexcept {
  if (of.flushed == of.told) return true;
  const answer_head told{.question = no_question, .bytes = 0, .at = of.flushed};
  if (transport_.try_send(source, answers_header.word(), std::as_bytes(std::span(&told, 1)), fabric::claim::answer) !=
      status::ok)
    return false;
  of.told = of.flushed;
  return true;
}

void record_stream::on_answers(rank_t source, bytes_view payload) {
  for (bytes_view rest = payload; !rest.empty() && !engine_.failure().exists();) {
    answer_head head;
    if (rest.size() < sizeof head ||
        in_words((std::memcpy(&head, rest.data(), sizeof head), head.content_bytes())) > rest.size() - sizeof head)
      throw engine_.invalid_packet(source, fmt::format("an answer of {} bytes", rest.size()));
    if (head.question == no_question) {
      on_flushed(source, head.at);
    } else {
      take_answer(source, head.question, head.at, rest.subspan(sizeof head, head.content_bytes()), head.is_last());
    }
    rest = rest.subspan(sizeof head + in_words(head.content_bytes()));
  }
}

void record_stream::on_flushed(rank_t source, std::uint64_t number) {
  peer& from = at(source);
  // Answers may overtake one another.
  if (number > from.asked)
    throw engine_.invalid_packet(source, fmt::format("an answer to flush {} of {}", number, from.asked));
  if (number <= from.answered) return;
  flushes_under_way_ -= number - std::exchange(from.answered, number);
  std::size_t count = 0;
  for (; count < from.flushes.size() && from.flushes[count].number <= number; ++count) {
    awaited& told = *from.flushes[count].told;  // it may begin another flush
    told.reached();
  }
  from.flushes.erase(from.flushes.begin(), from.flushes.begin() + static_cast<std::ptrdiff_t>(count));
  flushes_waiting_ -= count;
}

void record_stream::take_answer(rank_t source, std::uint32_t number, std::uint64_t offset, bytes_view content,
                                bool is_last) {
  question* const asked = questions_.find(number);
  const bool is_part = asked != nullptr && (!content.empty() || asked->bytes == 0);
  if (!is_part || asked->target != source || content.size() > asked->left || offset > asked->bytes ||
      content.size() > asked->bytes - offset) {
    throw engine_.invalid_packet(source, fmt::format("{} bytes at {} for question {:#x}, which this rank has not asked",
                                                     content.size(), offset, number));
  }
  copy_bytes(asked->to + offset, content.data(), content.size());
  asked->left -= content.size();
  if (is_last) {
    const std::size_t missing = asked->bytes - offset - content.size();  // which do not come
    if (missing > asked->left)
      throw engine_.invalid_packet(source, fmt::format("an end of the answer to question {:#x} at {}", number, offset));
    asked->bytes -= missing;
    asked->left -= missing;
  }
  if (asked->left > 0) return;
  awaited& told = *asked->told;
  withdraw(number);
  told.reached();
}

}  // namespace amity::core
