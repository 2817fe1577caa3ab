#pragma once

/// Unpacks gzip data (RFC 1952), one member or several in a row; other bytes pass unchanged.
///
/// Data that ends inside a member, bytes that follow the last member, and a wrong checksum are errors: a graph that is
/// read from part of a file would be wrong without notice.

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "apps/graph/input/byte_source.hpp"

namespace amity::apps::graph {

/// The gzip data is invalid; `what()` is the reason.
class unpack_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class unpacker {
 public:
  explicit unpacker(byte_source from);
  ~unpacker();
  unpacker(const unpacker&) = delete;
  unpacker& operator=(const unpacker&) = delete;

  /// Fills `into`; returns fewer bytes only at the end. Throws `unpack_error`, and `std::system_error` if a read fails.
  std::size_t read(std::span<char> into);

  /// Number of bytes of the source, packed as they are, that have been used.
  std::uint64_t position() const noexcept { return from_.position() - packed_.size(); }

 private:
  enum class state { undecided, plain, between_members, in_member };

  std::size_t read_plain(std::span<char> into);
  std::size_t read_member(std::span<char> into);
  void begin_member();
  bool at_member();
  void refill();

  byte_source from_;
  state state_ = state::undecided;
  std::vector<char> buffer_;
  std::span<const char> packed_;  ///< part of the buffer that has not been used
  z_stream stream_{};
};

}  // namespace amity::apps::graph
