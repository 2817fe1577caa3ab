/// A program that opens an MPI for itself alone, as an interpreter does: mpi_opened LIBRARY. amity::run finds it.

#include <dlfcn.h>

#include <cstdio>

#include "amity/amity.hpp"

int main(int argc, char** argv) {
  if (argc < 2 || ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) == nullptr) {
    std::fprintf(stderr, "mpi_opened: no library is opened: %s\n", argc < 2 ? "none is named" : ::dlerror());
    return 2;
  }
  return amity::run(argc, argv, [](amity::world& w) { std::printf("rank %d of %d\n", w.rank(), w.size()); });
}
