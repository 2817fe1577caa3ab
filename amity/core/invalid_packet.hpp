#pragma once

/// The error for packets that no rank sends which runs the same build.

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

}  // namespace amity::core
