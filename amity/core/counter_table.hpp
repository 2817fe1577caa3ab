#pragma once

/// The counters of the message types of one rank, in a form that a signal handler can read.
///
/// Each thread of the rank counts in the ledgers of its endpoints, one for each world, at no extra cost. The table
/// knows where these counters are. It changes when a handler is added or removed, and keeps the counts of removed
/// handlers.

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amity/base/published.hpp"
#include "amity/base/types.hpp"
#include "amity/core/ledger.hpp"
#include "amity/core/packet_header.hpp"

namespace amity::core {

/// Must outlive the ledgers that it knows, unless they are removed before their end. Several threads may change it.
class counter_table : private immovable {
 public:
  /// Handlers of one name, of all threads and worlds of the rank.
  class type {
   public:
    type(std::string name, const handler_counts& removed, std::vector<const handler_counts*> counting) noexcept
        : name_(std::move(name)), removed_(removed), counting_(std::move(counting)) {}

    std::string_view name() const noexcept { return name_; }
    /// Counts so far. Other threads may count at the same time: a value is the one before or after an addition.
    handler_counts counts() const noexcept;

   private:
    std::string name_;
    handler_counts removed_;                       ///< of handlers that have been removed
    std::vector<const handler_counts*> counting_;  ///< of handlers that count on
  };

  explicit counter_table(rank_t rank) : rank_(rank) {}
  ~counter_table() { types_.replace(nullptr); }

  rank_t rank() const noexcept { return rank_; }

  /// Adds a handler to the ledger of the calling thread, and to the table.
  void add(std::string_view name, ledger& counts, handler_id handler);
  void remove(const ledger& counts, handler_id handler) noexcept;
  /// Removes all handlers of a ledger.
  void remove(const ledger& counts) noexcept;

  /// Calls read(std::span<const type>) with the types in the order of their names. For signal handlers.
  template <class Read>
  void read(Read&& read) const noexcept {
    types_.read([&](const std::vector<type>& now) { read(std::span(now)); });
  }

 private:
  struct handler {
    const ledger* counts;
    handler_id id;
  };
  struct entry {
    std::string name;
    handler_counts removed;
    std::vector<handler> handlers;
  };

  template <class Matches>
  void remove_if(Matches matches) noexcept;
  void publish() noexcept;

  rank_t rank_;
  std::mutex mutex_;            ///< guards `entries_`, and the memory of counters against being moved
  std::vector<entry> entries_;  ///< sorted by name
  published<std::vector<type>> types_;
};

}  // namespace amity::core
