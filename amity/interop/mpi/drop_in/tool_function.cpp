#include "amity/interop/mpi/drop_in/tool_function.hpp"

#include <dlfcn.h>

#include <cstring>

#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {
namespace {

/// The beginning of the object that has this address; null: none has.
const void* object_of(const void* address) {
  Dl_info object{};
  return address == nullptr || ::dladdr(address, &object) == 0 ? nullptr : object.dli_fbase;
}

}  // namespace

void* find_tool(const char* name) noexcept {
  void* const next = ::dlsym(RTLD_NEXT, name);
  const void* const owner = object_of(next);
  if (owner == nullptr || owner == object_of(reinterpret_cast<const void*>(&find_tool))) return nullptr;
  // An MPI may have its MPI_X and PMPI_X in two libraries. No tool has functions of the tools interface.
  const bool is_mpi = owner == object_of(find_native(name + std::strlen("MPI_"))) ||
                      owner == object_of(::dlsym(RTLD_NEXT, "MPI_T_init_thread"));
  return is_mpi ? nullptr : next;
}

}  // namespace amity::mpi
