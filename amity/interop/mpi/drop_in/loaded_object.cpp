#include "amity/interop/mpi/drop_in/loaded_object.hpp"

#include <cstdint>
#include <string_view>

#include <dlfcn.h>

#include <fmt/format.h>

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

std::string describe_function(const void* address) {
  Dl_info found{};
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  if (::dladdr(address, &found) == 0) return fmt::format("at {:#x}", place);
  if (found.dli_sname != nullptr && found.dli_saddr == address) return fmt::format("'{}'", found.dli_sname);
  const std::string_view path = found.dli_fname;
  return fmt::format("at {}+{:#x}", path.substr(path.rfind('/') + 1),
                     place - reinterpret_cast<std::uintptr_t>(found.dli_fbase));
}

}  // namespace amity::mpi
