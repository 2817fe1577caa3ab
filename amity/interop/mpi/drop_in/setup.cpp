/// Functions of MPI that begin and end its use. (MPI-3.1, section 8.7.)

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "amity/base/types.hpp"
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

void begin() {
  must_succeed([] {
    int threads = MPI_THREAD_SINGLE, keyval = MPI_KEYVAL_INVALID;
    native::query_thread(&threads);
    drop_in::start(threads);
    if (drop_in::running() == nullptr) return;
    // MPI_Finalize first deletes the attributes of this communicator, the latest one first. Functions that the program
    // has set there may still use windows; this one is called after them. (MPI-3.1, section 8.7.1.)
    check_native(native::comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_with_self, &keyval, nullptr),
                 "MPI_Comm_create_keyval");
    check_native(native::comm_set_attr(MPI_COMM_SELF, keyval, nullptr), "MPI_Comm_set_attr");
  });
}

/// While Open MPI is initialized with so many threads, unless the user has chosen: its windows, which are handles here,
/// are made by the component that needs no memory and no file. Those of the others have names that collide if
/// communicators without common processes make windows at the same time. The component does not permit several threads.
class choice_of_windows : private immovable {
 public:
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5  // later ones do not have it
  explicit choice_of_windows(int threads)
      : is_mine_(threads < MPI_THREAD_MULTIPLE && std::getenv(variable) == nullptr && !is_switched_off()) {
    if (is_mine_) ::setenv(variable, "pt2pt", 1);
  }
  ~choice_of_windows() {
    if (is_mine_) ::unsetenv(variable);
  }

 private:
  static bool is_switched_off() {
    const char* const value = std::getenv("AMITY_MPI");
    return value != nullptr && std::string_view(value) == "0";
  }

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

int PMPI_Init(int* argc, char*** argv) {
  int code = MPI_SUCCESS;
  {
    const choice_of_windows chosen(MPI_THREAD_SINGLE);
    code = native::init(argc, argv);
  }
  if (code == MPI_SUCCESS) begin();
  return code;
}

int PMPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  int code = MPI_SUCCESS;
  {
    const choice_of_windows chosen(required);
    code = native::init_thread(argc, argv, required, provided);
  }
  if (code == MPI_SUCCESS) begin();
  return code;
}

int PMPI_Finalize() { return native::finalize(); }

}  // extern "C"

AMITY_MPI_EXPORT(Init)
AMITY_MPI_EXPORT(Init_thread)
AMITY_MPI_EXPORT(Finalize)
