#include "amity/interop/mpi/drop_in/type_cache.hpp"

#include <algorithm>

#include "amity/interop/mpi/drop_in/encoded_type.hpp"

namespace amity::mpi {
namespace {

std::string_view text_of(bytes_view bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

}  // namespace

type_cache::type_cache(const predefined_types& predefined, std::size_t types_max)
    : predefined_(predefined), types_max_(std::max<std::size_t>(types_max, 1)) {}

MPI_Datatype type_cache::find(bytes_view encoded) {
  if (const auto found = by_bytes_.find(text_of(encoded)); found != by_bytes_.end()) {
    by_use_.splice(by_use_.begin(), by_use_, found->second);
    return found->second->type.get();
  }
  by_use_.push_front({{encoded.begin(), encoded.end()}, decode_type(encoded, predefined_)});
  by_bytes_.emplace(text_of(by_use_.front().encoded), by_use_.begin());
  if (by_use_.size() > types_max_) {
    by_bytes_.erase(text_of(by_use_.back().encoded));
    by_use_.pop_back();
  }
  return by_use_.front().type.get();
}

}  // namespace amity::mpi
