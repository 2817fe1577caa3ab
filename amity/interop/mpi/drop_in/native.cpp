#include "amity/interop/mpi/drop_in/native.hpp"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "amity/interop/mpi/drop_in/loaded_object.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"

namespace amity::mpi {
namespace {

/// Searches where `handle` says, but not in this library.
void* find_in(void* handle, std::string_view name) {
  const void* const here = loaded_object_at(reinterpret_cast<const void*>(&find_native));
  const auto find_symbol = [&](const std::string& symbol) {
    void* const found = ::dlsym(handle, symbol.c_str());
    return found != nullptr && loaded_object_at(found) != here ? found : nullptr;
  };
  if (name.starts_with("MPII_")) return find_symbol(std::string(name));
  void* const found = find_symbol(fmt::format("PMPI_{}", name));
  return found != nullptr ? found : find_symbol(fmt::format("MPI_{}", name));
}

/// An interpreter loads an MPI for one of its libraries alone: libmpi.so.40, libmpich.so.12, libmpi_abi.so.
void* find_in_unseen_libraries(std::string_view name) {
  // The loader must not be called during the iteration: another thread that loads a library would wait for it.
  std::vector<std::string> paths;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* all) {
        const std::string_view path = info->dlpi_name;
        if (path.substr(path.rfind('/') + 1).starts_with("lib") && path.find("mpi") != std::string_view::npos)
          static_cast<std::vector<std::string>*>(all)->emplace_back(path);
        return 0;
      },
      &paths);
  for (const std::string& path : paths) {
    void* const object = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (object == nullptr) continue;
    void* const found = find_in(object, name);
    ::dlclose(object);  // it stays loaded, as it was
    if (found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace

void* find_native(std::string_view name) noexcept {
  for (void* const handle : std::array{RTLD_NEXT, RTLD_DEFAULT}) {
    if (void* const found = find_in(handle, name)) return found;
  }
  return find_in_unseen_libraries(name);
}

std::string version_of_mpi() {
  // The constant of another MPI can be larger.
  std::string version(std::max<std::size_t>(MPI_MAX_LIBRARY_VERSION_STRING, 8192), '\0');
  int length = 0;
  native::get_library_version(version.data(), &length);
  version.resize(version.find_first_of(std::string_view(",\n\0", 3)));
  std::ranges::replace(version, '\t', ' ');
  return version;
}

void refuse_missing(std::string_view name) {
  throw mpi_error(MPI_ERR_OTHER, fmt::format("no MPI that this process has loaded has a function MPI_{}", name),
                  "link the program with the shared library of the MPI that this library was built for");
}

void check_native(int code, std::string_view function) {
  if (code == MPI_SUCCESS) return;
  int error_class = MPI_ERR_OTHER;
  native::error_class(code, &error_class);
  throw mpi_error(error_class, fmt::format("{} of the MPI has failed with error class {}", function, error_class),
                  "see its description by MPI_Error_string");
}

}  // namespace amity::mpi
