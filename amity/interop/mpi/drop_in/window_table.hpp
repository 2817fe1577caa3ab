#pragma once

/// The windows that amity serves in this process, by their handles.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <mpi.h>

#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/window.hpp"

namespace amity::mpi {

/// Any thread may call it.
class window_table : private immovable {
 public:
  /// Null: amity does not serve it. Takes a few nanoseconds for windows in use.
  window* find(MPI_Win handle) noexcept {
    entry* const recent = recent_[place_of(handle)].load(std::memory_order_acquire);
    if (recent != nullptr && recent->handle.load(std::memory_order_relaxed) == handle) [[likely]]
      return recent->owner.get();
    return find_slowly(handle);
  }
  void add(std::unique_ptr<window> made);
  std::unique_ptr<window> remove(MPI_Win handle);
  /// A window that is in an epoch; null: there is none, or another thread changes the table. A signal handler may call
  /// it.
  const window* find_open_epoch() noexcept;
  /// Ends all windows, before MPI ends. No process uses them.
  void abandon_all();
  std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

 private:
  /// Stays when its window has ended, because other threads may look at it.
  struct entry {
    std::atomic<MPI_Win> handle = MPI_WIN_NULL;
    std::unique_ptr<window> owner{};
  };
  static constexpr int places_log2 = 9;

  static std::uint64_t bits_of(MPI_Win handle) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &handle, sizeof handle);
    return bits;
  }
  static std::size_t place_of(MPI_Win handle) noexcept {
    return static_cast<std::size_t>(bits_of(handle) * 0x9e3779b97f4a7c15u >> (64 - places_log2));
  }
  window* find_slowly(MPI_Win handle) noexcept;

  std::array<std::atomic<entry*>, std::size_t{1} << places_log2> recent_{};
  std::atomic<std::size_t> size_ = 0;
  std::mutex mutex_;
  std::deque<entry> entries_;
  std::unordered_map<std::uint64_t, entry*> by_handle_;
  std::vector<entry*> unused_;
};

}  // namespace amity::mpi
