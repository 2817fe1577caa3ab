#include "amity/core/prepared.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::core {

// Any kind

prepared::prepared(endpoint& owner, rank_t lane, request* answers, std::size_t args)
    : owner_(owner), lane_(lane), answers_(answers), args_(args), context_(owner.own_engine().running().number()) {}

void prepared::check_sizes(std::string_view call, const endpoint& owner, std::size_t bytes_min, std::size_t bytes_max,
                           std::size_t args, std::size_t room) {
  core::check_args(call, owner.rank(), args);
  if (bytes_min > bytes_max) {
    throw error(call, owner.rank(), fmt::format("at least {} and at most {} bytes", bytes_min, bytes_max),
                "ask for a least that is not above the most");
  }
  if (bytes_min > room) {
    throw error(call, owner.rank(),
                fmt::format("at least {} bytes beside {} arguments, but there is room for {}", bytes_min, args, room),
                "ask for fewer, and for as many as there are; request_medium and request_long send more");
  }
}

void prepared::check_place(std::string_view call) const {
  if (context_ == owner_.own_engine().running().number()) return;
  throw error(call, owner_.rank(),
              context_ == 0 ? "a handler ended a buffer that was prepared outside handlers"
                            : "a buffer is ended after the handler that has prepared it",
              "commit or cancel a buffer where it was prepared");
}

packet_header prepared::check_commit(std::string_view call, handler_id handler, std::size_t bytes,
                                     std::size_t args) const {
  const rank_t rank = owner_.rank();
  if (!open_) {
    throw error(call, rank, "this buffer was committed before, or moved from", "prepare one for each message");
  }
  check_place(call);
  if (bytes > payload_.size()) {
    throw error(call, rank, fmt::format("{} bytes of a buffer of {}", bytes, payload_.size()),
                "write and commit no more than payload() has");
  }
  if (args != args_) {
    throw error(call, rank, fmt::format("{} arguments, but the buffer was prepared for {}", args, args_),
                "name their number when the buffer is prepared");
  }
  if (answers_ != nullptr) answers_->check_reply(call);
  const packet_header header = owner_.header_for_request(call, lane_, handler, args).with_args(args);
  return answers_ != nullptr ? header.as_reply() : header;
}

// Medium

prepared_medium endpoint::prepare_medium(rank_t dest, std::size_t bytes_min, std::size_t bytes_max, std::size_t args) {
  constexpr std::string_view call = "endpoint::prepare_medium";
  if (checks_threads_) [[unlikely]]
    check_thread(call);
  if (dest < 0 || dest >= size_) throw_wrong_rank(call, dest);
  return {call, *this, lane_of(dest, home_), nullptr, bytes_min, bytes_max, args};
}

prepared_medium request::prepare_reply_medium(std::size_t bytes_min, std::size_t bytes_max, std::size_t args) {
  constexpr std::string_view call = "request::prepare_reply_medium";
  check_reply(call);
  return {call, owner_, packet_.source, this, bytes_min, bytes_max, args};
}

prepared_medium::prepared_medium(std::string_view call, endpoint& owner, rank_t lane, request* answers,
                                 std::size_t bytes_min, std::size_t bytes_max, std::size_t args)
    : prepared(owner, lane, answers, args) {
  const std::size_t args_bytes = args * sizeof(std::uint64_t);
  const std::size_t room = args > args_max ? 0 : owner.packet_bytes_max() - args_bytes;
  check_sizes(call, owner, bytes_min, bytes_max, args, room);
  if (context_ == 0 && owner.prepared_ > 0) {
    throw error(call, owner.rank(), "another buffer is prepared, and may have the credit that this one would wait for",
                "commit one buffer before the next is prepared");
  }
  const std::size_t bytes = std::min(bytes_max, room);
  owner.open_or_wait(lane, args_bytes + bytes, "a prepared message", packet_, fabric::claim::ordinary);
  if (context_ == 0) ++owner.prepared_;
  payload_ = {packet_.data + args_bytes, bytes};
}

void prepared_medium::commit(handler_id handler, std::size_t bytes, arguments words) {
  const std::span<const std::uint64_t> args = words;
  const packet_header header = check_commit("prepared_medium::commit", handler, bytes, args.size());
  if (!args.empty()) std::memcpy(packet_.data, args.data(), args.size_bytes());
  owner_.commit(lane_, header, packet_, args.size_bytes() + bytes);
  owner_.ledger_.sent(handler, lane_, 1, owner_.in_epoch());
  if (context_ == 0) --owner_.prepared_;
  end();
  owner_.engine_->pace(owner_);
}

// The fabric wants each packet that was begun: one that says nothing takes the credit along.
prepared_medium::~prepared_medium() {
  if (!open_) return;
  if (context_ == 0) --owner_.prepared_;
  if (packet_.owned) {
    owner_.engine_->bound().subtract_held(packet_.owned->memory_bytes());
    return;
  }
  static constexpr packet_header nothing = service_header(service::wake);
  owner_.own_engine().transport().commit(owner_.job_lane(lane_), nothing.word(), packet_.slot, 0);
}

}  // namespace amity::core
