#pragma once

/// The fabric of a world that is not the job's own: a view of the rank's one fabric.
///
/// It stands on one lane of the rank. It translates lanes and puts the world's number into the header of each packet;
/// the engine hands what arrives with that number to the world's endpoint. Credits are those of the rank: worlds share
/// them. Only the engine polls, for all worlds. Remote memory is that of the rank, whose owners have other numbers
/// here.

#include <optional>

#include "amity/base/assert.hpp"
#include "amity/core/engine.hpp"
#include "amity/core/rank_list.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

class sub_fabric final : public fabric::fabric {
 public:
  /// The world `number` of `members`, ranks of the job in the order of the new ones. This rank is one of them.
  sub_fabric(const engine& own, world_number number, rank_list members);

  world_number number() const noexcept { return number_; }

  /// Of the job, for those of this world.
  rank_t job_rank(rank_t rank) const noexcept { return members_[rank]; }
  rank_t job_lane(rank_t lane) const noexcept {
    return threads_ == 1 ? members_[lane] : members_[lane / threads_] * threads_ + lane % threads_;
  }
  /// Notifications name the world in the bits above these.
  static constexpr std::uint32_t notify_bits = 24;
  static constexpr std::uint32_t notify_mask = (std::uint32_t{1} << notify_bits) - 1;

  /// The lane in this world of a lane of the job.
  rank_t lane_of_job(rank_t lane) const noexcept;

  rank_t rank() const noexcept override { return lane_; }
  rank_t size() const noexcept override { return members_.size() * threads_; }
  const amity::fabric::capabilities& caps() const noexcept override { return caps_; }
  amity::fabric::allowance allowance_to(rank_t peer) const noexcept override {
    return below_.allowance_to(job_lane(peer));
  }
  rank_t node_of(rank_t peer) const noexcept override;
  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, amity::fabric::claim of) noexcept override {
    return below_.try_send(job_lane(dest), with_world(header, number_), payload, of);
  }
  status acquire(rank_t dest, amity::fabric::slot& out, amity::fabric::claim of) noexcept override {
    return below_.acquire(job_lane(dest), out, of);
  }
  void commit(rank_t dest, std::uint64_t header, const amity::fabric::slot& filled,
              std::size_t payload_bytes) noexcept override {
    below_.commit(job_lane(dest), with_world(header, number_), filled, payload_bytes);
  }
  void release(std::uint64_t token) noexcept override { below_.release(token); }
  std::size_t poll(amity::fabric::sink&, std::size_t) override { return 0; }
  amity::fabric::remote_memory* remote() noexcept override { return remote_ ? &*remote_ : nullptr; }
  amity::fabric::remote_memory* node_memory() noexcept override { return node_memory_ ? &*node_memory_ : nullptr; }
  void check() override { below_.check(); }
  bool ready() override { return below_.ready(); }
  void publish() override { below_.publish(); }
  amity::fabric::alarm arm() override { return below_.arm(); }
  void sleep(const amity::fabric::alarm& by, std::uint64_t timeout_ns) noexcept override {
    below_.sleep(by, timeout_ns);
  }
  void disarm() noexcept override { below_.disarm(); }
  std::uint64_t now_ns() const noexcept override { return below_.now_ns(); }
  std::string trouble() const override { return below_.trouble(); }  // it names ranks of the job
  void set_whereabouts(const amity::fabric::whereabouts* known) noexcept override { below_.set_whereabouts(known); }
  void abort() noexcept override { below_.abort(); }

 private:
  /// Memory of the rank, with the numbers of this world.
  class memory final : public amity::fabric::remote_memory {
   public:
    memory(amity::fabric::remote_memory& below, const sub_fabric& world) : below_(below), world_(world) {}

    amity::fabric::segment create(std::size_t bytes) override { return below_.create(bytes); }
    std::optional<amity::fabric::segment> attach(mutable_bytes whole) override { return below_.attach(whole); }
    void destroy(const amity::fabric::segment& own) noexcept override { below_.destroy(own); }
    amity::fabric::remote_segment open(rank_t owner, const amity::fabric::segment_key& key) override {
      return below_.open(world_.job_lane(owner), key);
    }
    void close(const amity::fabric::remote_segment& opened) noexcept override { below_.close(opened); }
    amity::fabric::stage put_notify(const amity::fabric::remote_segment& to, std::size_t offset, bytes_view from,
                                    std::uint32_t bits, std::uint64_t when_free) noexcept override {
      AMITY_DEBUG_ASSERT(bits <= notify_mask, bits);
      return below_.put_notify(to, offset, from, bits | std::uint32_t{world_.number()} << notify_bits, when_free);
    }

   private:
    amity::fabric::stage start_put(const amity::fabric::remote_segment& to, std::size_t offset, bytes_view from,
                                   const amity::fabric::events& tell) noexcept override {
      return below_.put(to, offset, from, tell);
    }
    amity::fabric::stage start_get(const amity::fabric::remote_segment& from, std::size_t offset, mutable_bytes to,
                                   std::uint64_t when_complete) noexcept override {
      return below_.get(from, offset, to, when_complete);
    }
    amity::fabric::stage start_atomic(const amity::fabric::remote_segment& at, std::size_t offset,
                                      const amity::fabric::atomic_request& what, std::uint64_t* previous,
                                      std::uint64_t when_complete) noexcept override {
      return below_.atomic(at, offset, what, previous, when_complete);
    }

    amity::fabric::remote_memory& below_;
    const sub_fabric& world_;
  };

  amity::fabric::fabric& below_;  ///< the rank's own
  amity::fabric::capabilities caps_;
  world_number number_;
  rank_list members_;
  rank_t threads_;
  rank_t lane_;
  std::optional<memory> remote_;
  std::optional<memory> node_memory_;
};

}  // namespace amity::core
