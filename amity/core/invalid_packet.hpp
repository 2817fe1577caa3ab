#pragma once

/// The errors for packets that no rank sends which runs the same build, and for those that come too late.

#include <string_view>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/types.hpp"

namespace amity::core {

/// `rank` has received the packet, `source` has sent it, and `content` describes what is wrong.
inline error invalid_packet(rank_t rank, rank_t source, std::string_view content) {
  return {"message arrival", rank, fmt::format("rank {} sent an invalid packet: {}", source, content),
          "run the same build of the program with the same settings on all ranks"};
}

/// `rank` has received a message in `world`, which it does not have, and `source` has sent it.
inline error no_such_world(rank_t rank, rank_t source, int world) {
  return {
      "message arrival", rank,
      fmt::format("rank {} sent a message in world {}, which this rank has destroyed, or never made", source, world),
      "destroy a world on all its ranks, after the last message that was sent in it has been handled"};
}

}  // namespace amity::core
