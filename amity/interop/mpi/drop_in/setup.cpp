/// Functions of MPI that begin and end its use. (MPI-3.1, section 8.7.)

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "amity/base/settings.hpp"
#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/calls.hpp"
#include "amity/interop/mpi/drop_in/datatype.hpp"

namespace amity::mpi {
namespace {

/// If the library cannot begin, the job ends: either all processes use it, or none.
void begin() {
  int threads = MPI_THREAD_SINGLE;
  native::query_thread(&threads);
  try {
    drop_in::start(threads);
  } catch (const std::exception& failed) {
    std::fprintf(stderr, "%s\n", failed.what());
    native::abort(MPI_COMM_WORLD, 1);
  }
}

/// While Open MPI is initialized with so many threads, unless the user has chosen: its windows, which are handles here,
/// are made by the component that needs no memory and no file. Those of the others have names that collide if
/// communicators without common processes make windows at the same time. The component does not permit several threads.
class choice_of_windows : private immovable {
 public:
#if defined(OPEN_MPI)
  explicit choice_of_windows(int threads)
      : is_mine_(threads < MPI_THREAD_MULTIPLE && std::getenv(variable) == nullptr &&
                 settings::from_environment().integer("AMITY_MPI") != 0) {
    if (is_mine_) ::setenv(variable, "pt2pt", 1);
  }
  ~choice_of_windows() {
    if (is_mine_) ::unsetenv(variable);
  }

 private:
  static constexpr const char* variable = "OMPI_MCA_osc";
  bool is_mine_;
#else
  explicit choice_of_windows(int) {}
#endif
};

}  // namespace
}  // namespace amity::mpi

using namespace amity::mpi;

extern "C" {

int MPI_Init(int* argc, char*** argv) {
  int code = MPI_SUCCESS;
  {
    const choice_of_windows chosen(MPI_THREAD_SINGLE);
    code = native::init(argc, argv);
  }
  if (code == MPI_SUCCESS) begin();
  return code;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  int code = MPI_SUCCESS;
  {
    const choice_of_windows chosen(required);
    code = native::init_thread(argc, argv, required, provided);
  }
  if (code == MPI_SUCCESS) begin();
  return code;
}

int MPI_Finalize() {
  drop_in::end();
  datatype::release_all();
  return native::finalize();
}

}  // extern "C"

AMITY_MPI_EXPORT(Init)
AMITY_MPI_EXPORT(Init_thread)
AMITY_MPI_EXPORT(Finalize)
