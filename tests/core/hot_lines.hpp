#pragma once

/// Marks the parts of a program whose memory accesses scripts/hot_lines counts. The script finds both functions by
/// name; they do nothing, in a source of their own, so that no compiler removes or changes the calls.

#include <cstddef>
#include <cstdint>

extern "C" {

/// An object whose cache lines are counted separately.
struct hot_lines_object {
  const char* name;
  const void* at;
  std::size_t bytes;
};

/// A part of the program of `rank` begins. It must not switch to another stack.
void hot_lines_begin(const char* part, std::uint64_t rank, const hot_lines_object* objects, std::size_t count);

/// The part ends; it is ignored if `counts` is false.
void hot_lines_end(bool counts);
}
