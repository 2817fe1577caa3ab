#pragma once

/// The space of a target for units of active messages: who has it, and who waits for it.
///
/// Requests for space are granted in the order in which they arrive; their origins also get credit for later units. The
/// space of a unit is free again when its answer has left. Used by the thread that carries out the records of the
/// window.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "amity/base/types.hpp"
#include "amity/window/am_buffers.hpp"
#include "amity/window/am_credits.hpp"
#include "amity/window/am_description.hpp"
#include "amity/window/am_records.hpp"
#include "amity/window/window_records.hpp"

namespace amity::core {
class engine;
}  // namespace amity::core

namespace amity::detail {

class record_window;
class window_service;

/// What a target sends to the origins of its messages, besides answers.
struct am_notices {
  window_service& service;
  window_identity identity;

  /// At most the first 400 bytes of the text.
  void send(rank_t lane, window_act act, bytes_view head, std::string_view text = {}) const;
};

/// Space of a unit.
struct am_allocation {
  rank_t lane;  ///< of the origin
  am_space space;
  std::uint32_t segments = 0;
  am_need need{};  ///< of all segments
  am_room room{};  ///< if the space names it, or when it has been taken
};

class am_allocator final : private immovable {
 public:
  struct options {
    bool may_detach = true;  ///< after origins have flushed
    bool adapts = true;      ///< keeps credit for origins
  };
  struct owner {
    record_window* records;  ///< calls `serve` in rounds of progress after `window_service::watch`
    rank_t member;
    std::string window;  ///< for errors
  };

  am_allocator(core::engine& on, const am_notices& notices, const options& how, owner of);

  // --- For the program of this rank. These throw `error` of `call`. ---

  void attach(std::string_view call, mutable_bytes memory);
  /// `is_used`: a handler runs.
  void detach(std::string_view call, const void* base, bool is_used);
  am_buffers& buffers() noexcept { return buffers_; }

  // --- Requests ---

  void on_ask(rank_t lane, const am_ask& what, std::shared_ptr<const am_description> about);
  /// Sends a list of all space.
  void on_query(rank_t lane, std::uint64_t number);
  /// Grants requests for which there is space.
  void serve();
  /// Tells the origin what credit it has, if it does not know.
  void tell_credit(rank_t lane) { tell_credit(lane, 0); }

  // --- Units. Their space is not that of the system buffer. ---

  struct refusal {
    am_refusal::reason why;
    std::string text{};
  };
  /// None: the unit has its space.
  std::optional<refusal> try_take(am_allocation& of);
  void give_back(const am_allocation& of);

  /// For a stall report.
  std::string describe() const;

 private:
  struct waiting_ask {
    rank_t lane;
    am_ask what;
    std::shared_ptr<const am_description> about;
  };

  std::optional<refusal> try_take_owed(am_allocation& of);
  /// True: granted or refused.
  bool try_serve(const waiting_ask& next);
  am_fit find_room(const am_need& of_segment, std::uint64_t segments_max);
  void extend_credit(const waiting_ask& for_ask);
  /// `number`: of its request; 0: none.
  void tell_credit(rank_t lane, std::uint32_t number);
  std::string no_buffer_for(const am_need& of_segment) const;

  core::engine& engine_;
  const am_notices& notices_;
  options options_;
  owner owner_;
  am_buffers buffers_;
  am_credits credits_{buffers_};
  std::size_t granted_ = 0;  ///< units whose space is granted
  std::deque<waiting_ask> asks_;
};

}  // namespace amity::detail
