#pragma once

/// A fabric that cannot do all that the one below it can, so that packets stand in.

#include "amity/fabric/decorator.hpp"

namespace amity::fabric::testing {

/// Without atomics, and maybe without remote memory.
class poorer final : public decorator {
 public:
  poorer(fabric& whole, bool has_memory) : decorator(whole), caps_(whole.caps()), has_memory_(has_memory) {
    caps_.remote.atomics = false;
    if (!has_memory_) caps_.remote = {};
  }
  const capabilities& caps() const noexcept override { return caps_; }
  remote_memory* remote() noexcept override { return has_memory_ ? inner().remote() : nullptr; }

 private:
  capabilities caps_;
  bool has_memory_;
};

}  // namespace amity::fabric::testing
