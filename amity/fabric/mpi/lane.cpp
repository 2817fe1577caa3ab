#include "amity/fabric/mpi/lane.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "amity/base/assert.hpp"
#include "amity/base/clock.hpp"
#include "amity/base/cpu.hpp"
#include "amity/base/error.hpp"

namespace amity::fabric::mpi {
namespace {

constexpr int data_tag = 0;

/// Sends that are looked at in one go.
constexpr std::size_t looks_at_sends = 16;

/// Messages in a row that are there when they are asked for.
constexpr std::uint32_t found_in_a_row_max = 32;

/// Waits in a row that find something at once, and so do not ask MPI whether the job was aborted.
constexpr std::uint32_t waits_unasked = 64;

/// How long a wait looks before it sleeps. Nobody can wake a sleeper through MPI, so it gets up from time to time, ever
/// more rarely: a wait that has been long may be a little longer.
struct patience {
  int looks;
  int yields;
};
constexpr patience alone_on_cpu{.looks = 500, .yields = 50};
constexpr patience crowded_cpus{.looks = 4, .yields = 300};
constexpr std::uint64_t sleep_ns_min = 50'000;
constexpr std::uint64_t sleep_ns_max = 1'000'000;

struct token {
  std::uint32_t buffer;
  rank_t source;

