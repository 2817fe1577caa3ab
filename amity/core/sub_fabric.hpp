#pragma once

/// The fabric of a world that is not the job's own: a view of the rank's one fabric.
///
/// It stands on one lane of the rank. It translates lanes and puts the world's number into the header of each packet;
/// the engine hands what arrives with that number to the world's endpoint. Credits are those of the rank: worlds share
/// them. Only the engine polls, for all worlds, and has the memory for all.

#include "amity/base/assert.hpp"
#include "amity/core/engine.hpp"
#include "amity/core/group.hpp"
#include "amity/core/rank_list.hpp"
#include "amity/fabric/decorator.hpp"

namespace amity::core {

class sub_fabric final : public fabric::decorator {
 public:
  /// The world `number` of `members`, ranks of the job in the order of the new ones. This rank is one of them.
  sub_fabric(const engine& own, world_number number, rank_list members);

  world_number number() const noexcept { return number_; }

  /// Of the job, for those of this world.
  rank_t job_rank(rank_t rank) const noexcept { return members_.rank(rank); }
  rank_t job_lane(rank_t lane) const noexcept {
    const rank_t threads = members_.threads();
    return threads == 1 ? members_.lane(lane) : members_.lane(lane / threads, lane % threads);
  }
  /// The lane in this world of a lane of the job; `no_rank` if it is not of a member.
  rank_t find_job_lane(rank_t lane) const noexcept {
    const rank_t rank = members_.find(lane), threads = members_.threads();
    return threads == 1 || rank == no_rank ? rank : rank * threads + lane % threads;
  }
  rank_t rank() const noexcept override { return lane_; }
  rank_t size() const noexcept override { return members_.size() * members_.threads(); }
  amity::fabric::allowance allowance_to(rank_t peer) const noexcept override {
    return inner().allowance_to(job_lane(peer));
  }
  rank_t node_of(rank_t peer) const noexcept override;
  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, amity::fabric::claim of) noexcept override {
    return inner().try_send(job_lane(dest), with_world(header, number_), payload, of);
  }
  status acquire(rank_t dest, amity::fabric::slot& out, amity::fabric::claim of) noexcept override {
    return inner().acquire(job_lane(dest), out, of);
  }
  void commit(rank_t dest, std::uint64_t header, const amity::fabric::slot& filled,
              std::size_t payload_bytes) noexcept override {
    inner().commit(job_lane(dest), with_world(header, number_), filled, payload_bytes);
  }
  std::size_t poll(amity::fabric::sink&, std::size_t) override { return 0; }
  amity::fabric::remote_memory* remote() noexcept override { return nullptr; }  // it is the engine's

 private:
  world_number number_;
  group members_;
  rank_t lane_;
};

}  // namespace amity::core
