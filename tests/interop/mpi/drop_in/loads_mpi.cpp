// A program that is not linked with MPI. It loads the shared library of its argument, with symbols that nothing else
// sees, or the MPI itself, whose functions it then finds by name.

#include <dlfcn.h>

#include <cstdio>
#include <string_view>

#include <mpi.h>

namespace {

constexpr MPI_Aint window_bytes = 8192;  // MPICH 4.0 confuses the memory of smaller ones

void* load(const char* library) {
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) std::fprintf(stderr, "%s\n", ::dlerror());
  return handle;
}

template <class Function>
Function function(void* library, const char* name) {
  return reinterpret_cast<Function>(::dlsym(library, name));
}

#if defined(OPEN_MPI)
// Handles are addresses of objects of the library.
template <class Handle>
Handle handle(void* library, const char* name) {
  return static_cast<Handle>(::dlsym(library, name));
}
#define HANDLE(name, of_open_mpi) handle<decltype(name)>(library, of_open_mpi)
#else
#define HANDLE(name, of_open_mpi) name
#endif
#define CALL(name) function<decltype(&(name))>(library, #name)

int use_mpi(void* library) {
  const MPI_Comm world = HANDLE(MPI_COMM_WORLD, "ompi_mpi_comm_world");
  const MPI_Info no_info = HANDLE(MPI_INFO_NULL, "ompi_mpi_info_null");
  const MPI_Datatype type = HANDLE(MPI_INT, "ompi_mpi_int");
  CALL(MPI_Init)(nullptr, nullptr);
  int own = -1, members = 0;
  CALL(MPI_Comm_rank)(world, &own);
  CALL(MPI_Comm_size)(world, &members);
  int* memory = nullptr;
  MPI_Win win{};
  CALL(MPI_Win_allocate)(window_bytes, sizeof(int), no_info, world, &memory, &win);
  *memory = -1;
  CALL(MPI_Win_fence)(0, win);
  CALL(MPI_Put)(&own, 1, type, (own + 1) % members, 0, 1, type, win);
  CALL(MPI_Win_fence)(0, win);
  const bool is_right = *memory == (own + members - 1) % members;
  CALL(MPI_Win_free)(&win);
  CALL(MPI_Finalize)();
  return is_right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  void* const library = argc > 2 ? load(argv[2]) : nullptr;
  if (library == nullptr) return 2;
  if (std::string_view(argv[1]) == "mpi") return use_mpi(library);
  const auto use_windows = function<int (*)()>(library, "use_windows");
  return use_windows == nullptr ? 2 : use_windows();
}
