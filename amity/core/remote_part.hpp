#pragma once

/// What the endpoint tells its part for remote memory (`remote_endpoint`), and asks of it.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "amity/base/types.hpp"
#include "amity/core/event.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/core/segment.hpp"

namespace amity::core {

class prepared_long;
class request;

class remote_part {
 public:
  // Packets of the three kinds that are its own. What they throw ends the job.

  virtual void on_envelope(packet_header header, rank_t lane, bytes_view packet) = 0;
  virtual void on_slots(rank_t lane, bytes_view packet) = 0;
  virtual void on_remote(rank_t lane, bytes_view packet) = 0;

  /// The data of a put that notifies is there.
  virtual void on_notify(std::uint32_t bits) noexcept = 0;

  /// Sends a reply to the lane, with its payload put to a place there.
  virtual void reply_long(std::string_view call, rank_t lane, handler_id handler, std::span<const std::uint64_t> args,
                          bytes_view payload, const place& to, event* source_free) = 0;

  /// For the reply to `answers`.
  virtual prepared_long prepare_reply_long(std::string_view call, request& answers, const place& to,
                                           std::size_t bytes_min, std::size_t bytes_max, std::size_t args) = 0;

  /// Frees memory that counts as held and is not in use.
  virtual void release_unused_memory() noexcept = 0;
  /// Whether it holds nothing that this rank must still send.
  virtual bool quiet() const noexcept = 0;
  /// For a person; lines that begin with "\n  ".
  virtual std::string describe() const = 0;

 protected:
  ~remote_part() = default;
};

}  // namespace amity::core
