#include "amity/interop/mpi/drop_in/tool_function.hpp"

#include <dlfcn.h>

#include <cstring>

#include "amity/interop/mpi/drop_in/loaded_object.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {
void* find_tool(const char* name) noexcept {
  void* const next = ::dlsym(RTLD_NEXT, name);
  const void* const owner = loaded_object_at(next);
  if (owner == nullptr || owner == loaded_object_at(reinterpret_cast<const void*>(&find_tool))) return nullptr;
  // An MPI may have its MPI_X and PMPI_X in two libraries. No tool has functions of the tools interface.
  const bool is_mpi = owner == loaded_object_at(find_native(name + std::strlen("MPI_"))) ||
                      owner == loaded_object_at(::dlsym(RTLD_NEXT, "MPI_T_init_thread"));
  return is_mpi ? nullptr : next;
}

}  // namespace amity::mpi
