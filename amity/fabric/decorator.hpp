#pragma once

/// A fabric around a fabric: forwards every call, so that a decorator overrides only what it adds to.

#include <string>

#include "amity/fabric/fabric.hpp"

namespace amity::fabric {

class decorator : public fabric, private immovable {
 public:
  rank_t rank() const noexcept override { return inner_.rank(); }
  rank_t size() const noexcept override { return inner_.size(); }
  const capabilities& caps() const noexcept override { return inner_.caps(); }
  allowance allowance_to(rank_t peer) const noexcept override { return inner_.allowance_to(peer); }
  rank_t node_of(rank_t peer) const noexcept override { return inner_.node_of(peer); }
  status try_send(rank_t dest, std::uint64_t header, bytes_view payload, claim of) noexcept override {
    return inner_.try_send(dest, header, payload, of);
  }
  status acquire(rank_t dest, slot& out, claim of) noexcept override { return inner_.acquire(dest, out, of); }
  void commit(rank_t dest, std::uint64_t header, const slot& filled, std::size_t payload_bytes) noexcept override {
    inner_.commit(dest, header, filled, payload_bytes);
  }
  void release(std::uint64_t token) noexcept override { inner_.release(token); }
  std::size_t poll(sink& receiver, std::size_t packets_max) override { return inner_.poll(receiver, packets_max); }
  remote_memory* remote() noexcept override { return inner_.remote(); }
  void check() override { inner_.check(); }
  bool ready() override { return inner_.ready(); }
  void publish() override { inner_.publish(); }
  alarm arm() override { return inner_.arm(); }
  void sleep(const alarm& by, std::uint64_t timeout_ns) noexcept override { inner_.sleep(by, timeout_ns); }
  void disarm() noexcept override { inner_.disarm(); }
  attention_board* attention() noexcept override { return inner_.attention(); }
  std::uint64_t now_ns() const noexcept override { return inner_.now_ns(); }
  std::string trouble() const override { return inner_.trouble(); }
  void set_whereabouts(const whereabouts* known) noexcept override { inner_.set_whereabouts(known); }
  void abort() noexcept override { inner_.abort(); }

 protected:
  /// `inner` outlives the decorator.
  explicit decorator(fabric& inner) : inner_(inner) {}

  fabric& inner() noexcept { return inner_; }
  const fabric& inner() const noexcept { return inner_; }

 private:
  fabric& inner_;
};

}  // namespace amity::fabric
