#pragma once

/// Messages larger than a packet: cut into fragments by the source, put together again by the target.
/// Fragments may arrive in any order; each says where it belongs.

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "amity/base/types.hpp"

namespace amity::core {

/// In front of the bytes of each fragment.
struct fragment_header {
  std::uint64_t message;  ///< number of the message, counted by its source
  std::uint64_t total;    ///< bytes of the whole message
  std::uint64_t offset;   ///< of this fragment
};
static_assert(sizeof(fragment_header) == 24);

/// Reads the header of a fragment, which is larger than the header.
fragment_header header_of_fragment(rank_t source, bytes_view fragment);

/// A message that travels in fragments.
struct fragment_key {
  rank_t source;
  std::uint64_t message;
  bool operator==(const fragment_key&) const = default;
};
struct fragment_key_hash {
  std::size_t operator()(const fragment_key& k) const noexcept;
};

class reassembly {
 public:
  /// A whole message, aligned to the cache line.
  struct message {
    std::unique_ptr<std::byte[]> storage;
    bytes_view bytes;
  };

  /// Takes in one fragment; returns the message once it is whole. Throws `std::bad_alloc`.
  std::optional<message> add(rank_t source, bytes_view fragment);

  /// Whether this fragment is the last one that its message waits for.
  bool completes(rank_t source, bytes_view fragment) const;

  std::size_t incomplete() const noexcept { return partial_.size(); }

 private:
  struct partial {
    std::unique_ptr<std::byte[]> storage;
    mutable_bytes bytes;
    std::size_t received = 0;
  };

  std::unordered_map<fragment_key, partial, fragment_key_hash> partial_;
};

}  // namespace amity::core
