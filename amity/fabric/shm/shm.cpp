#include "amity/fabric/shm/shm.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "amity/base/assert.hpp"
#include "amity/base/clock.hpp"
#include "amity/base/copy_bytes.hpp"
#include "amity/base/error.hpp"
#include "amity/fabric/shm/attention.hpp"
#include "amity/fabric/shm/channel.hpp"
#include "amity/fabric/shm/doorbell.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/fabric/shm/node_memory.hpp"
#include "amity/fabric/shm/peer_watch.hpp"
#include "amity/fabric/shm/segments.hpp"

namespace amity::fabric::shm {
namespace {

capabilities describe(const settings& config, rank_t ranks, std::string name, std::string description) {
  const geometry sizes = geometry::from(config, ranks);
  const bool is_one_process = name == "threads";
  return {.name = std::move(name),
          .description = std::move(description),
          .packet_bytes_max = sizes.packet_bytes,
          .inline_bytes_max = inline_bytes_max,
          .credits_per_peer = sizes.ring_slots - reserve_per_peer,
          .slots_per_peer = sizes.buffers - reserve_per_peer,
          .bytes_per_peer = sizes.bytes_per_peer(),
          .ordered = true,
          .virtual_time = false,
          .remote = {.available = true,
                     .mapped = true,
                     .maps_attached = is_one_process,
                     .unattended = true,
                     .puts_before_packets = true,
                     .atomics = true,
                     .notify_bits = 32,
                     .operations_max = 0}};
}

/// With more ranks than cores a spinning rank keeps from the core the very rank that it waits for.
backoff backoff_of(const job_memory& job) {
  constexpr std::uint32_t pauses = 2;
  return job.ranks() > job.cpus() ? backoff{.looks = 20, .pauses = pauses, .yields = 50}
                                  : backoff{.looks = 1000, .pauses = pauses, .yields = 300};
}

/// What the ranks of one process share.
struct joined_job {
  explicit joined_job(job_memory&& joined) : memory(std::move(joined)), segments(memory) {}

  job_memory memory;
  shm::segments segments;
};

/// How often a rank that waits looks whether its peers are still there.
constexpr std::uint64_t look_at_peers_ns = 500'000'000;

/// A packet as one word: what `release` needs to find it again.
struct packet_token {
  std::uint32_t source;
  std::uint32_t index;  ///< of a buffer, or of the place of an inline payload
  bool in_buffer;

  std::uint64_t pack() const { return (std::uint64_t{source} << 32) | (index << 1) | (in_buffer ? 1u : 0u); }
  static packet_token unpack(std::uint64_t token) {
    const auto low = static_cast<std::uint32_t>(token);
    return {.source = static_cast<std::uint32_t>(token >> 32), .index = low >> 1, .in_buffer = (low & 1) != 0};
  }
};

/// A peer that has refused packets, with the refused claim that is served soonest.
struct shortage {
  rank_t peer;
  std::optional<claim> of_credit = {};  ///< of packets that need a credit
  std::optional<claim> of_buffer = {};  ///< of packets that need a credit and a buffer
};

class shm_fabric final : public fabric, private remote_memory {
 public:
  shm_fabric(std::shared_ptr<joined_job> job, const geometry& sizes, rank_t rank, capabilities caps,
             std::shared_ptr<peer_watch> watch = nullptr)
      : joined_(std::move(job)),
        job_(&joined_->memory),
        watch_(std::move(watch)),
        map_(agreed_region(*job_, sizes, rank), sizes),
        rank_(rank),
        size_(sizes.ranks),
        caps_(std::move(caps)),
        bell_(*job_),
        attention_(map_, *job_, rank) {
    caps_.backoff = backoff_of(*job_);
    starved_.reserve(static_cast<std::size_t>(size_));
    for (rank_t peer = 0; peer < size_; ++peer) names_.push_back(peer);
    for (rank_t peer = 0; peer < size_; ++peer) links_.push_back(std::make_unique<link>(map_, sizes, rank_, peer));
  }

