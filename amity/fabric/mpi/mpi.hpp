#pragma once

/// Ranks that an MPI has started: any MPI-3, over its point-to-point messages.
///
/// A packet is one MPI message: its payload, and its header where that is another than in the packet before. Each lane
/// (a rank of the fabric; a process has one for each of its threads of amity) has a communicator of its own, on which
/// it keeps a ring of receives posted for whoever sends. Credits bound the packets in flight to each peer; they come
/// back in the tags of other packets, or of empty messages.
///
/// Budget of a send: one MPI_Isend and one look whether it is done. No allocation and no lock of amity's own.

#include <functional>
#include <memory>
#include <string>

#include "amity/base/settings.hpp"
#include "amity/fabric/fabric.hpp"

namespace amity::fabric::mpi {

/// Whether this build of amity has an MPI. Without one, what follows throws `error`.
bool available() noexcept;

/// The MPI that amity is built with, name and version: "Open MPI v4.1.4". Legal before MPI is initialised.
std::string library();

/// What this fabric can do with the given settings.
capabilities describe(const settings& config);

/// This process in a job whose processes are those of a communicator.
class job {
 public:
  /// The processes that MPI's launcher has started, as many as AMITY_RANKS says if it is set. Initialises MPI unless
  /// the program has done so; only what was initialised here is finalised, in the destructor. Collective. Throws
  /// `error`:
  /// - where MPI cannot give the thread level that `threads` lanes need, or has been finalised;
  /// - where a launcher has started several processes, but this MPI, which is another one, sees each alone.
  static std::unique_ptr<job> of_launcher(const settings& config, rank_t threads);

  /// The processes of a communicator of the program's, whose Fortran handle this is (MPI_Comm_c2f). Collective over it.
  static std::unique_ptr<job> of_communicator(int handle, const settings& config, rank_t threads);

  virtual ~job() = default;

  /// The rank of this process, and how many processes there are.
  virtual rank_t rank() const noexcept = 0;
  virtual rank_t size() const noexcept = 0;

  /// Runs `lane_main` once for each thread, on threads of this process, thread 0 on the calling one. Returns 0 when all
  /// have returned 0 on all processes: it is collective then. Otherwise returns the first status that is not 0, or
  /// rethrows the first exception, as soon as the threads of this process have ended; the other processes may not know.
  /// Called once.
  virtual int run(const std::function<int(fabric&)>& lane_main) = 0;

  /// Tells the other processes that the job cannot go on: their next waits throw `job_aborted`.
  virtual void abort() noexcept = 0;

  /// Ends all processes of the job at once, this one too, with this exit status.
  virtual void kill(int status) noexcept = 0;
};

}  // namespace amity::fabric::mpi
