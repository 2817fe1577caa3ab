#pragma once

/// What tests of remote memory need: operations that make progress while they are refused, events that come once, and
/// a segment of every rank that all have opened.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "mailbox.hpp"

namespace amity::fabric::testing {

/// Starts operations of one rank and keeps account of their events. Takes the mailbox's `on_done`.
class remote_user {
 public:
  remote_user(fabric& own, mailbox& mail) : mail_(mail), memory_(*own.remote()) {
    mail.on_done([this](std::uint64_t context) {
      EXPECT_EQ(awaited_.erase(context), 1u) << "event " << context << " was not asked for, or comes twice";
    });
  }
  remote_user(const remote_user&) = delete;
  remote_user& operator=(const remote_user&) = delete;
  ~remote_user() { mail_.on_done(nullptr); }

  remote_memory& memory() const { return memory_; }
  std::uint64_t new_context() { return ++contexts_; }

  /// Calls `operation` until it is not refused, and says how far it came. What it has not reached is awaited.
  template <class Operation>
  stage start(const events& tell, Operation&& operation) {
    stage reached = stage::refused;
    mail_.until([&] { return (reached = operation(tell)) != stage::refused; });
    if (reached < stage::source_free && tell.source_free != 0) awaited_.insert(tell.source_free);
    if (reached < stage::complete && tell.complete != 0) awaited_.insert(tell.complete);
    return reached;
  }
  bool awaits(std::uint64_t context) const { return awaited_.contains(context); }
  void finish() {
    mail_.until([&] { return awaited_.empty(); });
  }

  /// As above; the caller waits with `finish` before it touches what the operation reads or writes.
  void start_put(const remote_handle& to, std::size_t offset, bytes_view from) {
    static_cast<void>(
        start({.complete = new_context()}, [&](const events& tell) { return memory_.put(to, offset, from, tell); }));
  }
  void start_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits) {
    static_cast<void>(start({.source_free = new_context()}, [&](const events& tell) {
      return memory_.put_notify(to, offset, from, bits, tell.source_free);
    }));
  }
  void start_get(const remote_handle& from, std::size_t offset, mutable_bytes to) {
    static_cast<void>(start({.complete = new_context()},
                            [&](const events& tell) { return memory_.get(from, offset, to, tell.complete); }));
  }

  std::uint64_t atomic(const remote_handle& at, std::size_t offset, const atomic_request& what) {
    std::uint64_t previous = ~std::uint64_t{0};
    static_cast<void>(start({.complete = new_context()}, [&](const events& tell) {
      return memory_.atomic(at, offset, what, &previous, tell.complete);
    }));
    finish();
    return previous;
  }

 private:
  mailbox& mail_;
  remote_memory& memory_;
  std::uint64_t contexts_ = 0;
  std::set<std::uint64_t> awaited_;
};

/// One segment of each rank, opened by all. Made by all ranks together; begins as zeros.
class segments_of_all {
 public:
  segments_of_all(fabric& own, mailbox& mail, std::size_t bytes)
      : memory_(*own.remote()), mine_(memory_.create(bytes)), opened_(static_cast<std::size_t>(own.size())) {
    EXPECT_TRUE(std::ranges::all_of(memory(), [](std::byte each) { return each == std::byte{0}; }));
    for (const auto& [owner, key] : mail.exchange(mine_.key.bytes)) {
      opened_[static_cast<std::size_t>(owner)] = memory_.open(owner, key_in(key));
    }
    mail.barrier();
  }
  segments_of_all(const segments_of_all&) = delete;
  segments_of_all& operator=(const segments_of_all&) = delete;
  ~segments_of_all() {
    for (const remote_handle& each : opened_) memory_.close(each);
    memory_.destroy(mine_);
  }

  const remote_handle& of(rank_t rank) const { return opened_[static_cast<std::size_t>(rank)]; }
  const segment& mine() const { return mine_; }
  mutable_bytes memory() const { return {mine_.data, mine_.bytes}; }

 private:
  remote_memory& memory_;
  segment mine_;
  std::vector<remote_handle> opened_;
};

}  // namespace amity::fabric::testing
