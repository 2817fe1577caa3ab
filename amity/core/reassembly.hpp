#pragma once

/// Messages larger than a packet: cut into fragments by the source, put together again by the target.
/// Fragments may arrive in any order; each says where it belongs.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "amity/base/types.hpp"

namespace amity::core {

/// In front of the bytes of each fragment.
struct fragment_header {
  std::uint64_t message;  ///< number of the message, counted by its source
  std::uint64_t total;    ///< bytes of the whole message
  std::uint64_t offset;   ///< of this fragment
};
static_assert(sizeof(fragment_header) == 24);

/// Reads the header of a fragment. Bytes that no source sends as a fragment (too few, or a part that does not lie
/// inside its message) have none.
std::optional<fragment_header> header_of_fragment(bytes_view fragment);

/// No source that runs the same build sends such a fragment. `content` describes it.
struct invalid_fragment {
  std::string content;
};
/// The fragment of a source, with its header. Throws `invalid_fragment`.
std::pair<fragment_header, bytes_view> split_fragment(bytes_view fragment);

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

  /// Takes in one fragment; returns the message once it is whole. Throws `std::bad_alloc`, and `invalid_fragment` for a
  /// fragment that does not belong to the same message as the fragments before.
  std::optional<message> add(rank_t source, bytes_view fragment);

  /// Whether `add` returns the message, or throws.
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
