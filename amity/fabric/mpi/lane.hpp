#pragma once

/// One rank of the fabric: a thread of a process, with the receives that it has posted and its credits to each peer.

#include <optional>
#include <vector>

#include "amity/base/zeros.hpp"
#include "amity/fabric/credit_reports.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/mpi/buffers.hpp"
#include "amity/fabric/mpi/group.hpp"
#include "amity/fabric/mpi/tag.hpp"

namespace amity::fabric::mpi {

class lane final : public fabric {
 public:
  lane(group& processes, rank_t thread, const settings& config);
  ~lane() override;

  rank_t rank() const noexcept override { return rank_; }
  rank_t size() const noexcept override { return size_; }
  const capabilities& caps() const noexcept override { return group_.caps(); }
  rank_t node_of(rank_t peer) const noexcept override { return group_.node_of(peer); }

  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept override;
  status acquire(rank_t dest, slot& out, claim of) noexcept override;
  void commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept override;
  void release(std::uint64_t token) noexcept override;
  std::size_t poll(sink& receiver, std::size_t packets_max) override;
  void check() override;
  bool ready() override { return anything_new(); }
  void publish() override { give_all_back(); }
  alarm arm() override;
  void disarm() noexcept override {}
  std::uint64_t now_ns() const noexcept override;
  void abort() noexcept override { group_.abort(); }

  // The end of a job that went well. After `stop_sending` nothing leaves any more, and it is settled how many messages
  // this lane has sent to each other one. `drain` takes in what nobody will look at; returns whether there was
  // anything.
  void stop_sending() noexcept { stopped_ = true; }
  std::uint64_t sent_to(rank_t dest) const noexcept { return peers_[static_cast<std::size_t>(dest)].sent; }
  bool drain() noexcept;
  /// Whether so many messages have been received in all, and MPI needs no buffer any more.
  bool is_done(std::uint64_t messages) const noexcept { return received_ == messages && sends_.empty(); }

 private:
  /// What a rank keeps of each peer.
  struct account {
    std::uint64_t sent;             ///< messages
    std::uint64_t header_sent;      ///< in the last packet
    std::uint64_t header_received;  ///< in the last packet
    std::uint32_t in_use;           ///< credits
    std::uint32_t owed;             ///< credits of the peer's to be given back
    std::uint32_t unreported;       ///< these, and packets of the peer's that are not released
    bool is_giving_back;            ///< the last message with nothing but credits is not done yet
    claim refused;                  ///< the refused claim that is served soonest; valid while the peer is in `short_`
  };
  /// A message whose buffer MPI still needs.
  struct unfinished {
    std::uint32_t buffer;
    rank_t gives_back_to;  ///< `no_rank`: it is a packet
  };

  /// The packet that the oldest receive has got.
  struct arrival {
    std::uint64_t header;
    rank_t source;
    std::uint32_t payload_bytes;
  };

  account& at(rank_t rank) noexcept;
  bool take_credit(rank_t dest, claim of, std::uint32_t& buffer) noexcept;
  bool find_buffer() noexcept;
  status refuse(rank_t dest, claim of) noexcept;
  void send_packet(rank_t dest, std::uint64_t header, std::uint32_t buffer, std::size_t bytes) noexcept;
  void send(rank_t dest, std::uint32_t buffer, std::size_t bytes, content what, rank_t gives_back_to) noexcept;
  bool finish_some() noexcept;
  void finished(const unfinished& what) noexcept;

  void post(std::size_t place) noexcept;
  bool arrived() noexcept;
  void read(const amity_mpi_arrival& message) noexcept;
  void let_mpi_look_around() noexcept;
  void post_again() noexcept;
  void take_head() noexcept;
  void hand_over(sink& receiver);
  void give_back_if_due(rank_t source) noexcept;
  void give_back(rank_t source) noexcept;
  void give_all_back() noexcept;

  bool anything_new() noexcept;
  bool owes_caller_a_credit() noexcept;

  group& group_;
  const amity_mpi_module mpi_;  ///< a copy: one load less per call
  rank_t threads_;
  rank_t thread_;
  rank_t rank_;
  rank_t size_;
  tag_code tags_;
  std::uint32_t credits_;  ///< with the reserve
  credit_reports reports_;
  bool stopped_ = false;  ///< after `stop_sending`
  zeros<account> peers_;
  std::vector<rank_t> short_;  ///< peers that were refused and have got no credit since; room for all is reserved

  std::optional<send_buffers> out_;
  std::size_t packet_buffers_ = 0;        ///< those of `out_` that hold packets; the others are for giving credits back
  std::vector<amity_mpi_request> sends_;  ///< not done, and...
  std::vector<unfinished> unfinished_;    ///< ... what each of them is
  std::size_t next_look_ = 0;             ///< at `sends_`

  // Messages meet posted receives in the order in which these were posted, so the oldest is the next to be done.
  receive_buffers in_;
  std::vector<amity_mpi_request> posted_;
  std::vector<std::uint32_t> posted_buffers_;
  std::size_t head_ = 0;             ///< the oldest
  std::optional<arrival> head_has_;  ///< it is done, and has a packet
  std::size_t vacant_ = 0;           ///< places in front of it whose receives are to be posted again
  std::uint64_t received_ = 0;
  std::uint32_t found_in_a_row_ = 0;
};

}  // namespace amity::fabric::mpi
