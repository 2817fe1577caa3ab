#pragma once

/// Short gets over the network: gets of neighboring bytes of one target become one read.
///
/// A get joins the read that is collected for its target if their bytes overlap or follow one another. The read starts
/// when a get does not join it, when a call completes it, and when this thread has nothing else to do. A read that has
/// started takes no further gets, which may have to see newer data. Data for one place in the program's memory goes
/// there directly. Data for several places goes to a bounce buffer, and from there to these before the read is done.
///
/// Nothing here waits. The buffers are bounded, and count in the bound of the engine. Without a free buffer, a get that
/// needs one does not join.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/core/event.hpp"
#include "amity/core/segment.hpp"

namespace amity::core {
class engine;
}  // namespace amity::core

namespace amity::detail {

/// Bytes of a target that go to one place.
struct get_piece {
  std::uint64_t at;  ///< in the segment of the target
  std::size_t bytes;
  std::byte* into;
};

class bounce_read;

/// The short gets of one target. Its segment stays where it is.
struct target_gets : private immovable {
  explicit target_gets(const core::remote_segment& of) : segment(of) {}
  bool is_reading() const noexcept { return !started.done(); }
  bool done() const noexcept { return bytes == 0 && !is_reading(); }

  const core::remote_segment& segment;
  core::event started;  ///< counts reads
  // The read that is collected.
  std::uint64_t at = 0;           ///< of its first byte
  std::size_t bytes = 0;          ///< 0: there is none
  bounce_read* bounce = nullptr;  ///< null: all its bytes go to one place
  get_piece only{};               ///< then
  bool listed = false;            ///< in the list of targets whose reads have not started
};

/// The short gets of all windows of a thread.
class short_gets final : private immovable {
 public:
  /// Longer gets gain little: the network needs as much time for their bytes as for an operation.
  static constexpr std::size_t get_bytes_max = 512;
  static constexpr std::size_t read_bytes_max = 4096;
  static constexpr std::size_t pieces_max = 128;
  static constexpr std::size_t buffers_max = 8;

  explicit short_gets(core::engine& on);
  ~short_gets();

  /// Adds a get of at least one byte, and at most `get_bytes_max`. Returns false if another read must start first, and
  /// the memory has no place for its operation.
  bool try_add(target_gets& of, std::uint64_t at, mutable_bytes into);
  /// Starts the read that is collected, if there is one. Returns false if the memory has no place for its operation.
  bool try_start(target_gets& of);
  /// Starts all reads that are collected. Returns whether any has started.
  bool try_start_all();
  /// Drops what is collected, after the job has failed.
  void forget(target_gets& of) noexcept;

  std::size_t buffers() const noexcept { return buffers_.size(); }

 private:
  bool joins(target_gets& of, const get_piece& what);
  bool try_add_place(target_gets& of, const get_piece& what);
  bounce_read* take_buffer();

  core::engine& engine_;
  std::vector<std::unique_ptr<bounce_read>> buffers_;
  std::vector<bounce_read*> free_;
  std::vector<target_gets*> collected_;  ///< and some that have started since
};

}  // namespace amity::detail
