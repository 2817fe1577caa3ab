#pragma once

/// A window of an MPI program that amity serves: an amity window behind a handle of the MPI.
///
/// The handle belongs to a window of the MPI without memory, which has the group, the name, the attributes of the
/// program and the error handler. It exists wherever the MPI can make it, whatever memory the program has, and may have
/// been that of an earlier window (`handle_pool`).

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include <mpi.h>

#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/allocated_memory.hpp"
#include "amity/interop/mpi/drop_in/am_descriptions.hpp"
#include "amity/interop/mpi/drop_in/am_operations.hpp"
#include "amity/interop/mpi/drop_in/handle_pool.hpp"
#include "amity/interop/mpi/drop_in/job.hpp"
#include "amity/interop/mpi/drop_in/window_info.hpp"
#include "amity/window/window_core.hpp"
#include "amity/window/window_epochs.hpp"

namespace amity::mpi {

/// What a call that makes a window is given.
struct new_window {
  std::string_view call;  ///< "MPI_Win_create"
  int flavor;             ///< MPI_WIN_FLAVOR_CREATE and the like
  void* base;             ///< of a created window; else null
  MPI_Aint bytes;
  MPI_Aint unit;  ///< bytes of a displacement
  MPI_Info info;
  MPI_Comm comm;
};

class window : private immovable {
 public:
  /// Whether amity can serve windows of this communicator: all its processes are in MPI_COMM_WORLD. The same on all.
  static bool can_serve(MPI_Comm comm);
  /// `allocated`: memory of it need not be offered again. Collective over the communicator. Throws `mpi_error` or
  /// `error`.
  window(job& in, const allocated_memory& allocated, handle_pool& handles, am_operations& operations,
         const new_window& wanted);
  /// Collective. The epochs have ended (`check_end`), or it is abandoned.
  ~window();
  /// Before MPI ends: from now on its end waits for no other process, and the handle is left to the MPI.
  void abandon() noexcept;

  MPI_Win handle() const noexcept { return handle_; }
  amity::detail::window_core& core() noexcept { return *core_; }
  const std::string& name() const noexcept { return core_->name(); }
  rank_t size() const noexcept { return size_; }
  /// The rank of this process in it.
  rank_t member() const noexcept { return member_; }
  bool is_dynamic() const noexcept { return flavor_ == MPI_WIN_FLAVOR_DYNAMIC; }
  void* base() const noexcept { return base_; }
  window_info& info() noexcept { return info_; }
  const window_info& info() const noexcept { return info_; }
  MPI_Aint unit_of(rank_t member) const noexcept {
    return units_.empty() ? unit_ : units_[static_cast<std::size_t>(member)];
  }
  /// Bytes from the beginning of the memory of a member, or its address there if the window is dynamic. Throws
  /// `mpi_error` if it is negative or too large.
  std::uint64_t place(rank_t member, MPI_Aint displacement) const;
  /// The members of a group of the program. Throws `mpi_error` for processes that are none.
  std::vector<rank_t> members_of(MPI_Group group) const;
  /// Throws `mpi_error` if active messages on the window must not name the operation.
  void check_operation(MPIX_Am_op op, const am_operations::use& as);
  am_descriptions& descriptions() noexcept { return descriptions_; }
  /// Memory of a dynamic window, whose pieces do not overlap. Throw `mpi_error` or `error`. Any thread.
  void attach(void* base, std::size_t bytes);
  void detach(const void* base);
  /// The value of a predefined attribute as MPI_Win_get_attr returns it; null: it is another key.
  void* find_attribute(int key) noexcept;
  /// The program has set an attribute of its own.
  void note_attribute(int key);
  /// Before the end of the window, whose handle may serve again. Returns the first error code.
  int delete_attributes();

 private:
  MPI_Win make_handle(MPI_Comm comm);
  void free_handle() noexcept;
  /// Learns the units of all members. Returns what they have agreed on. `problem` becomes the largest of all.
  handle_pool::proposal agree(job& in, MPI_Comm comm, const handle_pool::proposal& own, std::uint64_t& problem);
  void learn_units(job& in, MPI_Comm comm);
  void check_dynamic() const;

  job& job_;
  handle_pool& handles_;
  am_operations& operations_;
  rank_t size_ = 0;
  rank_t member_ = no_rank;
  int flavor_;
  int model_ = MPI_WIN_UNIFIED;
  MPI_Aint unit_;
  int unit_attribute_;
  MPI_Aint bytes_;
  void* base_ = nullptr;
  std::vector<MPI_Aint> units_;  ///< by member; empty: all have that of this rank
  window_info info_;
  std::unique_ptr<amity::detail::window_core> core_;
  MPI_Group group_ = MPI_GROUP_NULL;
  MPI_Win handle_ = MPI_WIN_NULL;
  std::vector<int> attributes_;                      ///< keys that the program has set
  std::mutex mutex_;                                 ///< for what follows
  std::multiset<const void*> empty_pieces_;          ///< attached, without a byte
  std::map<std::uintptr_t, std::uintptr_t> pieces_;  ///< attached: the end, by the beginning
  std::vector<MPIX_Am_op> operations_used_;          ///< of active messages, whose communicators have all members
  am_descriptions descriptions_;
};

}  // namespace amity::mpi
