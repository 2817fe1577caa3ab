#pragma once

/// Ranks that an MPI has started: any MPI-3, over its point-to-point messages. The library of the MPI is loaded when
/// the fabric is chosen, through a module that is compiled for that MPI (module.h).
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
#include <string_view>
#include <vector>

#include "amity/base/settings.hpp"
#include "amity/fabric/fabric.hpp"
#include "amity/fabric/mpi/choice.hpp"

namespace amity::fabric::mpi {

/// Name and version of each MPI that a module is found for: "Open MPI v4.1.4". Loads the modules.
std::vector<std::string> installed();

/// Why `job::of_launcher` would find no MPI for this process; empty if it would find one. Loads the module of the MPI.
std::string why_unavailable(const settings& config);

/// What this fabric can do with the given settings, over one of these MPIs.
capabilities describe(const settings& config, std::string_view mpis);

/// This process in a job whose processes are those of a communicator.
class job {
 public:
  /// The processes that MPI's launcher has started; their number must equal AMITY_RANKS if that is set. Chooses and
  /// loads the MPI (choice.hpp). Initializes MPI unless the program has done so; the destructor finalizes MPI only if
  /// it was initialized here. Collective. Throws `error`:
  /// - if the MPI cannot be chosen or loaded;
  /// - if MPI does not provide the thread level that `threads` lanes need, or has been finalized;
  /// - if a launcher has started several processes, but this MPI sees one process only.
  static std::unique_ptr<job> of_launcher(const settings& config, rank_t threads);

  /// The processes of a communicator of the program, given by its Fortran handle (MPI_Comm_c2f) of the MPI that the
  /// program is compiled with. Collective over the communicator. Throws `error`.
  static std::unique_ptr<job> of_communicator(int handle, family compiled_with, const settings& config, rank_t threads);

  virtual ~job() = default;

  /// The MPI, and why it was chosen: "Open MPI v4.1.4: AMITY_MPI_LIBRARY=openmpi".
  virtual std::string mpi() const = 0;
  /// To be printed if AMITY_MPI_LIBRARY is ignored; otherwise empty.
  virtual const std::string& warning() const noexcept = 0;

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

/// Whether the calling thread is inside a call of an MPI. Slow: it looks through the stack.
bool is_inside_mpi();

}  // namespace amity::fabric::mpi
