#pragma once

/// The gate of a rank: seals outgoing packets, and admits incoming ones only if all their fields are valid.
///
/// Processes other than the ranks of the job can reach a port. The seal proves that a rank of this job made the header
/// and the payload for this rank, at this position of its stream. A packet without a valid seal, or a copy of an
/// earlier packet, is counted and changes nothing. A packet with a valid seal and invalid fields shows a bug of its
/// source: it changes nothing here, and the caller ends the job with the name of the source.
///
/// The gate also counts credits: a packet of data holds one from its sending to its release. A rank that has said
/// goodbye releases nothing any more, and takes all that still comes without a credit: whoever has not left yet can
/// send, and need not know. The gate knows nothing of libfabric, so that a test can feed it whatever it likes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/fabric/credit_reports.hpp"
#include "amity/fabric/ofi/seal.hpp"

namespace amity::fabric::ofi {

/// What a packet is for. Only `data` holds a credit, and is for the caller.
enum class packet_kind : std::uint8_t {
  data = 1,
  credits,  ///< says how many packets its sender has released, as every packet does
  goodbye,  ///< the last packet: its sender will not send again
  abort,    ///< the job has ended
};

/// In front of each payload.
struct wire_header {
  packet_tag seal;         ///< of all that follows, payload included
  std::uint64_t header;    ///< the caller's word
  std::uint32_t source;    ///< rank
  std::uint32_t sequence;  ///< low half of the packet's number in the stream from source to target
  std::uint32_t shape;     ///< kind (high 8 bits) and bytes of the payload
  std::uint32_t released;  ///< packets of data of the target that the source has released, modulo 2^32
};
static_assert(sizeof(wire_header) == 40);

inline constexpr std::size_t header_bytes = sizeof(wire_header);

/// What one rank knows of the packets to and from one peer.
struct flow {
  std::uint64_t next_out = 0;      ///< number of the next packet to the peer
  std::uint64_t next_in = 0;       ///< number that the next packet of the peer must have
  std::uint32_t data_out = 0;      ///< packets of data sent, or promised to an open slot
  std::uint32_t released_out = 0;  ///< of them, released by the peer
  std::uint32_t data_in = 0;       ///< packets of data admitted
  std::uint32_t released_in = 0;   ///< of them, released here
  std::uint32_t announced = 0;     ///< `released_in` as the peer knows it
  std::uint16_t held = 0;          ///< packets of data with the sink, or kept
  bool has_left = false;           ///< the peer has said goodbye, or cannot be reached any more
  bool heard_goodbye = false;      ///< the peer has: ours

  bool operator==(const flow&) const = default;
};

/// What became of bytes that have arrived.
enum class admission : std::uint8_t {
  admitted,
  // Without a valid seal, or replayed:
  too_short,       ///< shorter than a header
  wrong_source,    ///< not a rank of the job
  wrong_seal,      ///< made without the key of the job, for another rank, or changed on the way
  wrong_sequence,  ///< a copy of an earlier packet
  // With a valid seal:
  lost,             ///< packets before this one are missing
  invalid_size,     ///< the payload has another length than the header says
  invalid_kind,     ///< not a packet_kind, or a payload with a kind that has none
  invalid_credits,  ///< releases more than was sent, or was sent without a credit
};
inline constexpr std::size_t admissions = 9;

/// Whether the packet proves that the job cannot continue.
constexpr bool ends_job(admission what) noexcept { return what >= admission::lost; }
/// What is wrong with a packet that ends the job, for an error message.
std::string_view describe(admission what) noexcept;

/// A packet that was admitted. Of one that ends the job, only `source` is set.
struct admitted_packet {
  rank_t source = no_rank;
  packet_kind kind{};
  std::uint64_t header = 0;
  bytes_view payload;     ///< inside the bytes that were shown
  bool released = false;  ///< it brought credits back, or the end of them
};

struct gate_options {
  sodium crypto;
  job_key key;
  bool sealed = true;
  rank_t rank = 0;
  rank_t size = 1;
  std::size_t packet_bytes_max = 0;
  std::uint32_t credits = 0;  ///< a peer, with the reserve
};

class gate {
 public:
  explicit gate(const gate_options& given);

  flow& with(rank_t peer) noexcept { return flows_[static_cast<std::size_t>(peer)]; }
  const flow& with(rank_t peer) const noexcept { return flows_[static_cast<std::size_t>(peer)]; }

  const sodium& crypto() const noexcept { return given_.crypto; }

  std::uint32_t credits_left(rank_t peer) const noexcept {
    const flow& own = with(peer);
    return own.has_left ? given_.credits : given_.credits - (own.data_out - own.released_out);
  }

  bool has_credit(rank_t peer, claim of) const noexcept { return credits_left(peer) > withheld_from(of); }
  /// Whether packets that were released here are to be reported to the peer now.
  bool credits_are_due(rank_t peer) const noexcept {
    const flow& own = with(peer);
    const std::uint32_t released = own.released_in - own.announced;
    return reports_.are_due(released, released + own.held);
  }

  /// Writes the header of the next packet to `dest` to `wire`; the payload follows there already. Call `sent` if it was
  /// sent. If it was not, it may be sealed again with other fields: no two packets with one number may be sent.
  wire_header seal(rank_t dest, packet_kind kind, std::uint64_t header, std::byte* wire,
                   std::size_t payload_bytes) noexcept;
  void sent(rank_t dest, std::uint32_t released) noexcept;

  /// Looks at bytes that have arrived; fills `out` if they are admitted, and counts them otherwise.
  admission admit(bytes_view arrived, admitted_packet& out) noexcept;

  std::uint64_t count(admission what) const noexcept { return counts_[static_cast<std::size_t>(what)]; }
  /// Packets that were refused, in all.
  std::uint64_t refused() const noexcept;

 private:
  admission judge(bytes_view arrived, admitted_packet& out) noexcept;

  gate_options given_;
  credit_reports reports_;
  std::vector<flow> flows_;         ///< by peer
  std::vector<packet_seal> seals_;  ///< by peer: of packets to it, then of packets from it
  std::array<std::uint64_t, admissions> counts_{};
};

}  // namespace amity::fabric::ofi
