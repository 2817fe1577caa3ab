#pragma once

/// Bytes of a file, of standard input, of memory, or of the output of a command, read once from front to back; gzip is
/// unpacked on the way.
///
/// Ranks share an input by blocks: each reads (and unpacks) all of it, but looks closely only at the blocks whose turn
/// it is. So there is one way for every format, packed or not, and every rank knows the number of each line.
///
/// What goes wrong on the way (missing file, gzip that ends early, a command that fails) is an `input_error` that
/// names the file and the byte.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/error.hpp"
#include "amity/base/types.hpp"
#include "apps/graph/console/progress.hpp"
#include "apps/graph/input/unpacker.hpp"

namespace amity::apps::graph {

/// "graph.mtx:17: REASON; REMEDY". What comes first in the input has the least place, whichever rank has found it.
class input_error : public error {
 public:
  input_error(std::string_view where, std::string_view reason, std::string_view remedy, std::uint64_t place)
      : error(where, no_rank, reason, remedy), place_(place) {}
  std::uint64_t place() const noexcept { return place_; }

 private:
  std::uint64_t place_;
};

/// Throws an `input_error`. `where` is a file, with a line or a byte if there is one.
[[noreturn]] void fail(std::string_view where, std::string_view reason, std::string_view remedy,
                       std::uint64_t place = 0);

/// The name of a file that stands for standard input.
inline constexpr std::string_view standard_input = "-";

/// A text without the byte order mark with which some editors and spreadsheets begin UTF-8.
constexpr std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xef\xbb\xbf";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

/// Whose turn a block is: block i is that of rank i modulo `ranks`.
struct turns {
  rank_t rank = 0;
  rank_t ranks = 1;
  std::size_t block_bytes = 48 << 10;  ///< 48 times a power of two: no record of a binary edge list straddles blocks

  bool mine(std::uint64_t block) const { return block % static_cast<std::uint64_t>(ranks) == std::uint64_t(rank); }
};

class input {
 public:
  /// Bytes that are read, or unpacked, at once; the greatest size of a block.
  static constexpr std::size_t buffer_bytes = 48 << 14;

  /// Opens a file, or standard input for the name "-". The watcher shows how much of it has been read, in bytes of the
  /// file. Blocks and places count from the given ones if several files are one input.
  explicit input(const std::filesystem::path& file, progress& watcher, const turns& sharing = {},
                 std::uint64_t first_block = 0, std::uint64_t first_place = 0);

  /// Runs a command and reads what it prints; `name` is for messages. The watcher is told the bytes that it printed.
  input(const std::vector<std::string>& command, std::string name, progress& watcher);

  /// Reads bytes in memory, which must outlive the input; `name` is for messages.
  input(std::span<const char> bytes, std::string name, progress& watcher, const turns& sharing = {});

  ~input();
  input(const input&) = delete;
  input& operator=(const input&) = delete;

  /// The name of the file without folders, or "standard input".
  const std::string& name() const { return name_; }

  /// Size of the file, packed as it lies there; 0 where nobody can tell, as for a pipe.
  std::uint64_t file_bytes() const { return file_bytes_; }

  /// The next block, full unless it is the last; empty at the end. Everybody's turn: `mine` tells whose it is.
  std::span<const char> next_block();

  /// Of the block that `next_block` gave: its number, and whether it is this rank's turn.
  std::uint64_t block() const { return next_block_ - 1; }
  bool mine() const { return sharing_.mine(block()); }

  /// The place of a line or byte for `input_error`.
  std::uint64_t place(std::uint64_t number) const { return first_place_ + number; }

  /// The beginning of the input, which `next_block` will return too. To be called before any other.
  std::span<const char> peek();

  /// Bytes, unpacked, that blocks have returned so far.
  std::uint64_t bytes_returned() const { return bytes_returned_; }

 private:
  std::size_t fill();
  void finish_command();

  std::string name_;
  progress* watcher_;
  std::optional<unpacker> stream_;
  int child_ = -1;  // process whose output this is
  std::uint64_t file_bytes_ = 0;
  turns sharing_;
  std::uint64_t next_block_ = 0;
  std::uint64_t first_place_ = 0;
  std::vector<char> buffer_;
  std::span<const char> rest_;  // of the buffer
  std::uint64_t bytes_returned_ = 0;
  std::uint64_t bytes_told_ = 0;  // to the watcher
};

/// Cuts an input into lines, without a byte order mark. A line belongs to the block in which it begins.
class line_reader {
 public:
  /// No line of most text formats is longer; a binary file read as text would be.
  static constexpr std::size_t line_bytes_max = std::size_t{1} << 20;

  explicit line_reader(input& from) : from_(from) {}

  /// From now on lines may be so long, if that is more.
  void allow(std::size_t line_bytes) { line_bytes_allowed_ = std::max(line_bytes_allowed_, line_bytes); }

  /// The next line, without its end ("\n" or "\r\n"), valid until the next call. False at the end of the input.
  bool next(std::string_view& line);

  /// From now on `next` gives the lines of this rank's blocks only. What comes before, such as a header, all ranks see.
  void share() { shared_ = true; }

  /// Of the line that `next` gave: whether it belongs to this rank, and to which block.
  bool mine() const { return mine_; }
  std::uint64_t block() const { return block_; }

  /// Of the line that `next` gave, or of the last one of the input; counts from 1, whoever's the lines are.
  std::uint64_t line_number() const { return line_number_; }

  /// Of so many lines up to that one, '%' is the first character.
  std::uint64_t percent_lines() const { return percent_lines_; }

  /// "graph.mtx:17", the place of the line that `next` gave.
  std::string where() const;

  /// An error about this line.
  input_error problem(std::string_view reason, std::string_view remedy) const;
  /// Throws an `input_error` about this line.
  [[noreturn]] void fail(std::string_view reason, std::string_view remedy) const;

 private:
  bool take(std::string_view& line);
  void skip_whole_lines();
  bool load();

  input& from_;
  std::string_view rest_;  // of the current block
  std::string joined_;     // a line that straddles blocks
  std::uint64_t line_number_ = 0;
  std::uint64_t percent_lines_ = 0;
  std::uint64_t block_ = 0;
  std::size_t line_bytes_allowed_ = line_bytes_max;
  bool mine_ = true;
  bool shared_ = false;
};

}  // namespace amity::apps::graph
