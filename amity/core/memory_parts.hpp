#pragma once

/// What the memory of a thread is made of. They refer to one another.

#include <cstdint>
#include <unordered_map>

#include "amity/core/long_receiver.hpp"
#include "amity/core/long_sender.hpp"
#include "amity/core/memory.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/core/remote_operations.hpp"
#include "amity/core/segment_records.hpp"
#include "amity/core/segment_table.hpp"

namespace amity::core {

struct memory::parts {
  parts(engine& on, memory& whole, fabric::remote_memory* below, const long_options& options)
      : segments(on),
        stream(on),
        records(on, stream, segments, receiver),
        operations(on, below, records, options.pending_max),
        receiver(on, whole, segments, operations, options.slots),
        sender(on, whole, segments, operations, options) {}

  segment_table segments;
  record_stream stream;
  segment_records records;
  remote_operations operations;
  long_receiver receiver;
  long_sender sender;
  std::unordered_multimap<std::uint64_t, fabric::remote_handle> opened;  ///< of the fabric, by id
};

}  // namespace amity::core
