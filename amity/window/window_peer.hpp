#pragma once

/// What this rank knows of a member of a window whose memory it uses, and what is under way there.

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <memory>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/event.hpp"
#include "amity/core/memory.hpp"
#include "amity/window/am_origin.hpp"
#include "amity/window/control_block.hpp"
#include "amity/window/direct_access.hpp"
#include "amity/window/layout.hpp"
#include "amity/window/long_transfers.hpp"
#include "amity/window/packed_data.hpp"
#include "amity/window/sent_descriptions.hpp"
#include "amity/window/short_gets.hpp"
#include "amity/window/window_operation.hpp"

namespace amity::detail {

/// A member whose memory this rank has used. `network`, `gets`, `transfers`, `answers` and `flushed` count
/// what is under way. What few members need is made at its first use.
struct window_peer : private immovable {
  window_peer(rank_t of, rank_t thread) : member(of), lane(thread) {}

  rank_t member;
  rank_t lane;                    ///< that carries out records
  std::uint32_t number = 0;       ///< of the window, there
  bool opened_data = false;       ///< `data_segment` is not the control segment
  bool is_mapped = false;         ///< this rank uses the data by loads and stores
  std::size_t bytes = 0;          ///< of the data
  std::uint64_t data_offset = 0;  ///< in its segment
  core::remote_segment control_segment, data_segment;
  control_block* control = nullptr;  ///< null: this rank does not map it
  std::byte* base = nullptr;         ///< of the data; null: not mapped here, or own memory whose offsets are addresses
  const accumulate_words* accumulates = nullptr;  ///< of mapped data; null: this thread carries out all accumulates
  direct_access::target* direct = nullptr;        ///< null: operations are not carried out without a call here

  core::event network;                    ///< without short gets
  std::unique_ptr<target_gets> gets;      ///< short ones over the network; null: there was none
  target_transfers* transfers = nullptr;  ///< that the progress thread carries out; null: it carries out none
  core::event answers;
  core::event flushed;
  bool unflushed = false;               ///< records whose end was not asked for
  bool accumulates_in_records = false;  ///< since the last flush: others must not overtake them
  bool asks_fence = false;              ///< whether it has left those that this rank has left; `answers` is the answer
  bool asks_failure = false;            ///< a thread waits for the text of an error
  std::uint64_t counted = 0;            ///< records of this fence's epoch
  std::uint64_t fences = 0;             ///< that the owner has left for certain
  std::unique_ptr<sent_descriptions<layout>> layouts;  ///< null: there was none
  std::unique_ptr<am_queue> messages;                  ///< active messages; null: there was none

  // This belongs to the present epoch.
  bool listed = false;  ///< in the list of those that the epoch has used
  bool open = false;    ///< operations may go there
  lock_kind lock = lock_kind::none;
  bool has_ticket = false;  ///< of the mapped lock
  bool asks_owner = false;  ///< for the lock
  bool granted = false;     ///< or the program promises that no other rank wants it
  std::uint16_t ticket = 0;
  const char* locked_by = nullptr;  ///< the mark of the thread that has requested the lock
  std::vector<window_operation> held;
  std::size_t begun = 0;                          ///< of these
  std::size_t begins_held = 0;                    ///< 1: a thread begins them, and may wait for credits
  std::size_t held_bytes = 0;                     ///< of these, in the bound of the engine
  std::vector<std::vector<std::byte>> held_data;  ///< of operands that do not outlive their call
  std::forward_list<packed_data> packed;          ///< of operations without local completion
  std::size_t packed_bytes = 0;                   ///< of these copies
  std::uint64_t word = 0;                         ///< the answer to an unlock, or to `ask_word`
};

}  // namespace amity::detail