  /// Becomes part of another fabric: packets are handed over under these names of their sources, and the rank can sleep
  /// on a descriptor. All ranks of the job do so, or none.
  void become_part(const std::vector<rank_t>& names) {
    names_ = names;
    bell_.open_socket(map_.door_of(rank_));
  }

  ~shm_fabric() override {
    // Where no launcher of amity's sees how this process ends, the others would wait for it.
    if (watch_ && std::uncaught_exceptions() > 0) abort();
    job_->leave(rank_);
  }

  rank_t rank() const noexcept override { return rank_; }
  rank_t size() const noexcept override { return size_; }
  const capabilities& caps() const noexcept override { return caps_; }
  rank_t node_of(rank_t) const noexcept override { return 0; }

  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept override {
    if (payload.size() > inline_bytes_max) return send_in_buffer(dest, header, payload, of);
    outbound& channel = to(dest);
    if (!channel.has_credit(of)) return refused(dest, &shortage::of_credit, of);
    channel.write_inline(header, payload);
    bell_.ring(map_.door_of(dest));
    return status::ok;
  }

  status acquire(rank_t dest, slot& out, claim of) noexcept override {
    outbound& channel = to(dest);
    if (!channel.has_credit(of) || !channel.has_buffer(of)) return refused(dest, &shortage::of_buffer, of);
    const std::uint32_t index = channel.take_buffer();
    out = {.data = channel.buffer(index), .capacity = static_cast<std::uint32_t>(caps_.packet_bytes_max), .id = index};
    return status::ok;
  }

  void commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept override {
    to(dest).commit_buffer(header, filled.id, payload_bytes);
    bell_.ring(map_.door_of(dest));
  }

  void release(std::uint64_t token) noexcept override {
    const packet_token kept = packet_token::unpack(token);
    inbound& channel = links_[kept.source]->in;
    if (kept.in_buffer) {
      give_back(channel, kept.source, kept.index);
    } else {
      channel.drop(kept.index);
      if (channel.return_credit()) ring(kept.source);
    }
  }

  std::size_t poll(sink& receiver, std::size_t packets_max) override {
    std::size_t handed_over = 0;
    // Each poll begins with another peer, so that a busy one cannot shut out the rest.
    for (rank_t looked_at = 0; looked_at < size_ && handed_over < packets_max; ++looked_at) {
      if (++next_source_ >= size_) next_source_ = 0;
      handed_over += drain(receiver, next_source_, packets_max - handed_over);
    }
    return handed_over;
  }

  void check() override {
    throw_if_aborted();
    if (lost_memory_of_ == no_rank) return;
    const rank_t own = names_[static_cast<std::size_t>(rank_)];
    const rank_t peer = names_[static_cast<std::size_t>(lost_memory_of_)];
    if (copy_problem_ == ESRCH) throw_ended(own, peer);
    throw error(
        "an operation on attached memory", own,
        fmt::format("the memory of rank {} cannot be reached: {}", peer, std::strerror(copy_problem_)),
        "keep attached memory mapped until its segment is released, and leave to other ranks the right to reach it");
  }
  bool ready() override { return anything_new(); }
  void publish() override { publish_all_credits(); }

  alarm arm() override {
    throw_if_aborted();
    check_peers_alive();
    attention_.pause();
    door& own = map_.door_of(rank_);
    const bool on_socket = bell_.socket() >= 0;
    bell_.announce(own, on_socket ? sleep_mode::on_socket : sleep_mode::on_futex);
    alarm by{.sleep_ns_max = bell_.sleep_ns_max()};
    if (on_socket) {
      by.descriptors[0] = bell_.socket();
    } else {
      by.word = &own.sleeping;
      by.value = static_cast<std::uint32_t>(sleep_mode::on_futex);
    }
    if (watch_) by.sleep_ns_max = std::min(by.sleep_ns_max, look_at_peers_ns);
    // A rank that ended the job before the announcement has not rung this rank's bell.
    if (job_->aborted()) by.sleep_ns_max = 0;
    return by;
  }
  void disarm() noexcept override {
    bell_.cancel(map_.door_of(rank_));
    if (bell_.socket() >= 0) bell_.empty_socket();
  }

