#pragma once

/// A fabric's own fields as the bytes of a segment's key.

#include <cstring>
#include <type_traits>

#include "amity/fabric/remote_memory.hpp"

namespace amity::fabric {

template <class Fields>
segment_key key_from(const Fields& fields) noexcept {
  segment_key made;
  static_assert(std::is_trivially_copyable_v<Fields> && sizeof fields <= segment_key::fabric_bytes_max);
  std::memcpy(made.bytes.data(), &fields, sizeof fields);
  return made;
}

template <class Fields>
Fields fields_of(const segment_key& key) noexcept {
  Fields fields;
  std::memcpy(&fields, key.bytes.data(), sizeof fields);
  return fields;
}

}  // namespace amity::fabric
