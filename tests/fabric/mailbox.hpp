#pragma once

/// What each rank of a fabric test needs: a sink that a lambda fills, sends that make progress, and a barrier.

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "amity/fabric/fabric.hpp"
#include "amity/fabric/waiter.hpp"

namespace amity::fabric::testing {

/// No timeout.
inline constexpr std::uint64_t forever = ~std::uint64_t{0};

/// The key that a rank has given to an exchange.
inline segment_key key_in(bytes_view bytes) {
  segment_key key;
  std::ranges::copy(bytes, key.bytes.begin());
  return key;
}

/// The `on_data` of a test that looks into no packet, and at most counts them.
inline disposition done_with(const packet&) { return disposition::release; }

/// Hands the test's packets to `on_data`, and keeps those of its own barriers and exchanges to itself. Headers of the
/// test must not have their marks in their high half. Other events go to `on_done` and `on_notify`.
class mailbox final : public sink {
 public:
  using handler = std::function<disposition(const packet&)>;

  explicit mailbox(fabric& own, handler on_data = nullptr) : own_(own), on_data_(std::move(on_data)) {}

  void on_data(handler h) { on_data_ = std::move(h); }
  void on_done(std::function<void(std::uint64_t)> h) { on_done_ = std::move(h); }
  void on_notify(std::function<void(std::uint32_t)> h) { on_notify_ = std::move(h); }

  void on_done(std::uint64_t context) noexcept override { on_done_(context); }
  void on_notify(std::uint32_t bits) noexcept override { on_notify_(bits); }

  disposition on_packet(const packet& p) noexcept override {
    if (p.header >> 32 == mark) {
      ++(p.source == 0 ? released_ : entered_);
      return disposition::release;
    }
    if (p.header >> 32 == exchange_mark) {
      exchanged_[p.header & 0xffff'ffff][p.source].assign(p.payload.begin(), p.payload.end());
      return disposition::release;
    }
    const disposition answer = on_data_(p);
    ++arrived_;
    return answer;
  }
  /// How many packets `on_data` has had.
  std::uint64_t arrived() const { return arrived_; }

  /// Makes progress, and waits when there is none, until `done()` holds.
  template <class Done>
  void until(Done&& done) {
    while (!done()) {
      if (own_.poll(*this, 16) == 0) wait(own_, forever);
    }
  }

  /// Makes progress until `done()` holds, and never waits: what a fabric holds back stays held back.
  template <class Done>
  void poll_until(Done&& done) {
    while (!done()) {
      if (own_.poll(*this, 16) == 0) ::sched_yield();
    }
  }

  /// Sends, and makes progress for as long as there is no credit.
  void send(rank_t dest, std::uint64_t header, bytes_view payload = {}, claim of = claim::ordinary) {
    until([&] { return own_.try_send(dest, header, payload, of) == status::ok; });
  }

  /// Acquires a slot, and makes progress for as long as there is none.
  slot take_slot(rank_t dest) {
    slot taken;
    until([&] { return own_.acquire(dest, taken, claim::ordinary) == status::ok; });
    return taken;
  }

  /// Collective: returns when all ranks have entered. Packets that arrive meanwhile go to `on_data`.
  void barrier() {
    ++barriers_;
    const auto others = static_cast<std::uint64_t>(own_.size() - 1);
    if (own_.rank() == 0) {
      until([&] { return entered_ >= barriers_ * others; });
      for (rank_t peer = 1; peer < own_.size(); ++peer) send(peer, mark << 32);
    } else {
      send(0, mark << 32);
      until([&] { return released_ >= barriers_; });
    }
  }

  /// Collective: what each rank has given, by rank. One packet each.
  std::map<rank_t, std::vector<std::byte>> exchange(bytes_view mine) {
    const std::uint64_t number = exchanges_++;
    for (rank_t peer = 0; peer < own_.size(); ++peer) send(peer, exchange_mark << 32 | number, mine);
    until([&] { return exchanged_[number].size() == static_cast<std::size_t>(own_.size()); });
    return std::move(exchanged_[number]);
  }

 private:
  static constexpr std::uint64_t mark = 0xba44'1e45;
  static constexpr std::uint64_t exchange_mark = 0xe8c4'a46e;

  fabric& own_;
  handler on_data_;
  std::function<void(std::uint64_t)> on_done_;
  std::function<void(std::uint32_t)> on_notify_;
  std::uint64_t arrived_ = 0;
  std::uint64_t barriers_ = 0;
  std::uint64_t entered_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t exchanges_ = 0;
  std::map<std::uint64_t, std::map<rank_t, std::vector<std::byte>>> exchanged_;  // by number
};

}  // namespace amity::fabric::testing