  remote_memory* remote() noexcept override { return this; }

  attention_board* attention() noexcept override { return &attention_; }

  std::uint64_t now_ns() const noexcept override { return steady_now_ns(); }

  void abort() noexcept override {
    job_->abort(rank_);
    for (rank_t peer = 0; peer < size_; ++peer) bell_.ring(map_.door_of(peer));
  }

 private:
  // Remote memory: what a handle reaches directly needs no more of the fabric than its address.

  segment create(std::size_t bytes) override { return joined_->segments.create(rank_, bytes); }
  std::optional<segment> attach(mutable_bytes memory) override { return joined_->segments.attach(rank_, memory); }
  void destroy(const segment& own) noexcept override { joined_->segments.destroy(own); }
  remote_handle open(rank_t owner, const segment_key& key) override {
    return joined_->segments.open(rank_, owner, key);
  }
  void close(const remote_handle& opened) noexcept override { joined_->segments.close(opened); }

  stage put_notify(const remote_handle& to_segment, std::size_t offset, bytes_view from, std::uint32_t bits,
                   std::uint64_t) noexcept override {
    const rank_t dest = segments::owner_of(to_segment);
    outbound& channel = to(dest);
    if (!channel.has_credit(claim::no_epoch)) {
      static_cast<void>(refused(dest, &shortage::of_credit, claim::no_epoch));
      return stage::refused;
    }
    if (put(to_segment, offset, from) == stage::refused) return stage::refused;
    channel.write_notification(bits);
    bell_.ring(map_.door_of(dest));
    return stage::complete;
  }

  stage start_put(const remote_handle& to_segment, std::size_t offset, bytes_view from,
                  const events&) noexcept override {
    return copied(to_segment, joined_->segments.write(to_segment, offset, from));
  }
  stage start_get(const remote_handle& from, std::size_t offset, mutable_bytes into, std::uint64_t) noexcept override {
    return copied(from, joined_->segments.read(from, offset, into));
  }
  // Memory that could be reached when the segment was opened: its process has ended, or the memory is not there any
  // more.
  stage copied(const remote_handle& segment, int problem) noexcept {
    if (problem == 0) return stage::complete;
    copy_problem_ = problem;
    lost_memory_of_ = segments::owner_of(segment);
    return stage::refused;
  }

  static std::byte* agreed_region(job_memory& job, const geometry& sizes, rank_t rank) {
    job.join(rank);
    job.agree(sizes.fingerprint(), rank);
    return job.region(sizes.total_bytes());
  }

  void throw_if_aborted() const {
    if (job_->aborted()) throw job_aborted("amity: another rank has ended the job");
  }

  /// Without a launcher that watches the ranks, sleeping ranks do it. Throws `error` if a process has failed.
  void check_peers_alive() {
    if (!watch_ || job_->aborted() || !watch_->is_due(steady_now_ns())) return;
    const std::size_t lanes = static_cast<std::size_t>(size_) / watch_->processes();
    const auto has_left = [&](std::size_t process) {
      return job_->state(static_cast<rank_t>(process * lanes)) == rank_state::left;
    };
    try {
      watch_->look(has_left);
    } catch (...) {
      abort();
      throw;
    }
  }

  outbound& to(rank_t dest) noexcept {
    AMITY_DEBUG_ASSERT(dest >= 0 && dest < size_, dest, size_);
    return links_[static_cast<std::size_t>(dest)]->out;
  }

