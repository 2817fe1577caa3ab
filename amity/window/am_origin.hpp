#pragma once

/// Active messages of a window as their origin: a queue for each target, and which space of the target a unit takes.
///
/// Messages for one target are sent in their order, a unit after another, and carried out in that order. A unit takes,
/// in this order of preference: space that the target has granted to it; a part of the system buffer, which the target
/// has for this origin; what is guaranteed to this origin; credit, which the target keeps for this origin; and space
/// that the origin chooses from a list of all, if it holds the lock exclusively. A unit without space waits, and with
/// it all that is behind it. Nothing here waits for another rank.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/event.hpp"
#include "amity/core/record.hpp"
#include "amity/window/active_message.hpp"
#include "amity/window/am_buffers.hpp"
#include "amity/window/am_credit.hpp"
#include "amity/window/am_description.hpp"
#include "amity/window/am_records.hpp"
#include "amity/window/sent_descriptions.hpp"
#include "amity/window/window_records.hpp"

namespace amity::core {
class engine;
class record_stream;
}  // namespace amity::core

namespace amity::detail {

class am_origin;
class window_service;

struct am_origin_options {
  std::uint64_t system_bytes = 0;  ///< at each target, for this origin
  std::uint64_t unit_bytes = 0;    ///< input and output of a unit, unless a segment has more
  bool detects_exclusive = true;   ///< asks for a list of all space under an exclusive lock
  bool may_detach = true;          ///< targets may detach buffers after a flush
  bool adapts = true;              ///< asks for credit, and does not ask for a list again because of a flush
};

struct am_queue;

/// Consecutive segments of a message that travel together. Reached when the answer is there.
struct am_unit final : public core::awaited {
  void reached() noexcept override;

  am_origin* origin = nullptr;
  am_queue* queue = nullptr;
  struct am_queued* message = nullptr;
  std::size_t first = 0;  ///< segment
  std::size_t segments = 0;
  am_space space = am_space::system;
  am_room room{};
  bool restarts = false;  ///< it is the first that is sent again
  std::uint32_t question = core::no_question;
  std::size_t sent = 0;             ///< bytes of the input
  bool is_begun = false;            ///< its first record has been sent
  std::vector<std::byte> answer{};  ///< if it does not go to the output directly
};

struct am_queued {
  am_message what;
  std::uint64_t number;   ///< messages of the queue before it
  std::size_t next = 0;   ///< segment that belongs to no unit yet
  std::size_t units = 0;  ///< that are not complete
  bool is_cut() const noexcept { return next == what.segments; }
};

/// The messages to one target, which have been given and are not complete.
struct am_queue : private immovable {
  static constexpr std::uint64_t ask_ahead_distance_min = 64;

  am_queue(rank_t to_lane, std::uint32_t window_number) : lane(to_lane), window(window_number) {}
  /// Also the answer to the last request has arrived, so that no record follows the end of the window.
  bool done() const noexcept { return messages.empty() && asks == asking::nothing; }
  /// Whether nothing waits for space or a credit.
  bool waits_for_room() const noexcept { return waits_since_ns != 0; }
  bool is_sent() const noexcept { return cut == messages.size() && returned.empty() && beginning == nullptr; }
  /// Whether units after a refused one are still under way, so that no further one may be sent.
  bool must_drain() const noexcept { return restarts && under_way > 0; }
  std::string describe() const;

  rank_t lane;
  std::uint32_t window;  ///< its number there
  std::deque<am_queued> messages;
  std::size_t cut = 0;            ///< messages at the front whose segments all belong to units
  am_unit* beginning = nullptr;   ///< has space, and has not been sent as a whole
  std::deque<am_unit*> returned;  ///< were refused, and are sent again, in the order of their segments
  bool restarts = false;          ///< since one was refused, no unit was sent again
  std::size_t under_way = 0;      ///< units that were sent, or are being sent
  // Space
  std::uint64_t system_free = 0;
  std::uint64_t owed = 0;  ///< guaranteed to this rank
  std::uint64_t owed_free = 0;
  enum class asking : std::uint8_t { nothing, room, credit, list };
  asking asks = asking::nothing;
  std::uint32_t requests = 0;  ///< number of the last one
  bool must_ask = false;       ///< the next unit waits for a grant, whatever becomes free
  am_grant granted{};          ///< for the next unit; 0 segments: there is none
  am_credit credit{};
  am_room named{};                           ///< by the last unit that was sent with its room
  std::uint32_t described = no_description;  ///< of the last unit that was sent
  std::uint64_t waiting = 0;                 ///< input and output of segments that belong to no unit
  std::uint64_t ask_ahead = 0;               ///< units after which credit is asked for while others are under way
  std::uint64_t ask_ahead_distance = ask_ahead_distance_min;
  std::uint64_t credit_when_asked = 0;  ///< bytes
  bool has_list = false;
  std::vector<am_free> list;
  std::uint64_t waits_since_ns = 0;  ///< 0: the next unit does not wait
  sent_descriptions<am_description> descriptions;
  am_counters counters;
};

class am_origin final : private immovable {
 public:
  am_origin(core::engine& on, window_service& service, const am_origin_options& options);

