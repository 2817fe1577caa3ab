#pragma once

/// A fabric that holds back at random, by a seed, what it tells of remote memory: completions, and every other
/// notification, come late, after packets that were sent long after them. Nothing that it does is against the contract.

#include <cstdint>
#include <deque>

#include "amity/base/random.hpp"
#include "amity/fabric/decorator.hpp"

namespace amity::fabric::testing {

class late_events final : public decorator, private sink {
 public:
  late_events(fabric& inner, std::uint64_t seed) : decorator(inner), random_(seed) {}

  std::size_t poll(sink& receiver, std::size_t events_max) override {
    receiver_ = &receiver;
    const std::size_t found = inner().poll(*this, events_max);
    std::size_t told = 0;
    // In their order, as far as it goes: a source is free before its put is complete.
    while (!held_.empty() && (found == 0 || random_.below(8) == 0) && told < events_max) {
      const auto [is_done, word] = held_.front();
      held_.pop_front();
      ++told;
      is_done ? receiver.on_done(word) : receiver.on_notify(static_cast<std::uint32_t>(word));
    }
    return found + told;
  }
  void sleep(const alarm& by, std::uint64_t timeout_ns) noexcept override {
    inner().sleep(by, held_.empty() ? timeout_ns : 1);
  }

 private:
  struct held {
    bool is_done;
    std::uint64_t word;
  };

  disposition on_packet(const packet& arrived) noexcept override { return receiver_->on_packet(arrived); }
  void on_done(std::uint64_t context) noexcept override { held_.push_back({true, context}); }
  void on_notify(std::uint32_t bits) noexcept override {
    if (random_.below(2) == 0) return receiver_->on_notify(bits);
    held_.push_back({false, bits});
  }

  splitmix64 random_;
  sink* receiver_ = nullptr;
  std::deque<held> held_;
};

}  // namespace amity::fabric::testing
