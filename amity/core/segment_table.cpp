#include "amity/core/segment_table.hpp"

#include <string_view>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/core/engine.hpp"

namespace amity::core {

const local_segment* segment_table::holder_of(bytes_view bytes) const noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const entry* const found = segments_.find_if([&](const entry& each) {
    const std::uintptr_t offset = begin - reinterpret_cast<std::uintptr_t>(each.own.data);
    return each.readable && offset <= each.own.bytes && bytes.size() <= each.own.bytes - offset;
  });
  return found == nullptr ? nullptr : &found->own;
}

std::byte* segment_table::place_of(rank_t source, std::uint32_t number, std::uint64_t offset,
                                   std::uint64_t bytes) const {
  const entry* const at = find(number);
  const auto refuse = [&](std::string_view why, std::string_view remedy) -> error {
    return {"message arrival", engine_.rank(),
            fmt::format("rank {} uses {} bytes at offset {} of segment {} of this rank, which {}",
                        source / engine_.threads(), bytes, offset, number, why),
            remedy};
  };
  if (at == nullptr) {
    throw refuse("has been released, or never existed",
                 "release a segment after a barrier that follows the last operation and the last Long message to it");
  }
  if (offset > at->own.bytes || bytes > at->own.bytes - offset) {
    throw refuse(fmt::format("has {} bytes", at->own.bytes),
                 "pass the descriptor of a segment, without a change, to those who open it");
  }
  return at->own.data + offset;
}

}  // namespace amity::core
