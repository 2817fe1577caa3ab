#include "amity/interop/mpi/drop_in/predefined_types.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

#include "amity/base/assert.hpp"
#include "amity/interop/mpi/drop_in/type_contents.hpp"

namespace amity::mpi {
namespace {

using element = std::optional<element_type>;

/// The integer of `bytes` bytes, which has the index of its size among four.
element integer_of(std::size_t bytes, element_type of_1_byte) {
  for (std::uint8_t index = 0; index < 4; ++index) {
    if (bytes == std::size_t{1} << index)
      return static_cast<element_type>(static_cast<std::uint8_t>(of_1_byte) + index);
  }
  return std::nullopt;
}
static_assert(static_cast<int>(element_type::int64) == static_cast<int>(element_type::int8) + 3);
static_assert(static_cast<int>(element_type::uint64) == static_cast<int>(element_type::uint8) + 3);

// The element of a type of `bytes` bytes.
element signed_integer(std::size_t bytes) { return integer_of(bytes, element_type::int8); }
element unsigned_integer(std::size_t bytes) { return integer_of(bytes, element_type::uint8); }
element c_real(std::size_t bytes) {
  if (bytes == sizeof(float)) return element_type::float32;
  if (bytes == sizeof(double)) return element_type::float64;
  return bytes == sizeof(long double) ? element(element_type::long_double) : std::nullopt;
}
element fortran_real(std::size_t bytes) {
  return bytes == sizeof(float128_t) ? element_type_of<float128_t> : c_real(bytes);
}
element c_complex(std::size_t bytes) {
  if (bytes == 2 * sizeof(float)) return element_type::complex32;
  if (bytes == 2 * sizeof(double)) return element_type::complex64;
  return bytes == 2 * sizeof(long double) ? element(element_type::complex_long_double) : std::nullopt;
}
element fortran_complex(std::size_t bytes) {
  return bytes == 2 * sizeof(float128_t) ? element_type_of<std::complex<float128_t>> : c_complex(bytes);
}
element boolean(std::size_t bytes) { return bytes == 1 ? element(element_type::boolean) : signed_integer(bytes); }
element single_byte(std::size_t bytes) { return bytes == 1 ? element(element_type::byte) : std::nullopt; }
/// An element that is replaced as a whole.
element opaque(std::size_t bytes) {
  if (const element small = unsigned_integer(bytes)) return small;
  return c_complex(bytes);
}

struct named_type {
  std::string_view name;
  MPI_Datatype handle;
  type_category category;
  element (*element_of)(std::size_t bytes);
};

struct named_pair {
  std::string_view name;
  MPI_Datatype handle;
  element_type type;
  layout data;
};

template <class Value, class Location>
named_pair pair_of(std::string_view name, MPI_Datatype handle) {
  using pair = value_location<Value, Location>;
  return {name, handle, element_type_of<pair>,
          layout::indexed({{offsetof(pair, value), sizeof(Value)}, {offsetof(pair, location), sizeof(Location)}})};
}

// Handles are no constants: in some MPIs they are addresses.
auto named_types() {
  using enum type_category;
  return std::to_array<named_type>({
      {"MPI_CHAR", MPI_CHAR, c_integer, signed_integer},
      {"MPI_SIGNED_CHAR", MPI_SIGNED_CHAR, c_integer, signed_integer},
      {"MPI_UNSIGNED_CHAR", MPI_UNSIGNED_CHAR, c_integer, unsigned_integer},
      {"MPI_SHORT", MPI_SHORT, c_integer, signed_integer},
      {"MPI_UNSIGNED_SHORT", MPI_UNSIGNED_SHORT, c_integer, unsigned_integer},
      {"MPI_INT", MPI_INT, c_integer, signed_integer},
      {"MPI_UNSIGNED", MPI_UNSIGNED, c_integer, unsigned_integer},
      {"MPI_LONG", MPI_LONG, c_integer, signed_integer},
      {"MPI_UNSIGNED_LONG", MPI_UNSIGNED_LONG, c_integer, unsigned_integer},
      {"MPI_LONG_LONG_INT", MPI_LONG_LONG_INT, c_integer, signed_integer},
      {"MPI_LONG_LONG", MPI_LONG_LONG, c_integer, signed_integer},
      {"MPI_UNSIGNED_LONG_LONG", MPI_UNSIGNED_LONG_LONG, c_integer, unsigned_integer},
      {"MPI_INT8_T", MPI_INT8_T, c_integer, signed_integer},
      {"MPI_INT16_T", MPI_INT16_T, c_integer, signed_integer},
      {"MPI_INT32_T", MPI_INT32_T, c_integer, signed_integer},
      {"MPI_INT64_T", MPI_INT64_T, c_integer, signed_integer},
      {"MPI_UINT8_T", MPI_UINT8_T, c_integer, unsigned_integer},
      {"MPI_UINT16_T", MPI_UINT16_T, c_integer, unsigned_integer},
      {"MPI_UINT32_T", MPI_UINT32_T, c_integer, unsigned_integer},
      {"MPI_UINT64_T", MPI_UINT64_T, c_integer, unsigned_integer},
      {"MPI_FLOAT", MPI_FLOAT, floating_point, c_real},
      {"MPI_DOUBLE", MPI_DOUBLE, floating_point, c_real},
      {"MPI_LONG_DOUBLE", MPI_LONG_DOUBLE, floating_point, c_real},
      {"MPI_C_BOOL", MPI_C_BOOL, logical, boolean},
      {"MPI_C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, complex, c_complex},
      {"MPI_C_COMPLEX", MPI_C_COMPLEX, complex, c_complex},
      {"MPI_C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, complex, c_complex},
      {"MPI_C_LONG_DOUBLE_COMPLEX", MPI_C_LONG_DOUBLE_COMPLEX, complex, c_complex},
      {"MPI_BYTE", MPI_BYTE, byte, single_byte},
      {"MPI_PACKED", MPI_PACKED, other, single_byte},
      {"MPI_WCHAR", MPI_WCHAR, other, opaque},
      {"MPI_AINT", MPI_AINT, multi_language, signed_integer},
      {"MPI_OFFSET", MPI_OFFSET, multi_language, signed_integer},
      {"MPI_COUNT", MPI_COUNT, multi_language, signed_integer},
#ifdef MPI_CXX_BOOL
      {"MPI_CXX_BOOL", MPI_CXX_BOOL, logical, boolean},
      {"MPI_CXX_FLOAT_COMPLEX", MPI_CXX_FLOAT_COMPLEX, complex, c_complex},
      {"MPI_CXX_DOUBLE_COMPLEX", MPI_CXX_DOUBLE_COMPLEX, complex, c_complex},
      {"MPI_CXX_LONG_DOUBLE_COMPLEX", MPI_CXX_LONG_DOUBLE_COMPLEX, complex, c_complex},
#endif
#ifdef MPI_CXX_COMPLEX
      {"MPI_CXX_COMPLEX", MPI_CXX_COMPLEX, complex, c_complex},
#endif
#ifdef MPIX_C_FLOAT16
      {"MPIX_C_FLOAT16", MPIX_C_FLOAT16, other, opaque},
#endif
      {"MPI_CHARACTER", MPI_CHARACTER, c_integer, signed_integer},
      {"MPI_LOGICAL", MPI_LOGICAL, logical, signed_integer},
      {"MPI_INTEGER", MPI_INTEGER, fortran_integer, signed_integer},
      {"MPI_REAL", MPI_REAL, floating_point, fortran_real},
      {"MPI_DOUBLE_PRECISION", MPI_DOUBLE_PRECISION, floating_point, fortran_real},
      {"MPI_COMPLEX", MPI_COMPLEX, complex, fortran_complex},
      {"MPI_DOUBLE_COMPLEX", MPI_DOUBLE_COMPLEX, complex, fortran_complex},
#ifdef MPI_LOGICAL1
      {"MPI_LOGICAL1", MPI_LOGICAL1, logical, signed_integer},
#endif
#ifdef MPI_LOGICAL2
      {"MPI_LOGICAL2", MPI_LOGICAL2, logical, signed_integer},
#endif
#ifdef MPI_LOGICAL4
      {"MPI_LOGICAL4", MPI_LOGICAL4, logical, signed_integer},
#endif
#ifdef MPI_LOGICAL8
      {"MPI_LOGICAL8", MPI_LOGICAL8, logical, signed_integer},
#endif
#ifdef MPI_LOGICAL16
      {"MPI_LOGICAL16", MPI_LOGICAL16, other, opaque},
#endif
#ifdef MPI_INTEGER1
      {"MPI_INTEGER1", MPI_INTEGER1, fortran_integer, signed_integer},
#endif
#ifdef MPI_INTEGER2
      {"MPI_INTEGER2", MPI_INTEGER2, fortran_integer, signed_integer},
#endif
#ifdef MPI_INTEGER4
      {"MPI_INTEGER4", MPI_INTEGER4, fortran_integer, signed_integer},
#endif
#ifdef MPI_INTEGER8
      {"MPI_INTEGER8", MPI_INTEGER8, fortran_integer, signed_integer},
#endif
#ifdef MPI_INTEGER16
      {"MPI_INTEGER16", MPI_INTEGER16, other, opaque},
#endif
#ifdef MPI_REAL2
      {"MPI_REAL2", MPI_REAL2, other, opaque},
#endif
#ifdef MPI_REAL4
      {"MPI_REAL4", MPI_REAL4, floating_point, fortran_real},
#endif
#ifdef MPI_REAL8
      {"MPI_REAL8", MPI_REAL8, floating_point, fortran_real},
#endif
#ifdef MPI_REAL16
      {"MPI_REAL16", MPI_REAL16, floating_point, fortran_real},
#endif
#ifdef MPI_COMPLEX4
      {"MPI_COMPLEX4", MPI_COMPLEX4, other, opaque},
#endif
#ifdef MPI_COMPLEX8
      {"MPI_COMPLEX8", MPI_COMPLEX8, complex, fortran_complex},
#endif
#ifdef MPI_COMPLEX16
      {"MPI_COMPLEX16", MPI_COMPLEX16, complex, fortran_complex},
#endif
#ifdef MPI_COMPLEX32
      {"MPI_COMPLEX32", MPI_COMPLEX32, complex, fortran_complex},
#endif
#ifdef MPI_2COMPLEX
      {"MPI_2COMPLEX", MPI_2COMPLEX, other, opaque},
#endif
#ifdef MPI_2DOUBLE_COMPLEX
      {"MPI_2DOUBLE_COMPLEX", MPI_2DOUBLE_COMPLEX, other, opaque},
#endif
  });
}

auto named_pairs() {
  return std::to_array<named_pair>({
      pair_of<float, int>("MPI_FLOAT_INT", MPI_FLOAT_INT),
      pair_of<double, int>("MPI_DOUBLE_INT", MPI_DOUBLE_INT),
      pair_of<long, int>("MPI_LONG_INT", MPI_LONG_INT),
      pair_of<int, int>("MPI_2INT", MPI_2INT),
      pair_of<short, int>("MPI_SHORT_INT", MPI_SHORT_INT),
      pair_of<long double, int>("MPI_LONG_DOUBLE_INT", MPI_LONG_DOUBLE_INT),
      pair_of<float, float>("MPI_2REAL", MPI_2REAL),
      pair_of<double, double>("MPI_2DOUBLE_PRECISION", MPI_2DOUBLE_PRECISION),
      pair_of<int, int>("MPI_2INTEGER", MPI_2INTEGER),
  });
}

}  // namespace

std::string_view name_of(type_category category) noexcept {
  switch (category) {
    case type_category::c_integer:
      return "C integer";
    case type_category::fortran_integer:
      return "Fortran integer";
    case type_category::floating_point:
      return "floating point";
    case type_category::logical:
      return "logical";
    case type_category::complex:
      return "complex";
    case type_category::byte:
      return "byte";
    case type_category::multi_language:
      return "multi-language";
    case type_category::pair:
      return "pair of value and location";
    case type_category::other:
      break;
  }
  return "type without reductions";
}

predefined_types::predefined_types() {
  for (const named_type& each : named_types()) {
    if (each.handle == MPI_DATATYPE_NULL) continue;
    const std::size_t bytes = size_of(each.handle);
    std::optional<element_kind> kind;
    if (const element type = each.element_of(bytes)) kind = element_kind{*type, each.category};
    add({each.name, each.handle, bytes, layout::contiguous(bytes), kind});
  }
  for (const named_pair& each : named_pairs()) {
    if (each.handle == MPI_DATATYPE_NULL) continue;
    const std::size_t bytes = size_of(each.handle);
    // An option of a Fortran compiler can make its pairs larger than those of C.
    if (bytes == each.data.bytes()) {
      add({each.name, each.handle, bytes, each.data, element_kind{each.type, type_category::pair}});
    } else {
      add({each.name, each.handle, bytes, layout::contiguous(bytes), std::nullopt});
    }
  }
  fill_slots();
}

void predefined_types::add(predefined_type type) {
  if (std::ranges::find(all_, type.handle, &predefined_type::handle) == all_.end()) all_.push_back(std::move(type));
}

void predefined_types::fill_slots() {
  AMITY_ASSERT(all_.size() < slots, "{} predefined types", all_.size());
  index_by_slot_.fill(static_cast<std::uint8_t>(all_.size()));
  for (std::size_t index = 0; index < all_.size(); ++index) {
    std::size_t at = slot_of(all_[index].handle);
    while (index_by_slot_[at] != all_.size()) at = (at + 1) % slots;
    index_by_slot_[at] = static_cast<std::uint8_t>(index);
  }
}

std::optional<element_kind> kind_of_f90_type(int combiner, MPI_Count precision, std::size_t bytes) noexcept {
  // REAL(10) has 64 binary digits in 16 bytes, REAL(16) has 113. MPI chooses the smallest sufficient type.
  const bool is_long_double = precision == MPI_UNDEFINED || precision <= std::numeric_limits<long double>::digits10;
  element type;
  type_category category = type_category::fortran_integer;
  if (combiner == MPI_COMBINER_F90_REAL) {
    type = is_long_double ? c_real(bytes) : fortran_real(bytes);
    category = type_category::floating_point;
  } else if (combiner == MPI_COMBINER_F90_COMPLEX) {
    type = is_long_double ? c_complex(bytes) : fortran_complex(bytes);
    category = type_category::complex;
  } else {
    type = signed_integer(bytes);
  }
  if (!type) return std::nullopt;
  return element_kind{*type, category};
}

}  // namespace amity::mpi
