/// Stands in for the fabric where amity is built without MPI.

#include "amity/base/error.hpp"
#include "amity/fabric/mpi/mpi.hpp"

namespace amity::fabric::mpi {
namespace {

[[noreturn]] void refuse() {
  throw error("AMITY_FABRIC=mpi", no_rank, "this amity was built without MPI",
              "build it with -DAMITY_MPI=ON, where the library and the compiler wrapper of an MPI are installed");
}

}  // namespace

bool available() noexcept { return false; }
std::string library() { return ""; }
capabilities describe(const settings&) { refuse(); }
std::unique_ptr<job> job::of_launcher(const settings&, rank_t) { refuse(); }
std::unique_ptr<job> job::of_communicator(int, const settings&, rank_t) { refuse(); }

}  // namespace amity::fabric::mpi
