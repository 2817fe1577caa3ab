#pragma once

/// What a core handler sees of the message that it runs for, and its reply.

#include <cstdint>
#include <span>
#include <string_view>

#include "amity/base/types.hpp"
#include "amity/core/arguments.hpp"
#include "amity/core/event.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/core/registry.hpp"
#include "amity/core/segment.hpp"

namespace amity::core {

class endpoint;
class prepared_long;
class prepared_medium;

/// Valid while its handler runs, on the thread that runs it.
class request : private immovable {
 public:
  request(endpoint& owner, const inbound& packet) : owner_(owner), packet_(packet) {}

  /// That of the thread which runs the handler: to send more, where it may be any of several.
  endpoint& owner() const noexcept { return owner_; }
  rank_t source() const noexcept;
  std::span<const std::uint64_t> args() const noexcept {
    // The payload of a packet is aligned to 16 bytes, and arguments come first.
    return {reinterpret_cast<const std::uint64_t*>(packet_.payload.data()), packet_.args};
  }
  /// Of a Long: in this rank's segment, where it stays.
  bytes_view payload() const noexcept {
    return packet_.landed != nullptr ? *packet_.landed : packet_.payload.subspan(packet_.args * sizeof(std::uint64_t));
  }
  /// Whether this is the reply to a request of this rank's.
  bool is_reply() const noexcept { return packet_.reply; }

  /// Replies to the source, at most once. The handler there gets the reply as its request. Throws `error` for a
  /// second reply, for a reply to a reply, and as requests do; a reply that threw has not been sent.
  void reply_short(handler_id handler, arguments args = {});
  void reply_medium(handler_id handler, bytes_view payload, arguments args = {});
  /// Puts the payload to a segment of the source, as `endpoint::request_long` does.
  void reply_long(const remote_address& to, handler_id handler, bytes_view payload, arguments args, event& source_free);

  /// As `endpoint::prepare_medium` and `endpoint::prepare_long`, for the reply.
  prepared_medium prepare_reply_medium(std::size_t bytes_min, std::size_t bytes_max, std::size_t args = 0);
  prepared_long prepare_reply_long(const remote_address& to, std::size_t bytes_min, std::size_t bytes_max,
                                   std::size_t args = 0);

 private:
  friend class prepared;
  friend class prepared_medium;
  void reply(std::string_view call, handler_id handler, std::span<const std::uint64_t> args, bytes_view payload);
  void check_reply(std::string_view call) const;

  endpoint& owner_;
  const inbound& packet_;
  bool replied_ = false;
};

}  // namespace amity::core
