#pragma once

/// Messages whose payload is written where it is sent from, instead of being handed over and copied.
///
/// `prepare` lends a buffer: how large it is both sides settle, the caller by a least and a most, the runtime by what
/// its packets hold. `commit` names the handler, the bytes in use and the arguments, and sends. What is not committed
/// is cancelled when its buffer ends.
///
/// What must hold:
/// - A buffer is committed, once, where it was prepared: in the same run of a handler, or outside handlers.
/// - The number of arguments is the one that it was prepared for; a commit that throws has sent nothing.
/// - A buffer ends before its endpoint.

#include <span>
#include <string_view>
#include <utility>

#include "amity/core/arguments.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/core/segment.hpp"

namespace amity::core {

struct bounce_buffer;

/// What prepared messages of all kinds have in common.
class prepared : private immovable {
 public:
  /// Where to write; not initialised. Empty after `commit`.
  mutable_bytes payload() const noexcept { return payload_; }

  /// Throws `error` where the buffer was not prepared: in another run of a handler, or outside of the one.
  void check_place(std::string_view call) const;

 protected:
  prepared(endpoint& owner, rank_t lane, request* answers, std::size_t args);
  prepared(prepared&& other) noexcept
      : owner_(other.owner_),
        lane_(other.lane_),
        answers_(other.answers_),
        args_(other.args_),
        context_(other.context_),
        payload_(std::exchange(other.payload_, {})),
        open_(std::exchange(other.open_, false)) {}
  ~prepared() = default;

  /// Throws `error` for sizes and arguments that no buffer can have; `room` is for the payload.
  static void check_sizes(std::string_view call, const endpoint& owner, std::size_t bytes_min, std::size_t bytes_max,
                          std::size_t args, std::size_t room);
  /// The header of what is committed; throws `error` for what may not be.
  packet_header check_commit(std::string_view call, handler_id handler, std::size_t bytes, std::size_t args) const;
  /// It is being sent.
  void end() noexcept {
    open_ = false;
    payload_ = {};
    if (answers_ != nullptr) answers_->replied_ = true;
  }

  endpoint& owner_;
  rank_t lane_;
  request* answers_;  ///< null: it is no reply
  std::size_t args_;
  std::uint64_t context_;  ///< the run of a handler that has prepared it; 0: none
  mutable_bytes payload_;
  bool open_ = true;
};

/// A Medium, in a packet of the fabric. It holds a credit: outside handlers there is one at a time, and whoever has it
/// commits it before it waits for anything. To cancel it takes an empty packet.
class prepared_medium final : public prepared {
 public:
  prepared_medium(prepared_medium&& other) noexcept = default;
  ~prepared_medium();

  /// Sends the first `bytes` of the payload. Outside handlers it may run handlers.
  void commit(handler_id handler, std::size_t bytes, arguments args = {});

 private:
  friend class endpoint;
  friend class request;
  prepared_medium(std::string_view call, endpoint& owner, rank_t lane, request* answers, std::size_t bytes_min,
                  std::size_t bytes_max, std::size_t args);

  outgoing packet_;
};

/// A Long: its payload is written into the target's segment where stores of this rank reach it, and stays written if
/// the message is cancelled; elsewhere into memory of the runtime's. It holds no credit, and any number may be open; in
/// handlers, while the runtime's memory stays below AMITY_CORE_SPILL_BYTES_MAX.
class prepared_long final : public prepared {
 public:
  prepared_long(prepared_long&& other) noexcept
      // NOLINTNEXTLINE(bugprone-use-after-move): the constructor of the base moves only the members of the base.
      : prepared(std::move(other)), to_(other.to_), bounce_(other.bounce_) {}
  ~prepared_long();

  /// Sends the first `bytes` of the payload. Outside handlers it may run handlers. There is nothing to wait for: the
  /// buffer is the runtime's again.
  void commit(handler_id handler, std::size_t bytes, arguments args = {});

 private:
  friend class long_sender;
  prepared_long(std::string_view call, endpoint& world, rank_t lane, const remote_address& to, request* answers,
                std::size_t bytes_min, std::size_t bytes_max, std::size_t args);

  remote_address to_;
  bounce_buffer* bounce_ = nullptr;  ///< null: the payload is in its place
};

}  // namespace amity::core
