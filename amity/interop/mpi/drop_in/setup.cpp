/// Functions of MPI that begin and end its use. (MPI-3.1, section 8.7.)

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/interop/mpi/drop_in/calls.hpp"
#include "amity/interop/mpi/drop_in/datatype.hpp"

namespace amity::mpi {
namespace {

/// Ends the job if `work()` fails: either all processes use the library, or none.
template <class Work>
void must_succeed(Work work) {
  try {
    work();
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "%s\n", failed.what());
    drain_standard_error();
    native::abort(MPI_COMM_WORLD, 1);
  }
}

int end_with_self(MPI_Comm, int, void*, void*) {
  must_succeed([] {
    drop_in::end();
    datatype::release_all();
  });
  return MPI_SUCCESS;
}

#if defined(OPEN_MPI)
constexpr std::string_view served_mpi = "Open MPI";
#elif defined(MPICH)
constexpr std::string_view served_mpi = "MPICH";
#else
constexpr std::string_view served_mpi = "an MPI with the standard ABI";
#endif

/// Whether the handles of the MPI are not those of this library: `amity mpi` may have chosen by the launcher, and a
/// script uses another MPI. Several MPIs share the handles of MPICH.
bool uses_other_handles() {
#if defined(OPEN_MPI) || defined(MPICH)
  return version_of_mpi().starts_with("Open MPI") != (served_mpi == "Open MPI");
#else
  return false;
#endif
}

/// Before MPI is initialized. Ends the process if its MPI has other handles, unless the library is switched off.
void check_handles() {
  if (drop_in::is_switched_off() || !uses_other_handles()) return;
  const error wrong(
      "MPI_Init", no_rank,
      fmt::format("the process has loaded the library of amity for {}, but uses {}", served_mpi, version_of_mpi()),
      "start it with the launcher of its MPI, and name the MPI by `amity mpi --mpi`");
  std::fprintf(stderr, "%s\n", wrong.what());
  std::exit(EXIT_FAILURE);
}

/// Before Open MPI is initialized with so many threads, unless the user has chosen: its windows, which are handles
/// here, are made by the component that needs no memory and no file. Those of the others have names that collide if
/// communicators without common processes make windows at the same time. The component does not permit several threads.
/// The choice stays in the environment, which processes inherit that the program spawns: all processes of a window must
/// make the same one, with the library or without. A process with several threads takes it back.
void choose_windows([[maybe_unused]] int threads) {
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5  // later ones do not have it
  constexpr bool replaces = false;
  constexpr const char *component = "OMPI_MCA_osc", *is_chosen_here = "LIBAMITY_MPI_HAS_CHOSEN_OSC";
  if (threads < MPI_THREAD_MULTIPLE && !drop_in::is_switched_off() && std::getenv(component) == nullptr) {
    ::setenv(component, "pt2pt", replaces);
    ::setenv(is_chosen_here, "1", replaces);
  } else if (threads == MPI_THREAD_MULTIPLE && std::getenv(is_chosen_here) != nullptr) {
    ::unsetenv(component);
    ::unsetenv(is_chosen_here);
  }
#endif
}

/// After MPI has been initialized.
void begin() {
  if (uses_other_handles()) return;
  must_succeed([] {
    int threads = MPI_THREAD_SINGLE, keyval = MPI_KEYVAL_INVALID;
    native::query_thread(&threads);
    drop_in::start(threads);
    if (drop_in::reporting() == nullptr) return;
    // MPI_Finalize first deletes the attributes of this communicator, the latest one first. Functions that the program
    // has set there may still use windows; this one is called after them. (MPI-3.1, section 8.7.1.)
    check_native(native::comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_with_self, &keyval, nullptr),
                 "MPI_Comm_create_keyval");
    check_native(native::comm_set_attr(MPI_COMM_SELF, keyval, nullptr), "MPI_Comm_set_attr");
  });
}

}  // namespace
}  // namespace amity::mpi

using namespace amity::mpi;

extern "C" {

int PMPI_Init(int* argc, char*** argv) {
  check_handles();
  choose_windows(MPI_THREAD_SINGLE);
  const int code = native::init(argc, argv);
  if (code == MPI_SUCCESS) begin();
  return code;
}

int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  check_handles();
  choose_windows(required);
  const int code = native::init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) begin();
  return code;
}

int PMPI_Finalize() { return native::finalize(); }

int PMPI_Abort(MPI_Comm comm, int code) {
  drop_in::note_abort();
  return native::abort(comm, code);
}

}  // extern "C"

AMITY_MPI_EXPORT(Init)
AMITY_MPI_EXPORT(Init_thread)
AMITY_MPI_EXPORT(Finalize)
AMITY_MPI_EXPORT(Abort)
