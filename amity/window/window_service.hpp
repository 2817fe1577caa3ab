#pragma once

/// The windows of one thread: finds the window that an arriving record names, sends what windows could not send when
/// they had to, closes the packets that windows have left open, and starts the reads that they collect. On a progress
/// thread it has the long transfers of the rank.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "amity/base/rank_map.hpp"
#include "amity/base/types.hpp"
#include "amity/core/flushable.hpp"
#include "amity/core/numbered.hpp"
#include "amity/core/record.hpp"
#include "amity/core/record_stream.hpp"
#include "amity/window/long_transfers.hpp"
#include "amity/window/short_gets.hpp"
#include "amity/window/window_records.hpp"

namespace amity::core {
class endpoint;
class engine;
}  // namespace amity::core

namespace amity::detail {

/// A window as records reach it.
class record_window {
 public:
  /// As `record_executor::execute`, for a record of any member.
  virtual bool execute(rank_t lane, const core::record& what, bytes_view content, core::answers& to) = 0;
  /// In rounds of progress after `service::watch`. False: it need not be called again.
  virtual bool on_round() { return false; }
  /// What is under way, for a stall report; lines that begin with "\n  ".
  virtual std::string describe() const { return {}; }
  /// The name of the window if it belongs to this world; null otherwise.
  virtual const std::string* name_in(const core::endpoint&) const noexcept { return nullptr; }

  virtual ~record_window() = default;
};

class window_service final : public core::record_executor, private core::flushable, private immovable {
 public:
  /// The one of this thread, made at first use.
  static window_service& of(core::endpoint& in);
  explicit window_service(core::engine& on);
  ~window_service() override;

  bool full() const noexcept { return windows_.full(); }
  /// The owner's side of a window, which carries out records on this thread until `remove_owner`, or the end of this.
  std::uint32_t add(std::unique_ptr<record_window> owner) { return windows_.add(std::move(owner)); }
  /// From now on records may name it.
  void publish_owner(window_identity identity, record_window& owner) { owners_[identity] = &owner; }
  void publish_member(window_identity identity, record_window& member) { members_[identity] = &member; }
  void remove_owner(std::uint32_t number, window_identity identity) noexcept;
  void remove_member(window_identity identity) noexcept;

  /// Sends a record of a window that has no memory, now or when there is a credit. Legal while records are carried out.
  void send(rank_t lane, const core::record& what, bytes_view content);
  /// Whether all of these have left.
  bool sent() const noexcept { return unsent_.empty(); }
  /// Appends a record of memory, and returns where its content goes; the caller writes it, and calls `end_append`.
  /// Null: there is no credit.
  std::byte* try_append(rank_t lane, const core::record& what);
  /// The packet stays open if it may.
  void end_append(rank_t lane);
  void send_open();
  short_gets& gets() noexcept { return gets_; }
  /// For a progress thread: what the thread `program` of its rank hands over. Made at the first call.
  long_transfers& transfers(rank_t program);
  /// Calls `on_round` of this window from now on.
  void watch(record_window& of);
  /// Worlds whose windows leave packets open. Each has its own list of those that close packets.
  void enter(core::endpoint& in);
  void leave(core::endpoint& in) noexcept;
  /// The name of a window of this world that has not ended; null: all have.
  static const std::string* find_in(core::endpoint& world) noexcept;

 private:
  struct waiting_record {
    rank_t lane;
    core::record what;
    std::vector<std::byte> content;
  };
  struct user {
    core::endpoint* world;
    std::size_t windows;
  };

  bool execute(rank_t source, const core::record& what, bytes_view content, core::answers& to) override;
  std::string describe() const override;
  bool on_progress() override;
  bool flush_all() override;
  void close_packet(rank_t lane) override;
  bool try_send(rank_t lane, const core::record& what, bytes_view content);
  void ask_for_rounds();
  void note_open(rank_t lane);

  core::engine& engine_;
  core::record_stream& stream_;
  short_gets gets_;
  std::unique_ptr<long_transfers> transfers_;  ///< null: no window has asked for it
  core::numbered<std::unique_ptr<record_window>> windows_;
  std::unordered_map<window_identity, record_window*> owners_, members_;
  std::vector<waiting_record> unsent_;
  std::vector<record_window*> watched_;
  std::vector<rank_t> open_;  ///< lanes
  rank_map<bool> is_open_;    ///< whether a lane is in that list
  std::vector<user> users_;
  bool in_every_round_ = false;
  bool is_reserve_ = false;  ///< the last record has a packet with a credit of the reserve
};

}  // namespace amity::detail
