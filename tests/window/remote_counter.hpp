#pragma once

/// A fabric that counts operations on remote memory.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "amity/fabric/decorator.hpp"
#include "amity/fabric/remote_memory.hpp"

namespace amity::fabric::testing {

/// Counts gets, and bytes of puts from when one is under way until none is.
class remote_counter final : public decorator, private remote_memory, private sink {
 public:
  explicit remote_counter(fabric& counted) : decorator(counted) {}
  std::size_t gets() const noexcept { return gets_; }
  std::size_t bytes_peak() const noexcept { return bytes_peak_; }

  remote_memory* remote() noexcept override { return this; }
  std::size_t poll(sink& receiver, std::size_t packets_max) override {
    receiver_ = &receiver;
    return inner().poll(*this, packets_max);
  }

 private:
  segment create(std::size_t bytes) override { return inner().remote()->create(bytes); }
  void destroy(const segment& own) noexcept override { inner().remote()->destroy(own); }
  remote_handle open(rank_t owner, const segment_key& key) override { return inner().remote()->open(owner, key); }
  void close(const remote_handle& opened) noexcept override { inner().remote()->close(opened); }
  stage put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                   std::uint64_t when_free) noexcept override {
    return inner().remote()->put_notify(to, offset, from, bits, when_free);
  }
  stage start_put(const remote_handle& to, std::size_t offset, bytes_view from, const events& tell) noexcept override {
    const stage reached = inner().remote()->put(to, offset, from, tell);
    if (reached != stage::accepted) return reached;
    under_way_.insert(tell.complete);
    bytes_ += from.size();
    bytes_peak_ = std::max(bytes_peak_, bytes_);
    return reached;
  }
  stage start_get(const remote_handle& from, std::size_t offset, mutable_bytes to,
                  std::uint64_t when_complete) noexcept override {
    const stage reached = inner().remote()->get(from, offset, to, when_complete);
    if (reached != stage::refused) ++gets_;
    return reached;
  }
  disposition on_packet(const packet& arrived) noexcept override { return receiver_->on_packet(arrived); }
  void on_done(std::uint64_t context) noexcept override {
    const auto found = under_way_.find(context);
    if (found != under_way_.end()) under_way_.erase(found);
    if (under_way_.empty()) bytes_ = 0;
    receiver_->on_done(context);
  }
  void on_notify(std::uint32_t bits) noexcept override { receiver_->on_notify(bits); }

  sink* receiver_ = nullptr;
  std::size_t gets_ = 0;
  std::multiset<std::uint64_t> under_way_;
  std::size_t bytes_ = 0;
  std::size_t bytes_peak_ = 0;
};

}  // namespace amity::fabric::testing