  std::unique_ptr<am_queue> make_queue(rank_t lane, std::uint32_t window, std::uint64_t owed) const;
  void add(am_queue& to, am_message&& what);
  /// Messages in all queues that are not complete.
  std::size_t messages() const noexcept { return messages_; }
  /// From now on the acts of records have these bits, of `window_records.hpp`.
  void begin_epoch(std::uint8_t bits) noexcept { act_bits_ = bits; }
  /// Sends what has space and credits. Returns whether anything was sent.
  bool advance(am_queue& of, bool is_exclusive);
  /// All messages have been completed, and targets may detach buffers now. `ends`: the epoch has ended.
  void note_flush(am_queue& of, bool ends) const noexcept {
    if (ends || (options_.may_detach && !options_.adapts)) of.has_list = false;
  }

  // Records of the target. False: no rank sends this that runs the same build.
  bool on_granted(am_queue& of, bytes_view content);
  bool on_credited(am_queue& of, bytes_view content);
  bool on_listed(am_queue& of, bytes_view content);
  bool on_refused(am_queue& of, bytes_view content);

  /// The first error that a target has reported; empty: none.
  const std::string& failure() const noexcept { return failure_; }
  am_refusal::reason failure_reason() const noexcept { return failure_reason_; }
  void forget_failure() noexcept { failure_.clear(); }

 private:
  friend am_unit;

  /// Segments that may be sent next.
  struct candidate {
    am_queued* message;
    std::size_t first;
    std::size_t segments;
    am_unit* returned;  ///< null: these segments belong to no unit
  };
  struct found_room {
    std::size_t segments;  ///< at most those of the candidate
    am_space space;
    am_room room;
  };

  std::size_t segments_max(const am_description& of) const noexcept;
  std::optional<candidate> next(am_queue& of) noexcept;
  std::optional<found_room> find_room(am_queue& of, const candidate& what, bool is_exclusive);
  std::optional<found_room> choose_room(am_queue& of, const candidate& what);
  void request_room(am_queue& of, const candidate& what, bool is_exclusive);
  void request_list_early(am_queue& of, const candidate& what, bool is_exclusive);
  void request_list(am_queue& of);
  void ask(am_queue& of, const candidate& what, am_queue::asking kind);
  void begin(am_queue& of, const candidate& what, const found_room& where);
  bool try_send(am_queue& of, am_unit& next);
  std::optional<std::uint32_t> try_describe(am_queue& of, const std::shared_ptr<const am_description>& what);
  bool try_send_content(am_queue& of, window_act act, bytes_view content);
  std::byte* try_append(am_queue& of, core::record what);
  void send_again(am_queue& of, am_unit& refused);
  void give_up(am_queue& of, const candidate& what);
  void give_room_back(am_queue& of, const am_unit& done) noexcept;
  void place_output(const am_unit& done) noexcept;
  /// The answer is there, or there will be none.
  void end(am_unit& done) noexcept;
  void drop_complete(am_queue& of) noexcept;
  void fail(am_refusal::reason why, bytes_view text);

  core::engine& engine_;
  window_service& service_;
  core::record_stream& stream_;
  am_origin_options options_;
  std::size_t content_max_;  ///< of one record
  std::uint8_t act_bits_ = 0;
  std::size_t messages_ = 0;
  std::deque<am_unit> units_;
  std::vector<am_unit*> free_units_;
  std::string failure_;
  am_refusal::reason failure_reason_ = am_refusal::reason::handler;
};

}  // namespace amity::detail