  std::uint64_t pack() const { return std::uint64_t{buffer} << 32 | static_cast<std::uint32_t>(source); }
  static token unpack(std::uint64_t packed) {
    return {.buffer = static_cast<std::uint32_t>(packed >> 32), .source = static_cast<rank_t>(packed)};
  }
};

void sleep_for(std::uint64_t ns) noexcept {
  const timespec time{.tv_sec = static_cast<time_t>(ns / 1'000'000'000),
                      .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
  ::nanosleep(&time, nullptr);  // a signal ends it early, which is as good
}

}  // namespace

lane::lane(group& processes, rank_t thread, const settings& config)
    : group_(processes),
      threads_(processes.threads()),
      thread_(thread),
      rank_(processes.rank() * threads_ + thread),
      size_(processes.lanes()),
      credits_(static_cast<std::uint32_t>(processes.caps().credits_per_peer)),
      give_back_from_(std::max(credits_ / 2, 1U)),
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
    if (posted_[place] == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&posted_[place]);
    MPI_Wait(&posted_[place], MPI_STATUS_IGNORE);
  }
  // A job that is lost may leave sends behind that no peer takes any more: MPI keeps what it may still read.
  if (!sends_.empty()) new send_buffers(std::move(*out_));
}

lane::account& lane::at(rank_t rank) noexcept {
  AMITY_DEBUG_ASSERT(rank >= 0 && rank < size_, rank, size_);
  return peers_[static_cast<std::size_t>(rank)];
}

// Sending

bool lane::take_credit(rank_t dest, std::uint32_t& buffer) noexcept {
  account& to = at(dest);
  if (to.in_use == credits_) return false;
  // A peer may have read what MPI has not told us yet to be sent.
  while (out_->empty()) {
    if (!finish_some()) return false;
  }
  ++to.in_use;
  buffer = out_->take();
  return true;
}

status lane::refuse(rank_t dest) noexcept {
  if (std::ranges::find(short_, dest) == short_.end()) short_.push_back(dest);
  return status::again;
}

status lane::try_send(rank_t dest, std::uint64_t header, bytes_view payload) noexcept {
  AMITY_DEBUG_ASSERT(payload.size() <= caps().packet_bytes_max, rank_, dest, payload.size());
  std::uint32_t buffer = 0;
  if (!take_credit(dest, buffer)) return refuse(dest);
  if (!payload.empty()) std::memcpy((*out_)[buffer].payload, payload.data(), payload.size());
  send_packet(dest, header, buffer, payload.size());
  return status::ok;
}

status lane::acquire(rank_t dest, slot& out) noexcept {
  std::uint32_t buffer = 0;
  if (!take_credit(dest, buffer)) return refuse(dest);
  out = {
      .data = (*out_)[buffer].payload, .capacity = static_cast<std::uint32_t>(caps().packet_bytes_max), .id = buffer};
  return status::ok;
}

void lane::commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept {
  AMITY_DEBUG_ASSERT(payload_bytes <= filled.capacity, rank_, dest, payload_bytes);
  send_packet(dest, header, filled.id, payload_bytes);
}

void lane::send_packet(rank_t dest, std::uint64_t header, std::uint32_t buffer, std::size_t bytes) noexcept {
  send(dest, buffer, {.header = header, .bytes = static_cast<std::uint32_t>(bytes), .credits = 0, .thread = 0},
       no_rank);
}

void lane::send(rank_t dest, std::uint32_t buffer, const envelope& front, rank_t gives_back_to) noexcept {
  account& to = at(dest);
  const message whole = (*out_)[buffer];
  envelope& sent = whole.envelope();
  sent = front;
  sent.thread = static_cast<std::uint16_t>(thread_);
  sent.credits = static_cast<std::uint16_t>(std::exchange(to.owed, 0));
  const std::uint32_t payload_bytes = front.bytes == credits_only ? 0 : front.bytes;
  ++to.sent;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(whole.data(), static_cast<int>(sizeof(envelope) + payload_bytes), MPI_BYTE, dest / threads_, data_tag,
            group_.communicator(dest % threads_), &request);
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  const unfinished what{.buffer = buffer, .gives_back_to = gives_back_to};
  if (done) {
    finished(what);
  } else {
    sends_.push_back(request);
    unfinished_.push_back(what);
  }
}

bool lane::finish_some() noexcept {
  if (sends_.empty()) return false;
  if (next_look_ >= sends_.size()) next_look_ = 0;
  const std::size_t first = next_look_;
  const std::size_t count = std::min(looks_at_sends, sends_.size() - first);
  int done = 0;
  std::array<int, looks_at_sends> which{};
  MPI_Testsome(static_cast<int>(count), &sends_[first], &done, which.data(), MPI_STATUSES_IGNORE);
  next_look_ = first + count;
  if (done <= 0) return false;
  // From behind, so that what takes the place of one is none of those still to be looked at.
  for (std::size_t i = first + count; i-- > first;) {
    if (sends_[i] != MPI_REQUEST_NULL) continue;
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
  if (what.gives_back_to == no_rank) return;
  account& to = at(what.gives_back_to);
  to.is_giving_back = false;
  if (to.owed >= give_back_from_) give_back(what.gives_back_to);
}

// Receiving

void lane::post(std::size_t place) noexcept {
  MPI_Irecv(in_[posted_buffers_[place]].data(), static_cast<int>(in_.message_bytes_max()), MPI_BYTE, MPI_ANY_SOURCE,
            data_tag, group_.communicator(thread_), &posted_[place]);
}

bool lane::arrived() noexcept {
  while (!head_from_) {
    int done = 0;
    MPI_Status status;
    MPI_Test(&posted_[head_], &done, &status);
    if (!done) {
      found_in_a_row_ = 0;
      return false;
    }
    ++received_;
    let_mpi_look_around();
    const envelope& front = in_[posted_buffers_[head_]].envelope();
    const rank_t source = status.MPI_SOURCE * threads_ + front.thread;
    AMITY_DEBUG_ASSERT(front.credits <= at(source).in_use, rank_, source, front.credits, at(source).in_use);
    at(source).in_use -= front.credits;
    if (front.bytes != credits_only) {
      head_from_ = source;
    } else {
      post(head_);
      advance();
    }
  }
  return true;
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
  for (; handed_over < packets_max && arrived(); ++handed_over) hand_over(receiver);
  return handed_over;
}

void lane::hand_over(sink& receiver) {
  const std::size_t place = head_;
  const std::uint32_t buffer = posted_buffers_[place];
  const rank_t source = *std::exchange(head_from_, std::nullopt);
  advance();
  const message whole = in_[buffer];
  const envelope& front = whole.envelope();
  const token name{.buffer = buffer, .source = source};
  if (receiver.on_packet(
          {.header = front.header, .payload = {whole.payload, front.bytes}, .source = source, .token = name.pack()}) ==
      disposition::keep) {
    posted_buffers_[place] = in_.take();
  } else {
    owe(source);
  }
  post(place);
}

bool lane::drain() noexcept {
  bool any = finish_some();
  for (; arrived(); any = true) {
    head_from_.reset();
    post(head_);
    advance();
  }
  return any;
}

// Credits

void lane::release(std::uint64_t packed) noexcept {
  const token kept = token::unpack(packed);
  in_.give_back(kept.buffer);
  owe(kept.source);
}

void lane::owe(rank_t source) noexcept {
  if (++at(source).owed >= give_back_from_) give_back(source);
}

void lane::give_back(rank_t source) noexcept {
  account& to = at(source);
  // One such message to a peer at a time: more could be needed than there are buffers.
  if (to.is_giving_back || out_->empty()) return;
  to.is_giving_back = true;
  send(source, out_->take(), {.header = 0, .bytes = credits_only, .credits = 0, .thread = 0}, source);
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
  if (short_.empty() || (out_->empty() && !finish_some())) return false;
  // The others that were refused still wait for theirs.
  return std::erase_if(short_, [this](rank_t peer) { return at(peer).in_use < credits_; }) > 0;
}

void lane::throw_if_aborted() {
  if (group_.aborted()) throw job_aborted("amity: another rank has ended the job");
}

void lane::wait(std::uint64_t timeout_ns) {
  if (timeout_ns == 0 || group_.known_aborted() || ++waits_ % waits_unasked == 0) throw_if_aborted();
  if (timeout_ns == 0) return;
  const patience& own = group_.crowded() ? crowded_cpus : alone_on_cpu;
  for (int i = 0; i < own.looks; ++i) {
    if (anything_new()) return;
    cpu_pause();
  }
  give_all_back();
  throw_if_aborted();
  for (int i = 0; i < own.yields; ++i) {
    if (anything_new()) return;
    ::sched_yield();
  }
  const std::uint64_t start_ns = now_ns();
  for (std::uint64_t rest_ns = sleep_ns_min;; rest_ns = std::min(2 * rest_ns, sleep_ns_max)) {
    throw_if_aborted();
    if (anything_new()) return;
    const std::uint64_t waited_ns = now_ns() - start_ns;
    if (waited_ns >= timeout_ns) return;
    sleep_for(std::min(rest_ns, timeout_ns - waited_ns));
    if (!sends_.empty()) give_all_back();
  }
}

std::uint64_t lane::now_ns() const noexcept { return steady_now_ns(); }

}  // namespace amity::fabric::mpi
