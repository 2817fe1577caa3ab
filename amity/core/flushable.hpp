#pragma once

/// Packets that are being filled, and whoever keeps some of them open.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "amity/base/types.hpp"
#include "amity/core/outbox.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::core {

/// A packet that is being filled, in the fabric's memory or, inside a handler without a credit, in the outbox.
struct outgoing {
  std::byte* data = nullptr;   ///< null: none is open
  std::uint32_t capacity = 0;  ///< bytes
  fabric::slot slot;
  std::unique_ptr<owned_packet> owned;
};

/// Work that every round of progress continues.
class progress_client {
 public:
  /// Called in every round of progress; returns whether it has done anything.
  virtual bool on_progress() = 0;

 protected:
  ~progress_client() = default;
};

/// An object that holds open packets or unsent messages and can be asked to send them, when credits run short or the
/// rank is idle, or that has other work to do then. What it sends meanwhile never waits, as in a handler.
class flushable : public progress_client {
 public:
  /// Closes the packet that is open for a lane, if there is one, because its credit is wanted.
  virtual void close_packet(rank_t) {}
  /// Sends off all that is held; true if there was anything. Of one endpoint's, those that were added later come first.
  virtual bool flush_all() = 0;
  bool on_progress() override { return false; }
  /// Whether it holds messages to this rank that are counted only when they are handled.
  virtual bool holds_uncounted() const noexcept { return false; }

 protected:
  ~flushable() = default;
};

}  // namespace amity::core
