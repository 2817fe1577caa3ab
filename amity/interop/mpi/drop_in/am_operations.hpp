#pragma once

/// The operations of active messages that the program has created, and messages of them.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <mpi.h>

#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/am_user_handler.hpp"
#include "amity/interop/mpi/drop_in/groups.hpp"
#include "amity/interop/mpi/drop_in/job.hpp"
#include "amity/interop/mpi/drop_in/type_cache.hpp"
#include "amity/interop/mpi/mpix_am.h"
#include "amity/window/active_message.hpp"

namespace amity::mpi {

/// Any thread. Handlers are called by the thread that carries out records of their window.
class am_operations final : public amity::detail::am_handlers, private immovable {
 public:
  /// `threads`: several threads may call the MPI at once.
  am_operations(job& in, bool threads);
  ~am_operations();

  /// Collective over `comm`. Throws `mpi_error`.
  MPIX_Am_op create(MPI_Comm comm, std::unique_ptr<const am_user_handler> handler);
  /// Throws `mpi_error` if there is no such operation.
  void free(MPIX_Am_op op);
  /// How a message uses an operation.
  struct use {
    bool is_vector;
    MPI_Count count;  ///< the largest number of elements that its handler is given
  };
  /// Throws `mpi_error` if it must not be used so, or on a window of these processes. `members` is null if the latter
  /// was checked.
  void check(MPIX_Am_op op, const use& as, const MPI_Group* members);
  std::unique_ptr<amity::detail::am_recipe> prepare(const amity::detail::am_description& of) override;
  /// The progress thread calls the MPI only if the program lets several threads do that.
  bool may_run_here() const noexcept override;
  /// An error class of MPI for MPIX_AM_BUFFER and the others; made at the first call.
  int error_class_of(int which);

 private:
  struct operation {
    MPIX_Am_op number;
    std::unique_ptr<const am_user_handler> handler;
    std::unique_ptr<owned_group> members;  ///< null: it is free
    bool is_free = false;                  ///< messages of others may still be on their way
    std::string title() const;
  };
  class recipe;

  operation* find(MPIX_Am_op op) noexcept;
  void warn_of_threads();
  int agree(MPI_Comm comm, int number, MPI_Op how);

  job& job_;
  bool has_threads_;
  std::mutex mutex_;
  std::map<MPIX_Am_op, operation> all_;  // handlers stay where they are
  MPIX_Am_op next_ = 1;
  bool has_warned_ = false;
  std::vector<int> error_classes_;
  type_cache types_;
};

/// What travels with a description for a handler: counts of one segment, and the encoded types.
struct am_types {
  std::int64_t input_count;
  std::int64_t persistent_count;
  std::int64_t output_count;
  std::uint32_t input_bytes;  ///< of the encoded types
  std::uint32_t persistent_bytes;
  std::uint32_t is_vector;
  std::uint32_t unused = 0;
};
static_assert(sizeof(am_types) == 40);

}  // namespace amity::mpi
