#include "amity/message/remote_call.hpp"

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::detail {

std::uint32_t shared_objects::add(const void* object, std::string_view type) {
  entries_.push_back({object, type});
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

const void* shared_objects::find(std::uint32_t index, std::string_view type, rank_t rank) const {
  if (index >= entries_.size()) {
    throw error("async", rank,
                fmt::format("a call arrived for shared object {}, but this rank has shared {}", index, entries_.size()),
                "call world::share for the same objects in the same order on all ranks");
  }
  if (entries_[index].type != type) {
    throw error("async", rank,
                fmt::format("a call arrived for shared object {} as '{}', but here it is '{}'", index, type,
                            entries_[index].type),
                "call world::share for the same objects in the same order on all ranks");
  }
  return entries_[index].object;
}

}  // namespace amity::detail
