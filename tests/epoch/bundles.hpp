#pragma once

/// Messages that are collected in packets, one open for each destination: what the floor of typed messages does, in
/// small. An epoch must not end while a rank holds one open.

#include <cstring>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "amity/core/endpoint.hpp"
#include "tests/support/trees.hpp"

namespace amity::epoch::testing {

class bundles final : public core::flushable {
 public:
  using node = amity::testing::node;

  bundles(core::endpoint& owner, std::string_view name, std::function<void(const node&)> handler)
      : endpoint_(owner), handler_(std::move(handler)), open_(static_cast<std::size_t>(owner.size())) {
    id_ = endpoint_.add_handler(name, deliver, this);
    endpoint_.add_flushable(*this);
  }
  ~bundles() {
    endpoint_.remove_flushable(*this);
    endpoint_.remove_handler(id_);
  }
  bundles(const bundles&) = delete;
  bundles& operator=(const bundles&) = delete;

  void send(rank_t dest, const node& n) {
    bundle& to = open_[static_cast<std::size_t>(dest)];
    while (to.out.data == nullptr) {
      // Whatever lets handlers run may find that one of them has opened the packet.
      if (endpoint_.try_open(dest, nodes_max * sizeof(node), "node", to.out)) break;
      endpoint_.make_room(dest);
    }
    std::memcpy(to.out.data + to.nodes * sizeof(node), &n, sizeof n);
    if (++to.nodes == nodes_max) close(dest);
  }

  void close_packet(rank_t dest) override { close(dest); }
  bool flush_all() override {
    bool any = false;
    for (rank_t dest = 0; dest < endpoint_.size(); ++dest) any |= close(dest);
    return any;
  }

 private:
  static constexpr std::size_t nodes_max = 3;

  struct bundle {
    core::outgoing out;
    std::size_t nodes = 0;
  };

  static std::uint64_t deliver(void* context, const core::inbound& packet) {
    const std::size_t nodes = packet.payload.size() / sizeof(node);
    for (std::size_t i = 0; i < nodes; ++i) {
      node n;
      std::memcpy(&n, packet.payload.data() + i * sizeof n, sizeof n);
      static_cast<bundles*>(context)->handler_(n);
    }
    return nodes;
  }

  bool close(rank_t dest) {
    bundle& closed = open_[static_cast<std::size_t>(dest)];
    if (closed.out.data == nullptr) return false;
    const std::size_t nodes = std::exchange(closed.nodes, 0);
    endpoint_.close(dest, id_, closed.out, nodes * sizeof(node), nodes);
    return true;
  }

  core::endpoint& endpoint_;
  std::function<void(const node&)> handler_;
  core::handler_id id_;
  std::vector<bundle> open_;
};

}  // namespace amity::epoch::testing
