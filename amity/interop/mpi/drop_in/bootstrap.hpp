#pragma once

/// The start-up of a job inside an MPI program: its processes find one another by the MPI's own collectives.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <mpi.h>

#include "amity/base/settings.hpp"
#include "amity/fabric/bootstrap.hpp"

namespace amity::mpi {

/// The processes of MPI_COMM_WORLD, which the launcher of the MPI watches. Used by one thread, between MPI_Init and
/// MPI_Finalize.
class bootstrap final : public fabric::bootstrap {
 public:
  /// Collective. Throws `error`.
  explicit bootstrap(const settings& config);
  ~bootstrap() override;

  rank_t rank() const noexcept override { return rank_; }
  rank_t size() const noexcept override { return size_; }
  std::vector<std::string> all_gather(std::string_view mine) override;

  /// Whether the library is switched on, if it is so on this process: the same on all processes. If they differ,
  /// process 0 throws `error` for all, which ends the job; the others do not return. Collective; the first call of a
  /// process, also if the library is switched off. Throws `error`.
  bool is_switched_on(bool here);

  /// Describes the first process that represents data in another way than process 0, or has another version of this
  /// library; nothing: all are equal. The same on all processes. It is the first call of `all_gather`, so that versions
  /// differ in nothing before it. Collective. Throws `error`.
  std::optional<std::string> find_difference();

  /// Lets the MPI continue what the program has begun. Any thread that may call MPI.
  void poll_mpi() noexcept;

 private:
  MPI_Comm world_ = MPI_COMM_NULL;  ///< a duplicate, whose errors are returned
  rank_t rank_ = 0;
  rank_t size_ = 1;
};

}  // namespace amity::mpi
