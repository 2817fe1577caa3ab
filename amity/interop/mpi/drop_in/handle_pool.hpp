#pragma once

/// Handles of windows that have ended, which new windows of the same processes take over: making a handle and freeing
/// it takes the MPI about a third of the time that a window needs, and some MPIs spin until all processes have called.

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include <mpi.h>

#include "amity/base/types.hpp"

namespace amity::mpi {

/// Any thread may call it. A handle that is kept is never freed: the MPI could do that only with all its processes.
class handle_pool : private immovable {
 public:
  static constexpr std::size_t kept_max = 64;

  /// What the members of a new window agree on: the maximum of each word.
  struct proposal {
    std::uint64_t free;    ///< the number of a handle that this process could use; `none`: it has none
    std::uint64_t others;  ///< ~`free`: so the members see whether all have proposed the same handle
    std::uint64_t number;  ///< that member 0 gives to a new handle, and no other process gives; the others pass 0
    std::uint64_t full;    ///< 1: this process cannot keep a new handle
  };

  /// `members`: ranks in MPI_COMM_WORLD; `own`: the index of this process. Until `take`, no other thread of this
  /// process proposes the same handle.
  proposal propose(std::span<const rank_t> members, rank_t own);
  /// The handle that all members have proposed. MPI_WIN_NULL: the caller makes one, and adds it.
  MPI_Win take(const proposal& own, const proposal& agreed);
  void add(MPI_Win made, const proposal& agreed, std::span<const rank_t> members);
  /// The window has ended. False: the handle is not kept, and all members free it.
  bool give_back(MPI_Win handle);

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0} - 1;

  struct entry {
    std::uint64_t number;  ///< that member 0 has given it
    std::vector<rank_t> members;
    MPI_Win handle;
    bool is_free;
  };

  std::mutex mutex_;
  std::vector<entry> kept_;
  std::uint32_t last_number_ = 0;
};

}  // namespace amity::mpi
