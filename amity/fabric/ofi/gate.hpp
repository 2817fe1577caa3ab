#pragma once

/// The gate of a rank: seals what goes out, and admits what comes in only if each of its fields is right.
///
/// A port of a network can be reached by others than the ranks of the job. Whatever arrives is bytes until the gate has
/// admitted it: the seal proves that a rank of this job made the header for this rank, at this place of its stream, so
/// neither strangers nor copies of old packets get through. What is refused is counted and changes nothing.
///
/// The gate also counts credits: a packet of data holds one from its sending to its release. A rank that has said
/// goodbye releases nothing any more, and takes all that still comes without a credit: whoever has not left yet can
/// send, and need not know. The gate knows nothing of libfabric, so that a test can feed it whatever it likes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "amity/base/types.hpp"
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
  std::uint64_t seal;
  std::uint64_t header;    ///< the caller's word
  std::uint32_t source;    ///< rank
  std::uint32_t sequence;  ///< low half of the packet's number in the stream from source to target
  std::uint32_t shape;     ///< kind (high 8 bits) and bytes of the payload
  std::uint32_t released;  ///< packets of data of the target that the source has released, modulo 2^32
};
static_assert(sizeof(wire_header) == 32);

/// What one rank knows of the packets to and from one peer.
struct flow {
  std::uint64_t next_out = 0;      ///< number of the next packet to the peer
  std::uint64_t next_in = 0;       ///< number that the next packet of the peer must have
  std::uint32_t data_out = 0;      ///< packets of data sent, or promised to an open slot
  std::uint32_t released_out = 0;  ///< of them, released by the peer
  std::uint32_t data_in = 0;       ///< packets of data admitted
  std::uint32_t released_in = 0;   ///< of them, released here
  std::uint32_t announced = 0;     ///< `released_in` as the peer knows it
  bool has_left = false;           ///< the peer has said goodbye, or cannot be reached any more
  bool heard_goodbye = false;      ///< the peer has: ours
};

/// What became of bytes that have arrived.
enum class admission : std::uint8_t {
  admitted,
  wrong_size,      ///< shorter than a header, or not as long as the header says
  wrong_source,    ///< not a rank of the job
  wrong_seal,      ///< made without the secret, for another rank, or altered on the way
  wrong_sequence,  ///< a copy of an earlier packet, altered to look like a later one or not
  wrong_kind,      ///< no packet_kind, or a payload where there can be none
  wrong_credits,   ///< releases more than was sent, or sends more than there are credits
  lost,            ///< a genuine packet, but others before it are missing
};
inline constexpr std::size_t admissions = 8;

/// A packet that was admitted.
struct admitted_packet {
  rank_t source = no_rank;
  packet_kind kind{};
  std::uint64_t header = 0;
  bytes_view payload;     ///< inside the bytes that were shown
  bool released = false;  ///< it brought credits back, or the end of them
};

struct gate_options {
  secret key;
  rank_t rank = 0;
  rank_t size = 1;
  std::size_t packet_bytes_max = 0;
  std::uint32_t credits = 0;  ///< a peer
};

class gate {
 public:
  explicit gate(const gate_options& given);

  flow& with(rank_t peer) noexcept { return flows_[static_cast<std::size_t>(peer)]; }
  const flow& with(rank_t peer) const noexcept { return flows_[static_cast<std::size_t>(peer)]; }

  std::uint32_t credits_left(rank_t peer) const noexcept {
    const flow& own = with(peer);
    return own.has_left ? given_.credits : given_.credits - (own.data_out - own.released_out);
  }

  /// Makes the header of the next packet to `dest`. It is sent, or made anew: `sent` says that the former was done.
  wire_header make(rank_t dest, packet_kind kind, std::uint64_t header, std::size_t payload_bytes) const noexcept;
  void sent(rank_t dest, const wire_header& made) noexcept;

  /// Looks at bytes that have arrived; fills `out` if they are admitted, and counts them otherwise.
  admission admit(bytes_view arrived, admitted_packet& out) noexcept;

  std::uint64_t count(admission what) const noexcept { return counts_[static_cast<std::size_t>(what)]; }
  /// Packets that were refused, in all.
  std::uint64_t refused() const noexcept;

 private:
  admission judge(bytes_view arrived, admitted_packet& out) noexcept;
  std::uint64_t seal_of(const wire_header& made, rank_t target, std::uint64_t number) const noexcept;

  gate_options given_;
  std::vector<flow> flows_;  ///< by peer
  std::array<std::uint64_t, admissions> counts_{};
};

}  // namespace amity::fabric::ofi
