#pragma once

/// The predefined data types of MPI, and how accumulates combine elements of them. (MPI-3.1, sections 3.2.2 and 5.9.2.)

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include <mpi.h>

#include "amity/window/accumulate.hpp"
#include "amity/window/layout.hpp"

namespace amity::mpi {

/// The categories of predefined types that the standard defines for reductions.
enum class type_category : std::uint8_t {
  c_integer,  ///< with MPI_CHAR and MPI_CHARACTER, which the standard leaves out and implementations combine
  fortran_integer,
  floating_point,
  logical,
  complex,
  byte,
  multi_language,  ///< MPI_AINT, MPI_OFFSET, MPI_COUNT
  pair,            ///< of a value and a location
  other,           ///< only MPI_REPLACE and MPI_NO_OP: MPI_WCHAR, MPI_PACKED
};
/// "C integer", "pair of value and location".
std::string_view name_of(type_category category) noexcept;

/// What a predefined type is to accumulates. Types that are the same to them, as MPI_LONG and MPI_INT64_T, are equal.
/// Elements of `other` types are elements of an arithmetic type of the same size.
struct element_kind {
  element_type type;
  type_category category;
  bool operator==(const element_kind&) const = default;
};

struct predefined_type {
  std::string_view name;  ///< "MPI_INT"
  MPI_Datatype handle;
  std::size_t bytes;  ///< MPI_Type_size
  layout data;        ///< without the padding of pairs
  /// Empty: no element of an accumulate has this size.
  std::optional<element_kind> kind;
};

/// Handles as keys of tables: integers or addresses, depending on the MPI.
template <class Handle>
std::uint64_t number_of(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::uint64_t>(handle);
  }
}

/// All predefined types that have names. Of several names of one type, the first counts. Does not change: any thread.
class predefined_types {
 public:
  /// MPI must be initialized.
  predefined_types();

  std::size_t size() const noexcept { return all_.size(); }
  const predefined_type& operator[](std::size_t index) const noexcept { return all_[index]; }

  /// The index of a type, or `size()` if it is not one of them.
  std::size_t index_of(MPI_Datatype handle) const noexcept {
    for (std::size_t at = slot_of(handle);; at = (at + 1) % slots) {
      const std::size_t index = index_by_slot_[at];
      if (index == size() || all_[index].handle == handle) return index;
    }
  }
  /// Null if it is not one of them.
  const predefined_type* find(MPI_Datatype handle) const noexcept {
    const std::size_t index = index_of(handle);
    return index == size() ? nullptr : &all_[index];
  }

 private:
  static constexpr std::size_t slots = 256;
  static std::size_t slot_of(MPI_Datatype handle) noexcept {
    return static_cast<std::size_t>(number_of(handle) * 0x9e3779b97f4a7c15 >> 56);  // 256 = 2^(64 - 56)
  }
  void add(predefined_type type);
  void fill_slots();

  std::vector<predefined_type> all_;
  std::array<std::uint8_t, slots> index_by_slot_{};  ///< more slots than types: a search ends
};

/// What accumulates combine of a type that MPI_Type_create_f90_real, _complex or _integer has made: its combiner, the
/// precision that was requested (decimal digits or MPI_UNDEFINED), and its size.
std::optional<element_kind> kind_of_f90_type(int combiner, MPI_Count precision, std::size_t bytes) noexcept;

}  // namespace amity::mpi
