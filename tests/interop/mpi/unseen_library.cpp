/// A program that is not linked with an MPI, and opens one for itself alone: unseen_library LIBRARY. Functions of the
/// MPI are found.

#include <dlfcn.h>

#include <cstdio>
#include <string>

#include <mpi.h>

#include "amity/interop/mpi/drop_in/native.hpp"

int main(int argc, char** argv) {
  amity::mpi::native_function<decltype(&MPI_Get_library_version)> version("Get_library_version");
  if (version) {
    std::fprintf(stderr, "unseen_library: a function is found before the library is opened\n");
    return 1;
  }
  if (argc < 2 || ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) == nullptr) {
    std::fprintf(stderr, "unseen_library: the library cannot be opened\n");
    return 2;
  }
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  if (version(text.data(), &length) != MPI_SUCCESS) return 3;
  std::printf("unseen_library: %s\n", text.c_str());
}
