#pragma once

/// Active messages of a window as their target: units that arrive, the calls of handlers, and the answers.
///
/// A unit is carried out when its last byte has arrived, in the round of progress that finds it, and its output is the
/// answer. Used by the thread that carries out the records of the window.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/core/record.hpp"
#include "amity/window/active_message.hpp"
#include "amity/window/am_allocator.hpp"
#include "amity/window/am_description.hpp"
#include "amity/window/am_records.hpp"
#include "amity/window/window_records.hpp"

namespace amity::core {
class endpoint;
class engine;
}  // namespace amity::core

namespace amity::detail {

class record_window;
class window_service;

struct am_target_options {
  am_handlers* handlers = nullptr;
  std::uint64_t system_bytes = 0;  ///< of each origin
  am_allocator::options allocator{};
  double pack_below = 0;  ///< part of the largest output from which on all of it is sent
};

class am_target final : private immovable {
 public:
  /// What the owner of the window does for it.
  struct owner {
    record_window* records;  ///< calls `on_round` in rounds of progress after `window_service::watch`
    rank_t member;
    window_identity identity;
    std::string window;  ///< for errors
    /// From now on this rank alone carries out accumulates in its memory. False: others are not done with theirs.
    std::function<bool()> take_over;
    /// The reason why these bytes are not memory of the window; empty: they are. Null: the memory is one piece.
    std::function<std::string(std::uint64_t at, std::uint64_t bytes)> find_problem;
    /// Called before a handler may change these bytes of the window. Null, unless the window is checked.
    std::function<void(const core::record& what, rank_t lane, std::uint64_t bytes)> note_write;
  };

  am_target(core::endpoint& in, window_service& service, const am_target_options& options, owner of);

  /// As `record_executor::execute`. `memory` is that of the window, from offset 0; `at` bytes are checked against it.
  bool execute(rank_t lane, const core::record& what, bytes_view content, mutable_bytes memory, core::answers& to);

  // --- For the program of this rank. These throw `error` of `call`. ---

  void attach(std::string_view call, mutable_bytes memory) { space_.attach(call, memory); }
  void detach(std::string_view call, const void* base) { space_.detach(call, base, calls_ > 0); }
  am_buffers& buffers() noexcept { return space_.buffers(); }

  /// In a round of progress: grants requests for which there is space.
  void on_round() { space_.serve(); }
  /// For a stall report.
  std::string describe() const;

 private:
  struct known_description {
    std::uint32_t number = 0;
    std::size_t bytes_missing = 0;
    std::vector<std::byte> encoded;
    std::shared_ptr<const am_description> what;
    std::unique_ptr<am_recipe> recipe;  ///< null: it cannot be carried out, for the reason `problem`
    std::string problem;
  };
  struct origin_state {
    std::vector<known_description> descriptions;  ///< by number modulo `descriptions_kept`, as far as needed
    std::uint64_t system_used = 0;
    bool refuses = false;                      ///< units, up to the one that restarts
    am_room named{};                           ///< by the last unit that came with its room
    std::uint32_t described = no_description;  ///< of the last unit
  };
  /// Memory of a unit, in a buffer of the program or elsewhere.
  struct storage {
    std::byte* data = nullptr;
    std::uint32_t buffer = am_room::no_buffer;
    std::vector<std::byte> elsewhere{};
  };
  struct unit {
    am_allocation allocation;
    origin_state* from;
    std::uint32_t question;
    std::uint64_t at;
    std::uint32_t description = 0;
    // While its input arrives, in several records.
    storage input{};
    std::uint64_t arrived = 0;
    bool is_whole = false;
    std::string failure{};  ///< of a unit that is not carried out; the origin gets it when all parts have arrived
    am_refusal::reason why{};
    // Its answer, as far as it has not left.
    storage output{};
    std::vector<std::byte> packed{};
    bytes_view answer{};
    std::size_t sent = 0;
  };

  bool on_unit(rank_t lane, const core::record& what, bytes_view content, mutable_bytes memory, core::answers& to);
  bool on_part(rank_t lane, const core::record& what, bytes_view content, mutable_bytes memory, core::answers& to);
  void take_description(rank_t lane, bytes_view content);

  /// These throw `error` if the lane has sent no such description.
  origin_state& find_origin(rank_t lane);
  known_description& find_description(rank_t lane, origin_state& of, std::uint32_t number);
  known_description& find_description(rank_t lane, std::uint32_t number) {
    return find_description(lane, find_origin(lane), number);
  }
  bool try_take_room(unit& of);
  void give_room_back(unit& of);
  /// Runs the handler, and sends what has space. False: there is no credit, and `replying_` has the rest.
  bool carry_out(unit&& whole, known_description& known, bytes_view input, mutable_bytes memory, core::answers& to);
  void run(unit& of, known_description& known, bytes_view input, mutable_bytes memory);
  bool try_reply(unit& of, core::answers& to);
  void end(unit& of);
  void refuse_room(const unit& of);
  /// Reports an error of a unit to its origin when the last part has arrived: otherwise the window could end before.
  void fail(unit& of, am_refusal::reason why, std::string_view text);
  void refuse(const unit& of, am_refusal::reason why, std::string_view text);
  void place(storage& in, std::uint32_t buffer, std::uint64_t bytes, std::uint64_t alignment);
  void remove(storage& from) noexcept;
  void unpack_input(const am_side& side, std::byte* to, std::uint64_t from, bytes_view packed) const;
  void pack_output(const am_description& what, unit& of, std::span<const std::uint32_t> counts);

  core::endpoint& endpoint_;
  core::engine& engine_;
  am_target_options options_;
  owner owner_;
  am_notices notices_;
  am_allocator space_;
  rank_map<std::unique_ptr<origin_state>> origins_;
  std::deque<unit> arriving_;
  std::deque<unit> replying_;
  std::vector<std::uint32_t> counts_;          ///< of the present call
  std::vector<std::vector<std::byte>> spare_;  ///< memory of units that have ended
  bool has_taken_over_ = false;
  std::size_t calls_ = 0;  ///< of handlers that run
};

}  // namespace amity::detail
