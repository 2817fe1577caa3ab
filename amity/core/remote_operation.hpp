#pragma once

/// One put, get, atomic or Long message on its way: its steps, and how many of them it has taken.

#include <array>
#include <cstdint>

#include "amity/core/event.hpp"
#include "amity/core/kept_arguments.hpp"
#include "amity/core/long_envelope.hpp"
#include "amity/core/long_protocol.hpp"
#include "amity/core/packet_header.hpp"
#include "amity/core/record.hpp"
#include "amity/core/segment.hpp"

namespace amity::core {

class endpoint;
class remote_operations;

/// As `awaited`, it waits for its put to be complete.
struct remote_operation final : awaited {
  steps plan = only_put;
  std::uint8_t next = 0;  ///< step of the plan
  std::uint32_t slot = no_slot;
  remote_address to;
  endpoint* world = nullptr;  ///< whose message it is; null: it is none
  bytes_view from;
  std::byte* into = nullptr;  ///< of a get
  std::size_t bytes = 0;
  // Each has been told to expect this one.
  awaited* source_free = nullptr;
  awaited* complete = nullptr;
  awaited* ended = nullptr;  ///< all steps are taken

  // Over records.
  std::size_t moved = 0;  ///< bytes that are in records
  std::uint32_t question = no_question;

  // Only Long messages have these.
  packet_header header;
  kept_arguments args;
  const local_segment* holder = nullptr;  ///< of the payload, where the target gets it

  // Only atomics have these.
  fabric::atomic_request what;
  std::uint64_t* previous = nullptr;

  remote_operations* owner = nullptr;
  remote_operation* behind = nullptr;  ///< in the list that this one is in

  void reached() noexcept override;
};

}  // namespace amity::core
