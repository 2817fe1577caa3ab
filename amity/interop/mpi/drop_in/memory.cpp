/// Functions of MPI that allocate memory. (MPI-3.1, section 8.2; MPI-4.0, section 9.2.)

#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstring>

#include <mpi.h>

#include "amity/interop/mpi/drop_in/calls.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {
namespace {

/// The alignment that the info asks for; 1: it asks for none that is possible.
std::size_t alignment_in(MPI_Info info) {
  if (info == MPI_INFO_NULL) return 1;
  std::array<char, MPI_MAX_INFO_VAL + 1> text{};
  int is_there = 0;
  native::info_get(info, "mpi_minimum_memory_alignment", MPI_MAX_INFO_VAL, text.data(), &is_there);
  std::size_t value = 1;
  if (is_there == 0) return value;
  std::from_chars(text.data(), text.data() + std::strlen(text.data()), value);
  return std::has_single_bit(value) ? value : 1;
}

}  // namespace
}  // namespace amity::mpi

using namespace amity::mpi;

extern "C" {

// The MPI reports arguments that are not possible.
int PMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  drop_in* const own = drop_in::running();
  const bool is_possible = size > 0 && baseptr != nullptr;
  void* const base = own != nullptr && is_possible
                         ? own->memory().allocate(static_cast<std::size_t>(size), alignment_in(info))
                         : nullptr;
  if (base == nullptr) return native::alloc_mem(size, info, baseptr);
  std::memcpy(baseptr, &base, sizeof base);
  return MPI_SUCCESS;
}

int PMPI_Free_mem(void* base) {
  drop_in* const own = drop_in::running();
  return own != nullptr && own->memory().free(base) ? MPI_SUCCESS : native::free_mem(base);
}

}  // extern "C"

AMITY_MPI_EXPORT(Alloc_mem)
AMITY_MPI_EXPORT(Free_mem)
