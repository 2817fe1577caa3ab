#pragma once

/// Handlers by number, the same numbers on all ranks.
///
/// Ranks add and remove handlers in the same order, without a word to each other; each takes the lowest free number.
/// That they agree is verified twice at no extra message: every packet carries a hash of its handler's name, and every
/// wave of termination detection, as every barrier, a fingerprint of the whole table.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/packet_header.hpp"

namespace amity::core {

/// What a handler gets from the endpoint.
struct inbound {
  rank_t source;
  std::uint8_t args;   ///< words of arguments at the beginning of `payload`
  bytes_view payload;  ///< valid during the call
  bool reply = false;  ///< the message is one
  const bytes_view* landed =
      nullptr;  ///< of a Long: what was put into this rank's segment; `payload` has the arguments
};

/// Runs the handlers of all messages in one packet; returns how many there were.
using deliver_function = std::uint64_t (*)(void* context, const inbound& packet);

class incoming_stream;

/// Makes the stream in which a message for the handler of `context` arrives.
using stream_opener = std::unique_ptr<incoming_stream> (*)(void* context);

class registry {
 public:
  struct entry {
    std::string name;
    std::string definition;  ///< compared between ranks in addition to the name
    std::uint16_t check = 0;
    deliver_function deliver = nullptr;  ///< null: this number is free
    void* context = nullptr;
    int priority = 0;
    stream_opener open_stream = nullptr;  ///< null: its messages never arrive as streams
  };

  handler_id add(std::string_view name, deliver_function deliver, void* context, std::string_view definition = {});
  void remove(handler_id id);

  /// The entry, or null if the number is free or belongs to a handler of another name.
  const entry* find(handler_id id, std::uint16_t check) const noexcept {
    if (id >= entries_.size()) return nullptr;
    const entry& found = entries_[id];
    return found.deliver != nullptr && found.check == check ? &found : nullptr;
  }

  void set_priority(handler_id id, int priority) { entries_[id].priority = priority; }
  void set_stream(handler_id id, stream_opener open) { entries_[id].open_stream = open; }
  const entry& at(handler_id id) const { return entries_[id]; }
  bool contains(handler_id id) const noexcept { return id < entries_.size() && entries_[id].deliver != nullptr; }

  /// Equal on two ranks if and (but for chance) only if they have the same handlers under the same numbers.
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }

  /// Name and definition, for messages to a person.
  std::string definition(handler_id id) const;

  /// "#0 async, #1 unsigned long": for messages to a person.
  std::string describe() const;

  std::size_t capacity() const noexcept { return entries_.size(); }

 private:
  std::vector<entry> entries_;
  std::size_t first_free_ = 0;  ///< no lower number is free
  std::uint64_t fingerprint_ = 0;
};

}  // namespace amity::core
