#pragma once

/// What operations on memory of peers are waited for with.
///
/// The fabric knows the context of an operation, a word; that word is the address of an `awaited`, so that each event
/// finds whoever asked for it without a table.

#include <cstddef>
#include <cstdint>

#include "amity/base/types.hpp"

namespace amity::core {

/// Told, inside a call that makes progress, that an operation has come to the stage that was asked for.
class awaited {
 public:
  virtual void reached() noexcept = 0;

  std::uint64_t context() noexcept { return reinterpret_cast<std::uintptr_t>(this); }
  static awaited& of(std::uint64_t context) noexcept {
    return *reinterpret_cast<awaited*>(static_cast<std::uintptr_t>(context));
  }

 protected:
  ~awaited() = default;
};

/// Counts operations under way: one event serves one operation, or any number of them. It stays where it is until all
/// of them have come to their stage, or the job has failed.
class event final : public awaited, private immovable {
 public:
  event() = default;

  bool done() const noexcept { return under_way_ == 0; }
  std::size_t under_way() const noexcept { return under_way_; }

  void expect() noexcept { ++under_way_; }
  void reached() noexcept override { --under_way_; }

 private:
  std::size_t under_way_ = 0;
};

}  // namespace amity::core
