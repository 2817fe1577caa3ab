#pragma once

/// Bytes of a file, or of what a command prints, read once from front to back; gzip is unpacked on the way.
///
/// What goes wrong on the way (missing file, gzip that ends early, a command that fails) is an `amity::error` that
/// names the file and the byte.

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/graph/console/progress.hpp"

namespace amity::apps::graph {

/// "graph.mtx:17: REASON; REMEDY" as an `amity::error`. `where` is a file, with a line or a byte if there is one.
[[noreturn]] void fail(std::string_view where, std::string_view reason, std::string_view remedy);

class input {
 public:
  /// Size of a full block: a multiple of 12 and of 16, the records of binary edge lists.
  static constexpr std::size_t block_bytes = 48 << 14;

  /// Opens a file. The watcher is told how much of it has been read, in bytes of the file.
  input(const std::filesystem::path& file, progress& watcher);

  /// Runs a command and reads what it prints; `name` is for messages. The watcher is told the bytes that it printed.
  input(const std::vector<std::string>& command, std::string name, progress& watcher);

  ~input();
  input(const input&) = delete;
  input& operator=(const input&) = delete;

  /// As a person wrote it, without folders.
  const std::string& name() const { return name_; }

  /// Size of the file, packed as it lies there; 0 where nobody can tell, as for a pipe.
  std::uint64_t file_bytes() const { return file_bytes_; }

  /// The next block, full unless it is the last; empty at the end.
  std::span<const char> next_block();

  /// The first block, which `next_block` will return too. To be called before any other.
  std::span<const char> peek();

  /// Bytes, unpacked, that blocks have returned so far.
  std::uint64_t bytes_returned() const { return bytes_returned_; }

 private:
  void open(int descriptor);
  std::size_t fill();
  std::uint64_t position() const;
  void finish_command();

  std::string name_;
  progress* watcher_;
  gzFile stream_ = nullptr;
  int child_ = -1;  // process whose output this is
  std::uint64_t file_bytes_ = 0;
  std::vector<char> block_;
  std::size_t peeked_bytes_ = 0;
  std::uint64_t bytes_returned_ = 0;
  std::uint64_t bytes_told_ = 0;  // to the watcher
};

/// Cuts an input into lines.
class line_reader {
 public:
  /// No line of a text format is longer; a binary file read as text would be.
  static constexpr std::size_t line_bytes_max = std::size_t{1} << 20;

  explicit line_reader(input& from) : from_(from) {}

  /// The next line, without its end ("\n" or "\r\n"), valid until the next call. False at the end of the input.
  bool next(std::string_view& line);

  /// Of the line that `next` gave; counts from 1.
  std::uint64_t line_number() const { return line_number_; }

  /// "graph.mtx:17", the place of the line that `next` gave.
  std::string where() const;

  /// Throws an `amity::error` about this line.
  [[noreturn]] void fail(std::string_view reason, std::string_view remedy) const;

 private:
  input& from_;
  std::span<const char> rest_;  // of the current block
  std::string joined_;          // a line that straddles blocks
  std::uint64_t line_number_ = 0;
};

}  // namespace amity::apps::graph
