#include "amity/interop/mpi/drop_in/pointer_checks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include <fmt/format.h>

namespace amity::mpi {
namespace {

/// True where the system does not answer.
bool is_mapped(std::uintptr_t address) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  unsigned char is_resident = 0;
  return ::mincore(reinterpret_cast<void*>(address & ~(page - 1)), 1, &is_resident) == 0 || errno != ENOMEM;
}

}  // namespace

void check_mapped(const void* address, std::size_t bytes, int error_class) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address), last = begin + (bytes - 1);
  if (last >= begin && is_mapped(begin) && is_mapped(last)) return;
  throw mpi_error(error_class, fmt::format("the process has no memory of {} bytes at address {:#x}", bytes, begin),
                  "pass the address and the size of memory that is allocated");
}

}  // namespace amity::mpi
