#include "amity/interop/mpi/drop_in/datatype.hpp"

#include <utility>

namespace amity::mpi {

counted_layout::counted_layout(const layout& one, std::ptrdiff_t extent)
    : one_(std::make_shared<const layout>(one)),
      extent_(extent),
      bytes_(one.bytes()),
      first_(one.first()),
      is_block_(one.is_contiguous()),
      is_dense_(is_block_ && (bytes_ == 0 || std::cmp_equal(bytes_, extent))) {}

std::shared_ptr<const layout> counted_layout::find(std::size_t count) const {
  if (count == 0) return nullptr;
  if (count == 1) return one_;
  const std::lock_guard lock(mutex_);
  if (last_count_ != count) {
    last_ = std::make_shared<const layout>(one_->repeated(count, extent_));
    last_count_ = count;
  }
  return last_;
}

namespace {

/// An element of a pair includes its padding.
layout elements_of(const predefined_type& type) {
  const bool is_pair = type.kind && type.kind->category == type_category::pair;
  return is_pair ? layout::contiguous(layout_of(type.kind->type).bytes) : type.data;
}

}  // namespace

datatype::datatype(const predefined_type& type, const type_extent& bounds)
    : datatype(type_map{.data = type.data, .elements = elements_of(type), .kind = type.kind}, bounds, true) {}

datatype::datatype(const type_map& map, const type_extent& bounds, bool is_predefined)
    : bounds_(bounds), is_predefined_(is_predefined), kind_(map.kind), data_(map.data, bounds.extent) {
  if (map.elements != map.data) elements_.emplace(map.elements, bounds.extent);
}

}  // namespace amity::mpi