  [[gnu::noinline]] status send_in_buffer(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept {
    slot filled;
    if (acquire(dest, filled, of) != status::ok) return status::again;
    std::memcpy(filled.data, payload.data(), payload.size());
    commit(dest, header, filled, payload.size());
    return status::ok;
  }

  [[gnu::noinline]] status refused(rank_t dest, std::optional<claim> shortage::*what, claim of) noexcept {
    auto known = std::ranges::find(starved_, dest, &shortage::peer);
    if (known == starved_.end()) known = starved_.insert(known, {.peer = dest});
    (*known).*what = std::max((*known).*what, std::optional(of));
    return status::again;
  }

  std::size_t drain(sink& receiver, rank_t source, std::size_t packets_max) {
    inbound& channel = links_[static_cast<std::size_t>(source)]->in;
    std::size_t count = 0;
    for (taken_packet next; count < packets_max && channel.take(next);) {
      if (++count % inbound::packets_per_look == 0) channel.look_ahead();
      hand_over(receiver, channel, source, next);
    }
    return count;
  }

  void hand_over(sink& receiver, inbound& channel, rank_t source, const taken_packet& next) {
    const auto peer = static_cast<std::uint32_t>(source);
    if (next.buffer_plus_one == 0) {
      const packet_token token{.source = peer, .index = channel.place(), .in_buffer = false};
      const bytes_view payload{channel.payload(), next.bytes};
      if (offer(receiver, next.header, payload, token) == disposition::keep) {
        channel.keep();
        if (channel.publish_if_due()) ring(peer);
      } else if (channel.return_credit()) {
        ring(peer);
      }
      return;
    }
    if (next.buffer_plus_one == stamp_info::notification) {
      receiver.on_notify(static_cast<std::uint32_t>(next.header));
      if (channel.return_credit()) ring(peer);
      return;
    }
    const std::uint32_t buffer = next.buffer_plus_one - 1;
    const packet_token token{.source = peer, .index = buffer, .in_buffer = true};
    if (offer(receiver, next.header, {channel.buffer(buffer), next.bytes}, token) == disposition::release) {
      give_back(channel, peer, buffer);
    } else if (channel.publish_if_due()) {
      ring(peer);
    }
  }

  /// Returns a buffer and the credit of its packet.
  void give_back(inbound& channel, std::uint32_t peer, std::uint32_t buffer) {
    channel.return_credit();
    channel.return_buffer(buffer);
    ring(peer);
  }

  disposition offer(sink& receiver, std::uint64_t header, bytes_view payload, const packet_token& token) {
    return receiver.on_packet(
        {.header = header, .payload = payload, .source = names_[token.source], .token = token.pack()});
  }

  void ring(std::uint32_t peer) noexcept { bell_.ring(map_.door_of(static_cast<rank_t>(peer))); }

  /// Whether there is a packet to poll, or a credit of a peer that refused.
  bool anything_new() noexcept {
    for (rank_t peer = 0; peer < size_; ++peer) {
      if (!links_[static_cast<std::size_t>(peer)]->in.has_arrived()) continue;
      next_source_ = peer - 1;  // where the next poll begins, after one step
      return true;
    }
    // The others that have refused still owe the caller a credit.
    return std::erase_if(starved_, [this](const shortage& each) {
             outbound& channel = to(each.peer);
             return (each.of_credit && channel.has_credit(*each.of_credit)) ||
                    (each.of_buffer && channel.has_credit(*each.of_buffer) && channel.has_buffer(*each.of_buffer));
           }) > 0;
  }

  void publish_all_credits() noexcept {
    for (rank_t peer = 0; peer < size_; ++peer) {
      if (links_[static_cast<std::size_t>(peer)]->in.publish_pending()) bell_.ring(map_.door_of(peer));
    }
  }

  std::shared_ptr<joined_job> joined_;
  job_memory* job_;                    ///< of `joined_`
  std::shared_ptr<peer_watch> watch_;  ///< null: the launcher does that
  region_map map_;
  rank_t rank_;
  rank_t size_;
  rank_t lost_memory_of_ = no_rank;
  int copy_problem_ = 0;
  capabilities caps_;
  doorbell bell_;
  shm::attention attention_;
  std::vector<std::unique_ptr<link>> links_;  ///< by peer
  std::vector<rank_t> names_;                 ///< of peers, for whoever receives
  rank_t next_source_ = 0;
  std::vector<shortage> starved_;  ///< refusals whose credit has not been seen since; room for all peers is reserved
};

/// The memory of the job that this process was launched for, or of a job of its own.
std::shared_ptr<joined_job> join_job(const settings& config, rank_t processes, rank_t threads) {
  if (config.integer("AMITY_RANK") < 0) return std::make_shared<joined_job>(job_memory::create(processes * threads));
  return std::make_shared<joined_job>(
      job_memory::attach(static_cast<int>(config.integer("AMITY_JOB_FD")), processes, threads));
}

/// Ranks of a job that are threads of this process.
class hosted_ranks final : public lanes {
 public:
  struct parts {
    std::shared_ptr<joined_job> job;
    geometry sizes;
    capabilities caps;
    rank_t first;
    rank_t count;
    std::shared_ptr<peer_watch> watch = nullptr;  ///< for the first of them
    std::vector<rank_t> names = {};               ///< of all ranks, in the fabric that this one is part of
  };
  explicit hosted_ranks(parts given) : own_(std::move(given)) {}

