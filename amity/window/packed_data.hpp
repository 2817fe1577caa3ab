#pragma once

/// Data of the origin in blocks, as operations use it.

#include <cstddef>
#include <memory>
#include <utility>

#include "amity/base/types.hpp"
#include "amity/window/layout.hpp"

namespace amity::detail {

/// A copy without gaps of data that lies in blocks.
class packed_data {
 public:
  /// Copies operands out of their blocks.
  packed_data(const std::byte* base, const layout& blocks)
      : bytes_(blocks.bytes()), data_(std::make_unique_for_overwrite<std::byte[]>(bytes_)) {
    blocks.pack(base, 0, data());
  }
  /// Takes a result, until `unpack` copies it to its blocks.
  packed_data(std::byte* base, std::shared_ptr<const layout> blocks)
      : bytes_(blocks->bytes()),
        data_(std::make_unique_for_overwrite<std::byte[]>(bytes_)),
        base_(base),
        blocks_(std::move(blocks)) {}

  mutable_bytes data() const noexcept { return {data_.get(), bytes_}; }
  /// Without an effect on operands.
  void unpack() const noexcept {
    if (blocks_ != nullptr) blocks_->unpack(base_, 0, data());
  }

 private:
  std::size_t bytes_;
  std::unique_ptr<std::byte[]> data_;
  std::byte* base_ = nullptr;
  std::shared_ptr<const layout> blocks_;
};

}  // namespace amity::detail
