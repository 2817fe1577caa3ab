#pragma once

/// Functions of other tools that stand between the program and the MPI: a profiler defines MPI_X and calls PMPI_X.
///
/// This library defines both names, so that the call of a tool arrives here whichever of the two is loaded first. If
/// the tool comes later, MPI_X of this library calls it.

#include <atomic>
#include <cstdint>

namespace amity::mpi {

/// Returns the function `name`, "MPI_X", that comes next after this library, if it belongs neither to an MPI nor to
/// this library; else null. Any thread.
void* find_tool(const char* name) noexcept;

/// The function of this name in a tool. Any thread may call it.
template <class Function>
class tool_function {
 public:
  /// `name` is a literal.
  constexpr explicit tool_function(const char* name) : name_(name) {}

  /// Null: no tool has it. Searches at the first call. The tools of a process do not change.
  Function find() noexcept {
    std::uintptr_t found = cached_.load(std::memory_order_relaxed);
    if (found == unknown) [[unlikely]] {
      void* const tool = find_tool(name_);
      found = tool == nullptr ? none : reinterpret_cast<std::uintptr_t>(tool);
      cached_.store(found, std::memory_order_relaxed);
    }
    return found == none ? nullptr : reinterpret_cast<Function>(found);
  }

 private:
  static constexpr std::uintptr_t unknown = 0, none = 1;

  std::atomic<std::uintptr_t> cached_{unknown};
  const char* name_;
};

}  // namespace amity::mpi
