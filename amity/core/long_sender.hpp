#pragma once

/// The source's side of Long messages.
///
/// A Long is a put with a handler: its payload goes to a place in a segment of the target, and when it is there, and
/// not before, a handler runs. The steps that this takes depend on what reaches the segment (`long_protocol.hpp`).

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "amity/core/bounce_buffers.hpp"
#include "amity/core/long_options.hpp"
#include "amity/core/long_protocol.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/core/segment.hpp"

namespace amity::core {

class endpoint;
class engine;
class memory_service;
class prepared_long;
class request;

class long_sender : private immovable {
 public:
  long_sender(engine& on, memory_service& own, const long_options& options);

  /// Sends a request of this world; `source_free` is reached when the payload may change. Throws `error` as requests
  /// do, for a place that is not in the segment, and for a segment of a rank that is not in the world.
  void request(std::string_view call, endpoint& world, const remote_address& to, handler_id handler, bytes_view payload,
               std::span<const std::uint64_t> args, event& source_free);
  /// Sends a reply to a request of the lane `source` of the world.
  void reply(std::string_view call, endpoint& world, rank_t source, const remote_address& to, handler_id handler,
             bytes_view payload, std::span<const std::uint64_t> args, event& source_free);
  /// `answers` is null for a request, and otherwise from the lane `source` of the world.
  prepared_long prepare(std::string_view call, endpoint& world, const remote_address& to, core::request* answers,
                        rank_t source, std::size_t bytes_min, std::size_t bytes_max, std::size_t args);

  // --- For prepared messages, to the lane of the world. ---

  void send(endpoint& world, rank_t lane, const remote_address& to, packet_header header,
            std::span<const std::uint64_t> args, bytes_view payload, event* source_free);
  /// The payload is in its place: what is sent from now on comes after it.
  void send_landed(endpoint& world, rank_t lane, const remote_address& to, packet_header header,
                   std::span<const std::uint64_t> args, std::size_t bytes);
  /// Handlers do not wait for a buffer in use: what they make is bounded as what they send.
  bounce_buffer& take_bounce(std::string_view call, std::size_t bytes_min);

  /// From now on as AMITY_LONG_PROTOCOL says this. Throws `error` for what this fabric cannot have.
  void choose(std::string_view protocol);
  /// The protocol that a payload of this size would take to this segment.
  long_protocol protocol_for(const remote_segment& to, bytes_view payload) const noexcept;
  void release_unused() noexcept;
  bool quiet() const noexcept { return bounce_.quiet(); }
  /// Whether the event is that of a prepared message.
  bool is_own(const awaited& told) const noexcept { return bounce_.has(told); }

 private:
  enum class at_once { nothing, put, all };
  at_once send_at_once(endpoint& world, long_protocol protocol, const remote_address& to, packet_header header,
                       std::span<const std::uint64_t> args, bytes_view payload);
  rank_t lane_for(std::string_view call, const endpoint& world, const remote_address& to, std::size_t bytes) const;
  void check_reply_place(std::string_view call, const endpoint& world, rank_t source, rank_t lane) const;

  engine& engine_;
  memory_service& service_;
  long_choice on_node_;  ///< to ranks of this node
  long_choice across_;   ///< to others
  bool synchronous_;     ///< requests outside handlers wait for their puts
  bounce_buffers bounce_;
};

}  // namespace amity::core
