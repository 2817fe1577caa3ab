#pragma once

/// The part of `traced` that stands in front of remote memory. It gives handles of its own, without a direct address.

#include "amity/fabric/handle_table.hpp"

namespace amity::fabric {

class traced;

class traced_memory final : public remote_memory {
 public:
  traced_memory(traced& whole, remote_memory& inner) : whole_(whole), inner_(inner) {}

  segment create(std::size_t bytes) override { return inner_.create(bytes); }
  std::optional<segment> attach(mutable_bytes memory) override { return inner_.attach(memory); }
  void destroy(const segment& own) noexcept override { inner_.destroy(own); }
  remote_handle open(rank_t owner, const segment_key& key) override {
    const remote_handle opened = inner_.open(owner, key);
    return opened.bytes == 0 ? opened : handles_.open(opened, owner);
  }
  void close(const remote_handle& opened) noexcept override;
  stage put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                   std::uint64_t when_free) noexcept override;

 private:
  stage start_put(const remote_handle& to, std::size_t offset, bytes_view from, const events& tell) noexcept override;
  stage start_get(const remote_handle& from, std::size_t offset, mutable_bytes to,
                  std::uint64_t when_complete) noexcept override;
  stage start_atomic(const remote_handle& at, std::size_t offset, const atomic_request& what, std::uint64_t* previous,
                     std::uint64_t when_complete) noexcept override;

  const handle_table::entry& known(const remote_handle& opened) const noexcept;

  traced& whole_;
  remote_memory& inner_;
  handle_table handles_;
};

}  // namespace amity::fabric
