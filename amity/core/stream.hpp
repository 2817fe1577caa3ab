#pragma once

/// Large messages that are never held whole as bytes: a source produces them piece by piece, and the target consumes
/// each piece when it arrives.
///
/// They travel as fragments (reassembly.hpp). A fragment that overtakes an earlier one is copied and waits. The credits
/// of the source bound how many do.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/lent.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/core/reassembly.hpp"
#include "amity/core/registry.hpp"

namespace amity::core {

/// A stream of bytes that lie in memory.
class memory_stream final : public outgoing_stream {
 public:
  explicit memory_stream(bytes_view bytes, std::unique_ptr<std::byte[]> owned = {}) noexcept
      : rest_(bytes), owned_(std::move(owned)) {}
  std::size_t produce(mutable_bytes to) override;

 private:
  bytes_view rest_;
  std::unique_ptr<std::byte[]> owned_;  ///< null: the bytes belong to the caller
};

/// A message that arrives. It is destroyed without `handle` if it does not arrive whole.
class incoming_stream {
 public:
  virtual ~incoming_stream() = default;
  /// Takes the next bytes of the message. `left` more follow. Throws `error` if they are not what was expected.
  virtual void consume(bytes_view next, std::uint64_t left) = 0;
  /// Runs the handler. All bytes have been consumed.
  virtual void handle() = 0;
};

/// The streams that have arrived in part.
class incoming_streams {
 public:
  /// Bit of `fragment_header::message`: the message is a stream.
  static constexpr std::uint64_t mark = std::uint64_t{1} << 63;

  /// Consumes one fragment. Returns the message when it is whole. Throws `invalid_fragment` for a fragment that
  /// cannot be one of an honest source, what `consume` throws, and `std::bad_alloc`.
  std::unique_ptr<incoming_stream> add(rank_t source, handler_id handler, bytes_view fragment, stream_opener open,
                                       void* context);

  /// Whether this fragment is the last one that its message waits for, or invalid.
  bool completes(rank_t source, bytes_view fragment) const;

  /// Forgets the messages of a handler.
  void drop(handler_id handler);

  std::size_t incomplete() const noexcept { return partial_.size(); }

 private:
  struct partial {
    handler_id handler = 0;
    std::unique_ptr<incoming_stream> stream;
    std::uint64_t total = 0;
    std::uint64_t consumed = 0;
    std::uint64_t received = 0;                             ///< `consumed`, and the bytes that wait
    std::map<std::uint64_t, std::vector<std::byte>> ahead;  ///< by offset
  };

  std::unordered_map<fragment_key, partial, fragment_key_hash> partial_;
};

}  // namespace amity::core
