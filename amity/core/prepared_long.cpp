/// Long messages that are written in place.

#include <algorithm>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/core/prepared.hpp"
#include "amity/core/remote_endpoint.hpp"

namespace amity::core {

prepared_long remote_endpoint::prepare_long(const place& to, std::size_t bytes_min, std::size_t bytes_max,
                                            std::size_t args) {
  return {"remote_endpoint::prepare_long", *this, to, nullptr, bytes_min, bytes_max, args};
}

prepared_long remote_endpoint::prepare_reply_long(std::string_view call, request& answers, const place& to,
                                                  std::size_t bytes_min, std::size_t bytes_max, std::size_t args) {
  check_reply_place(call, answers.packet_.source, to, bytes_min);
  return {call, *this, to, &answers, bytes_min, bytes_max, args};
}

// Handlers do not wait for a buffer in use: what they make is bounded as what they send.
bounce_buffer& remote_endpoint::take_bounce(std::string_view call, std::size_t bytes_min) {
  memory_bound& memory = owner_.engine_->memory();
  const std::size_t more = bounce_.growth(bytes_min);
  if (more > 0 && owner_.in_handler() && !owner_.engine_->has_room(more)) {
    throw error(call, owner_.rank(),
                fmt::format("there are {} bytes for prepared messages and for others that wait, and {} more in a "
                            "handler would exceed AMITY_CORE_SPILL_BYTES_MAX={}",
                            memory.bytes(), more, memory.bytes_max()),
                "prepare less in handlers, or raise AMITY_CORE_SPILL_BYTES_MAX");
  }
  const std::size_t before = bounce_.bytes();
  bounce_buffer& taken = bounce_.take(bytes_min);
  memory.add_held(bounce_.bytes() - before);
  return taken;
}

prepared_long request::prepare_reply_long(const place& to, std::size_t bytes_min, std::size_t bytes_max,
                                          std::size_t args) {
  constexpr std::string_view call = "request::prepare_reply_long";
  check_reply(call);
  return owner_.remote_for(call).prepare_reply_long(call, *this, to, bytes_min, bytes_max, args);
}

prepared_long::prepared_long(std::string_view call, remote_endpoint& memory, const place& to, request* answers,
                             std::size_t bytes_min, std::size_t bytes_max, std::size_t args)
    : prepared(memory.owner_, to.segment.lane, answers, args), memory_(memory), to_(to) {
  memory.check_place(call, to, bytes_min);
  const std::size_t room = to.segment.bytes() - to.offset;
  check_sizes(call, owner_, bytes_min, bytes_max, args, room);
  std::byte* const there = to.segment.handle.direct;
  if (there != nullptr) {
    payload_ = {there + to.offset, std::min(bytes_max, room)};
    return;
  }
  bounce_ = &memory.take_bounce(call, bytes_min);
  payload_ = {bounce_->data.get(), std::min({bytes_max, room, bounce_->bytes})};
}

void prepared_long::commit(handler_id handler, std::size_t bytes, std::span<const std::uint64_t> args) {
  const packet_header header = check_commit("prepared_long::commit", handler, bytes, args.size());
  const bytes_view payload = payload_.first(bytes);
  end();
  if (bounce_ == nullptr) {
    memory_.send_landed(to_, header, args, bytes);
  } else {
    bounce_->open = false;
    memory_.send_long(to_, header, args, payload, &bounce_->source_free);
  }
  owner_.engine_->pace(owner_);
}

prepared_long::~prepared_long() {
  if (open_ && bounce_ != nullptr) bounce_->open = false;
}

}  // namespace amity::core