  rank_t count() const noexcept override { return own_.count; }

  std::unique_ptr<fabric> enter(rank_t thread) override {
    auto made = std::make_unique<shm_fabric>(own_.job, own_.sizes, own_.first + thread, own_.caps,
                                             thread == 0 ? own_.watch : nullptr);
    if (!own_.names.empty()) made->become_part(own_.names);
    return made;
  }

  void abort() noexcept override { own_.job->memory.abort(own_.first); }

 private:
  parts own_;
};

rank_t index_of(rank_t rank, const std::vector<rank_t>& beside) {
  return static_cast<rank_t>(std::ranges::find(beside, rank) - beside.begin());
}

}  // namespace

capabilities describe_processes(const settings& config, rank_t ranks) {
  return describe(config, ranks, "shm", "ranks are processes of one node that share memory");
}

capabilities describe_threads(const settings& config, rank_t ranks) {
  return describe(config, ranks, "threads", "ranks are threads of one process, for debuggers and sanitizers");
}

int run_threads(const settings& config, rank_t ranks, const std::function<int(fabric&)>& rank_main) {
  hosted_ranks all({.job = std::make_shared<joined_job>(job_memory::create(ranks)),
                    .sizes = geometry::from(config, ranks),
                    .caps = describe_threads(config, ranks),
                    .first = 0,
                    .count = ranks});
  return run_lanes(all, rank_main);
}

std::unique_ptr<lanes> join(const settings& config, rank_t threads) {
  const auto process = static_cast<rank_t>(config.integer("AMITY_RANK"));
  const rank_t processes = process >= 0 ? static_cast<rank_t>(config.integer("AMITY_RANKS")) : 1;
  const rank_t ranks = processes * threads;
  return std::make_unique<hosted_ranks>(hosted_ranks::parts{.job = join_job(config, processes, threads),
                                                            .sizes = geometry::from(config, ranks),
                                                            .caps = describe_processes(config, ranks),
                                                            .first = std::max(process, 0) * threads,
                                                            .count = threads});
}

std::unique_ptr<lanes> join_node(const settings& config, bootstrap& start, const neighbourhood& known, rank_t threads,
                                 bool as_part) {
  const std::vector<rank_t> beside = ranks_beside(start.rank(), known.node_of);
  node_memory shared = share_memory(start, known, threads);
  const rank_t ranks = threads * static_cast<rank_t>(beside.size());
  std::vector<rank_t> names;
  for (rank_t lane = 0; as_part && lane < ranks; ++lane) {
    names.push_back(beside[static_cast<std::size_t>(lane / threads)] * threads + lane % threads);
  }
  return std::make_unique<hosted_ranks>(hosted_ranks::parts{.job = std::make_shared<joined_job>(std::move(shared.job)),
                                                            .sizes = geometry::from(config, ranks),
                                                            .caps = describe_processes(config, ranks),
                                                            .first = index_of(start.rank(), beside) * threads,
                                                            .count = threads,
                                                            .watch = std::move(shared.watch),
                                                            .names = std::move(names)});
}

}  // namespace amity::fabric::shm
