#include "amity/fabric/mpi/lane.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "amity/base/assert.hpp"
#include "amity/base/clock.hpp"
#include "amity/base/error.hpp"

namespace amity::fabric::mpi {
namespace {

/// Sends that are looked at in one go.
constexpr std::size_t looks_at_sends = AMITY_MPI_TEST_SOME_MAX;

/// Messages in a row that are there when they are asked for.
constexpr std::uint32_t found_in_a_row_max = 32;

struct token {
  std::uint32_t buffer;
  rank_t source;

  std::uint64_t pack() const { return std::uint64_t{buffer} << 32 | static_cast<std::uint32_t>(source); }
  static token unpack(std::uint64_t packed) {
    return {.buffer = static_cast<std::uint32_t>(packed >> 32), .source = static_cast<rank_t>(packed)};
  }
};

}  // namespace

lane::lane(group& processes, rank_t thread, const settings& config)
    : group_(processes),
      mpi_(processes.mpi()),
      threads_(processes.threads()),
      thread_(thread),
      rank_(processes.rank() * threads_ + thread),
      size_(processes.lanes()),
      tags_(threads_, mpi_.tag_max()),
      credits_(static_cast<std::uint32_t>(processes.caps().credits_per_peer + reserve_per_peer)),
      reports_(credits_, std::max<std::size_t>(processes.caps().credits_per_peer / 2, 1)),
      peers_(static_cast<std::size_t>(size_)),
      in_(processes.caps().packet_bytes_max) {
  const auto peers = static_cast<std::size_t>(size_);
  // A packet for each credit, and for each peer a message that gives credits back.
  const std::size_t buffers = peers * (credits_ + 1);
  out_.emplace(buffers, processes.caps().packet_bytes_max);
  sends_.reserve(buffers);
  unfinished_.reserve(buffers);
  short_.reserve(peers);

  const auto receives = static_cast<std::size_t>(config.integer("AMITY_MPI_RECEIVES"));
  posted_.resize(receives);
  for (std::size_t place = 0; place < receives; ++place) {
    posted_buffers_.push_back(in_.take());
    post(place);
  }
}

lane::~lane() {
  for (std::size_t place = 0; place < posted_.size(); ++place) {
    if (posted_[place].value != mpi_.no_request.value) mpi_.cancel(&posted_[place]);
  }
  // A job that is lost may leave sends behind that no peer takes any more: MPI keeps what it may still read.
  if (!sends_.empty()) new send_buffers(std::move(*out_));
}

lane::account& lane::at(rank_t rank) noexcept {
  AMITY_DEBUG_ASSERT(rank >= 0 && rank < size_, rank, size_);
  return peers_[static_cast<std::size_t>(rank)];
}

// Sending

bool lane::take_credit(rank_t dest, claim of, std::uint32_t& buffer) noexcept {
  account& to = at(dest);
  if (!is_free_for(of, to.in_use, credits_) || !find_buffer()) return false;
  ++to.in_use;
  ++packet_buffers_;
  buffer = out_->take();
  return true;
}

// A peer may have returned the credit of a packet whose send MPI has not reported as done: its buffer is still in use.
bool lane::find_buffer() noexcept {
  const std::size_t most = static_cast<std::size_t>(size_) * credits_;
  for (std::size_t looked = 0; packet_buffers_ == most; looked += looks_at_sends) {
    if (looked >= sends_.size()) return false;
    finish_some();
  }
  return true;
}

status lane::refuse(rank_t dest, claim of) noexcept {
  account& by = at(dest);
  if (std::ranges::find(short_, dest) == short_.end()) {
    short_.push_back(dest);
    by.refused = of;
  }
  by.refused = std::max(by.refused, of);
  return status::again;
}

status lane::try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept {
  AMITY_DEBUG_ASSERT(payload.size() <= caps().packet_bytes_max, rank_, dest, payload.size());
  std::uint32_t buffer = 0;
  if (!take_credit(dest, of, buffer)) return refuse(dest, of);
  if (!payload.empty()) std::memcpy((*out_)[buffer], payload.data(), payload.size());
  send_packet(dest, header, buffer, payload.size());
  return status::ok;
}

status lane::acquire(rank_t dest, slot& out, claim of) noexcept {
  std::uint32_t buffer = 0;
  if (!take_credit(dest, of, buffer)) return refuse(dest, of);
  out = {.data = (*out_)[buffer], .capacity = static_cast<std::uint32_t>(caps().packet_bytes_max), .id = buffer};
  return status::ok;
}

void lane::commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept {
  AMITY_DEBUG_ASSERT(payload_bytes <= filled.capacity, rank_, dest, payload_bytes);
  send_packet(dest, header, filled.id, payload_bytes);
}

void lane::send_packet(rank_t dest, std::uint64_t header, std::uint32_t buffer, std::size_t bytes) noexcept {
  account& to = at(dest);
  if (header == to.header_sent) {
    send(dest, buffer, bytes, content::packet, no_rank);
    return;
  }
  to.header_sent = header;
  std::memcpy((*out_)[buffer] + bytes, &header, header_bytes);
  send(dest, buffer, bytes + header_bytes, content::packet_with_header, no_rank);
}

void lane::send(rank_t dest, std::uint32_t buffer, std::size_t bytes, content what, rank_t gives_back_to) noexcept {
  account& to = at(dest);
  const std::uint32_t credits = std::min(to.owed, tags_.credits_max());
  to.owed -= credits;
  to.unreported -= credits;
  ++to.sent;
  const auto [process, thread] = group_.place_of(dest);
  amity_mpi_request request = mpi_.no_request;
  const unfinished sent{.buffer = buffer, .gives_back_to = gives_back_to};
  if (mpi_.send((*out_)[buffer], static_cast<int>(bytes), process,
                tags_.pack({.content = what, .thread = thread_, .credits = credits}), group_.communicator(thread),
                &request)) {
    finished(sent);
  } else {
    sends_.push_back(request);
    unfinished_.push_back(sent);
  }
}

bool lane::finish_some() noexcept {
  if (sends_.empty()) return false;
  if (next_look_ >= sends_.size()) next_look_ = 0;
  const std::size_t first = next_look_;
  const std::size_t count = std::min(looks_at_sends, sends_.size() - first);
  next_look_ = first + count;
  if (mpi_.test_some(&sends_[first], static_cast<int>(count)) == 0) return false;
  // From behind, so that what takes the place of one is none of those still to be looked at.
  for (std::size_t i = first + count; i-- > first;) {
    if (sends_[i].value != mpi_.no_request.value) continue;
    const unfinished what = unfinished_[i];
    sends_[i] = sends_.back();
    unfinished_[i] = unfinished_.back();
    sends_.pop_back();
    unfinished_.pop_back();
    finished(what);
  }
  return true;
}

void lane::finished(const unfinished& what) noexcept {
  out_->give_back(what.buffer);
  if (what.gives_back_to == no_rank) {
    --packet_buffers_;
    return;
  }
  at(what.gives_back_to).is_giving_back = false;
  give_back_if_due(what.gives_back_to);
}

// Receiving

void lane::post(std::size_t place) noexcept {
  mpi_.post(in_[posted_buffers_[place]], static_cast<int>(in_.bytes()), group_.communicator(thread_), &posted_[place]);
}

void lane::post_again() noexcept {
  for (; vacant_ > 0; --vacant_) post(head_ >= vacant_ ? head_ - vacant_ : head_ + posted_.size() - vacant_);
}

// A receive is posted again when there is nothing else to do, so that nobody waits for that; but half of them are
// always posted.
void lane::take_head() noexcept {
  head_ = head_ + 1 == posted_.size() ? 0 : head_ + 1;
  if (2 * ++vacant_ >= posted_.size()) post_again();
}

bool lane::arrived() noexcept {
  while (!head_has_) {
    amity_mpi_arrival message;
    if (!mpi_.test_receive(&posted_[head_], &message)) {
      found_in_a_row_ = 0;
      post_again();
      return false;
    }
    ++received_;
    let_mpi_look_around();
    read(message);
  }
  return true;
}

void lane::read(const amity_mpi_arrival& message) noexcept {
  const auto [what, thread, credits] = tags_.unpack(message.tag);
  const rank_t source = message.source * threads_ + thread;
  account& from = at(source);
  AMITY_DEBUG_ASSERT(credits <= from.in_use, rank_, source, credits, from.in_use);
  from.in_use -= credits;
  if (what == content::nothing) {
    take_head();
    return;
  }
  auto payload_bytes = static_cast<std::size_t>(message.bytes);
  if (what == content::packet_with_header) {
    payload_bytes -= header_bytes;
    std::memcpy(&from.header_received, in_[posted_buffers_[head_]] + payload_bytes, header_bytes);
  }
  head_has_ = {
      .header = from.header_received, .source = source, .payload_bytes = static_cast<std::uint32_t>(payload_bytes)};
}

// MPI looks at what others have sent when a test finds nothing; one that finds a message which is there already, as
// those of a rank to itself are at once, would shut the others out.
void lane::let_mpi_look_around() noexcept {
  if (++found_in_a_row_ < found_in_a_row_max) return;
  found_in_a_row_ = 0;
  static_cast<void>(group_.aborted());
}

std::size_t lane::poll(sink& receiver, std::size_t packets_max) {
  finish_some();
  std::size_t handed_over = 0;
  while (handed_over < packets_max && arrived()) {
    hand_over(receiver);
    ++handed_over;
    // What comes to a rank that has just found nothing comes alone, most likely: to look for more would cost time.
    if (found_in_a_row_ == 1) break;
  }
  return handed_over;
}

void lane::hand_over(sink& receiver) {
  const std::size_t place = head_;
  const std::uint32_t buffer = posted_buffers_[place];
  const arrival what = *std::exchange(head_has_, std::nullopt);
  const token name{.buffer = buffer, .source = what.source};
  ++at(what.source).unreported;
  if (receiver.on_packet({.header = what.header,
                          .payload = {in_[buffer], what.payload_bytes},
                          .source = what.source,
                          .token = name.pack()}) == disposition::keep) {
    posted_buffers_[place] = in_.take();
  } else {
    ++at(what.source).owed;
  }
  give_back_if_due(what.source);
  take_head();
}

bool lane::drain() noexcept {
  bool any = finish_some();
  for (; arrived(); any = true) {
    head_has_.reset();
    take_head();
  }
  return any;
}

// Credits

void lane::release(std::uint64_t packed) noexcept {
  const token kept = token::unpack(packed);
  in_.give_back(kept.buffer);
  ++at(kept.source).owed;
  give_back_if_due(kept.source);
}

void lane::give_back_if_due(rank_t source) noexcept {
  const account& to = at(source);
  if (reports_.are_due(to.owed, to.unreported) && !stopped_) give_back(source);
}

void lane::give_back(rank_t source) noexcept {
  account& to = at(source);
  // One such message to a peer at a time: more could be needed than there are buffers.
  if (to.is_giving_back) return;
  to.is_giving_back = true;
  send(source, out_->take(), 0, content::nothing, source);
}

void lane::give_all_back() noexcept {
  finish_some();
  for (rank_t source = 0; source < size_; ++source) {
    if (at(source).owed > 0) give_back(source);
  }
}

// Waiting

bool lane::anything_new() noexcept { return arrived() || owes_caller_a_credit(); }

bool lane::owes_caller_a_credit() noexcept {
  if (short_.empty() || !find_buffer()) return false;
  // The others that were refused still wait for theirs.
  return std::erase_if(short_,
                       [this](rank_t peer) { return is_free_for(at(peer).refused, at(peer).in_use, credits_); }) > 0;
}

void lane::check() {
  if (group_.aborted()) throw job_aborted("amity: another rank has ended the job");
}

alarm lane::arm() {
  if (!sends_.empty()) give_all_back();
  return {};  // no rank can wake another one through MPI
}

std::uint64_t lane::now_ns() const noexcept { return steady_now_ns(); }

}  // namespace amity::fabric::mpi
