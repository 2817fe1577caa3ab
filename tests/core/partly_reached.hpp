#pragma once

/// A fabric on which the memory of the last rank cannot be reached. Counts what is open of the others'.

#include <cstddef>
#include <cstdint>

#include "amity/base/error.hpp"
#include "amity/fabric/decorator.hpp"
#include "amity/fabric/remote_memory.hpp"

namespace amity::fabric::testing {

class partly_reached final : public decorator, private remote_memory {
 public:
  explicit partly_reached(fabric& inner) : decorator(inner) {}
  int open_now() const { return open_now_; }

  remote_memory* remote() noexcept override { return this; }

 private:
  segment create(std::size_t bytes) override { return inner().remote()->create(bytes); }
  void destroy(const segment& own) noexcept override { inner().remote()->destroy(own); }
  remote_handle open(rank_t owner, const segment_key& key) override {
    if (owner == size() - 1) throw error("remote_memory::open", rank(), "the last rank's memory is far", "none");
    const remote_handle opened = inner().remote()->open(owner, key);
    ++open_now_;
    return opened;
  }
  void close(const remote_handle& opened) noexcept override {
    --open_now_;
    inner().remote()->close(opened);
  }
  stage put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                   std::uint64_t when_free) noexcept override {
    return inner().remote()->put_notify(to, offset, from, bits, when_free);
  }

  int open_now_ = 0;
};

}  // namespace amity::fabric::testing
