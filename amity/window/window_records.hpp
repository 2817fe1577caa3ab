#pragma once

/// Windows as their records see them: what travels between the members of a window.
///
/// Records that concern memory name the window by the number that the target has given it. All others name it by its
/// identity, which all members know from the beginning. Records for the owner of the memory go to the thread that
/// carries them out there: the progress thread of a rank that has one. Others go to the thread that has made the
/// window.

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "amity/core/record.hpp"
#include "amity/core/segment.hpp"

namespace amity::detail {

/// Equal on all members: the lane of member 0 that carries out records, and the number that it has given the window.
enum class window_identity : std::uint64_t {};

enum class window_act : std::uint8_t {
  // `object` is the window, `at` an offset in it. `op` and `word_bytes` are an accumulate's operation and element type.
  put,           ///< content: the data; if there is a question, its answer is empty
  get,           ///< content: `answer_place`
  accumulate,    ///< content: the operands; if there is a question, `answer_place` first
  compare_swap,  ///< content: `swap_operands`
  // Blocks of a layout, which the origin has sent before, with `at` as its address. The content begins with
  // `block_place`.
  layout,             ///< content: `layout_part`, and bytes of the encoded layout
  put_blocks,         ///< content: the data
  get_blocks,         ///< content: `answer_place`
  accumulate_blocks,  ///< content: the operands; if there is a question, `answer_place` first
  // Active messages: see `am_records.hpp`.
  am_describe,  ///< content: `layout_part`, and bytes of an encoded `am_description`
  am_unit,      ///< content: `am_unit_head` or none, `am_room` or none, and input
  am_part,      ///< content: further input of a unit
  am_ask,       ///< content: `am_ask`
  am_query,     ///< content: a number of 64 bits
  // `at` is the identity. For the owner.
  describe,  ///< asks for a `window_description`
  complete,
  lock,      ///< `op`: the kind
  unlock,    ///< `op`: the kind; asks for a word: see `flush`
  flush,     ///< in dynamic windows; asks for a word when all before has been carried out: the bytes of `failure`
  failure,   ///< asks for the first error in operations of the origin since it was last asked, as text
  released,  ///< a member that maps the lock has left it
  reach,     ///< asks for a word, the answer that the owner has left as many fences as the origin
  try_lock,  ///< in checked windows; `op`: the kind; asks for what `control_block::take_if_free` returns, as 0 or 1
  // `at` is the identity. For the member.
  collective,  ///< content: a part
  post,
  granted,      ///< answers `lock`
  introduce,    ///< content: the `window_description` of a member of this node, encoded: see `neighbors`
  wake,         ///< a signal was stored for a member that sleeps
  has_posted,   ///< in checked windows; asks for a `post_state`
  am_granted,   ///< content: `am_grant`
  am_credited,  ///< content: `am_credited`, and an `am_free` of each buffer
  am_listed,    ///< content: the number of the query, and `am_free` of each buffer
  am_refused,   ///< content: `am_refusal`, and a text
};

/// In `record::act`, with the act: the record counts for a fence; and how many fences its origin has left, modulo 2. A
/// member is at most one fence ahead of another one.
inline constexpr std::uint8_t counted_bit = 0x80, parity_bit = 0x40, act_bits = 0x3f;
static_assert(static_cast<std::uint8_t>(window_act::am_refused) <= act_bits);

inline window_act act_of(const core::record& what) noexcept { return static_cast<window_act>(what.act & act_bits); }

/// Where the answer belongs in the result, and its size.
struct answer_place {
  std::uint64_t at;
  std::uint64_t bytes;
};

struct block_place {
  std::uint32_t number;  ///< of the layout, as the origin counts them
  std::uint32_t unused = 0;
  std::uint64_t from;  ///< the first byte, in the data of the layout
};

/// How many layouts, and how many descriptions of active messages, of one origin a target knows at once. Newer ones
/// replace the oldest.
inline constexpr std::uint32_t descriptions_kept = 64;

struct layout_part {
  std::uint32_t number;
  std::uint32_t bytes;  ///< of the whole layout
  std::uint64_t at;
};

/// What a member tells those of its node when the window is made, and others when they ask.
struct window_description {
  core::segment_descriptor control;
  core::segment_descriptor data;  ///< of no lane: the data is in the segment of the control block
  std::uint64_t control_offset;
  std::uint64_t data_offset;  ///< in its segment
  std::uint64_t bytes;        ///< of the data
  std::uint32_t number;
  std::uint32_t unused = 0;
};
static_assert(std::has_unique_object_representations_v<window_description>);

}  // namespace amity::detail
