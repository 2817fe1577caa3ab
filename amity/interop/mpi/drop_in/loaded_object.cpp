#include "amity/interop/mpi/drop_in/loaded_object.hpp"

#include <dlfcn.h>

namespace amity::mpi {

const void* loaded_object_at(const void* address) noexcept {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  // glibc since 2.35. dladdr looks at all symbols of the object: that takes 10 us for an MPI.
  dl_find_object object;
  return ::_dl_find_object(const_cast<void*>(address), &object) == 0 ? object.dlfo_map_start : nullptr;
#else
  Dl_info object{};
  return address == nullptr || ::dladdr(address, &object) == 0 ? nullptr : object.dli_fbase;
#endif
}

}  // namespace amity::mpi
