#include "amity/interop/mpi/drop_in/type_maker.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"
#include "amity/interop/mpi/drop_in/type_arguments.hpp"
#include "amity/interop/mpi/drop_in/type_contents.hpp"

namespace amity::mpi {

#if MPI_VERSION < 4
// Without functions for large counts, the others are called for all counts.
namespace native {
constexpr auto& type_contiguous_c = type_contiguous;
constexpr auto& type_create_darray_c = type_create_darray;
constexpr auto& type_create_hindexed_block_c = type_create_hindexed_block;
constexpr auto& type_create_hindexed_c = type_create_hindexed;
constexpr auto& type_create_hvector_c = type_create_hvector;
constexpr auto& type_create_indexed_block_c = type_create_indexed_block;
constexpr auto& type_create_struct_c = type_create_struct;
constexpr auto& type_create_subarray_c = type_create_subarray;
constexpr auto& type_indexed_c = type_indexed;
constexpr auto& type_vector_c = type_vector;
}  // namespace native
#endif

namespace {

/// MPICH makes arrays without items, and ignores the block of a dimension that is not distributed.
#ifdef OPEN_MPI
constexpr bool is_strict_on_arrays = true;
#else
constexpr bool is_strict_on_arrays = false;
#endif
constexpr MPI_Count array_length_min = is_strict_on_arrays ? 1 : 0;

using number_list = std::span<const MPI_Count>;

void require(bool is_valid, std::string_view problem) {
  if (!is_valid)
    throw mpi_error(MPI_ERR_INTERN, fmt::format("invalid arguments of a data type: {}", problem),
                    "report this to amity");
}

/// An argument for a parameter of a function of the MPI. Numbers may be too large for the parameter.
template <class Parameter>
class argument {
 public:
  explicit argument(Parameter given) : value_(given) {}
  static bool fits(Parameter) { return true; }
  Parameter get() const { return value_; }

 private:
  Parameter value_;
};

template <std::integral Number>
class argument<Number> {
 public:
  explicit argument(MPI_Count given) : value_(static_cast<Number>(given)) {}
  static bool fits(MPI_Count given) { return std::in_range<Number>(given); }
  Number get() const { return value_; }

 private:
  Number value_;
};

template <std::integral Number>
class argument<const Number*> {
 public:
  explicit argument(number_list given) {
    copy_.reserve(given.size());
    for (const MPI_Count each : given) copy_.push_back(static_cast<Number>(each));
    value_ = copy_.data();
  }
  /// Handles, in MPIs whose handles are integers.
  explicit argument(const Number* given) : value_(given) {}
  static bool fits(number_list given) { return std::ranges::all_of(given, argument<Number>::fits); }
  static bool fits(const Number*) { return true; }
  const Number* get() const { return value_; }

 private:
  std::vector<Number> copy_;
  const Number* value_;
};

/// Calls the function. Returns false if its parameters are too small.
template <class... Parameters, class... Given>
bool try_call(native_function<int (*)(Parameters...)>& function, const Given&... given) {
  if (!(argument<Parameters>::fits(given) && ...)) return false;
  check_native(function(argument<Parameters>(given).get()...), function.name());
  return true;
}

// Bytes are computed as floating-point numbers, which large products do not overflow.
double real(MPI_Count number) { return static_cast<double>(number); }

/// Where a type has data and bounds.
struct type_span {
  explicit type_span(MPI_Datatype of) : bytes(static_cast<double>(size_of(of))) {
    const type_extent bounds = extent_of(of);
    extent = std::abs(real(bounds.extent));
    note(bounds);
    // Open MPI has no true extent of types without data.
    if (bytes > 0) note(true_extent_of(of));
  }

  double bytes;
  double extent;     ///< without its sign
  double reach = 0;  ///< how far from the address of a buffer

 private:
  void note(const type_extent& bounds) {
    const auto begin = real(bounds.lower_bound), length = real(bounds.extent);
    reach = std::max({reach, std::abs(begin), std::abs(begin + length)});
  }
};

class type_maker {
 public:
  type_maker(number_list numbers, std::span<const MPI_Datatype> parts) : arguments_(numbers), parts_(parts) {}

  /// In which displacements are given.
  enum class unit { byte, extent };

  made_type duplicate() {
    const MPI_Datatype part = only_part();
    if (!type_contents(part).is_predefined()) return own(native::type_dup, native::type_dup, part);
    const made_type one = own(native::type_contiguous, native::type_contiguous, MPI_Count{1}, part);
    return own(native::type_dup, native::type_dup, one.get());
  }

  made_type resized() {
    const MPI_Count lower_bound = arguments_.next(), extent = arguments_.next();
    require(std::abs(real(lower_bound)) + std::abs(real(extent)) <= bytes_max, "too large an extent");
    return own(native::type_create_resized, native::type_create_resized, only_part(), lower_bound, extent);
  }

  made_type contiguous() {
    const MPI_Count count = next_count();
    add_blocks(1, real(count), 0, type_span(only_part()));
    return own(native::type_contiguous, native::type_contiguous_c, count, only_part());
  }

  made_type vector(auto& function, auto& function_for_large_counts, unit of) {
    const MPI_Count count = next_count(), length = next_count(), stride = arguments_.next();
    const type_span item(only_part());
    add_blocks(real(count), real(length), real(count) * real(stride) * bytes_of(of, item), item);
    return own(function, function_for_large_counts, count, length, stride, only_part());
  }

  made_type indexed(auto& function, auto& function_for_large_counts, unit of) {
    const MPI_Count count = next_count();
    const number_list lengths = arguments_.list(count), displacements = arguments_.list(count);
    const type_span item(only_part());
    for (std::size_t i = 0; i < lengths.size(); ++i)
      add_blocks(1, real(lengths[i]), real(displacements[i]) * bytes_of(of, item), item);
    return own(function, function_for_large_counts, count, lengths, displacements, only_part());
  }

  made_type indexed_block(auto& function, auto& function_for_large_counts, unit of) {
    const MPI_Count count = next_count(), length = next_count();
    const number_list displacements = arguments_.list(count);
    const type_span item(only_part());
    for (const MPI_Count each : displacements) add_blocks(1, real(length), real(each) * bytes_of(of, item), item);
    return own(function, function_for_large_counts, count, length, displacements, only_part());
  }

  made_type structure() {
    const MPI_Count count = next_count();
    const number_list lengths = arguments_.list(count), displacements = arguments_.list(count);
    require(parts_.size() == lengths.size(), "not one type for each block");
    for (std::size_t i = 0; i < lengths.size(); ++i)
      add_blocks(1, real(lengths[i]), real(displacements[i]), type_span(parts_[i]));
    return own(native::type_create_struct, native::type_create_struct_c, count, lengths, displacements, parts_.data());
  }

  made_type subarray() {
    const MPI_Count dimensions = arguments_.next();
    const number_list sizes = arguments_.list(dimensions), selected = arguments_.list(dimensions),
                      starts = arguments_.list(dimensions);
    const MPI_Count order = arguments_.next();
    require_order(order);
    require(dimensions > 0, "no dimension");
    double items = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      require(selected[i] >= array_length_min && selected[i] <= sizes[i] && starts[i] >= 0 &&
                  starts[i] <= sizes[i] - selected[i],
              "not a part of an array");
      items *= real(sizes[i]);
    }
    add_blocks(1, items, 0, type_span(only_part()));
    return own(native::type_create_subarray, native::type_create_subarray_c, dimensions, sizes, selected, starts, order,
               only_part());
  }

  made_type darray() {
    const MPI_Count all_processes = arguments_.next(), rank = arguments_.next(), dimensions = arguments_.next();
    const number_list sizes = arguments_.list(dimensions), distributions = arguments_.list(dimensions),
                      blocks = arguments_.list(dimensions), processes = arguments_.list(dimensions);
    const MPI_Count order = arguments_.next();
    require_order(order);
    require(dimensions > 0, "no dimension");
    double items = 1, processes_of_all = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      items *= distributed_items(sizes[i], distributions[i], blocks[i], processes[i]);
      processes_of_all *= real(processes[i]);
    }
    require(rank >= 0 && rank < all_processes && processes_of_all == real(all_processes),
            "not a rank of the processes");
    add_blocks(1, items, 0, type_span(only_part()));
    return own(native::type_create_darray, native::type_create_darray_c, all_processes, rank, dimensions, sizes,
               distributions, blocks, processes, order, only_part());
  }

  made_type precision(auto& function) {
    const MPI_Count digits = arguments_.next(), exponent = arguments_.next();
    require((digits != MPI_UNDEFINED || exponent != MPI_UNDEFINED) && digits <= digits_max && exponent <= exponent_max,
            "a precision that no type has");
    return predefined(function, digits, exponent);
  }

  made_type integer_range() {
    const MPI_Count digits = arguments_.next();
    require(digits <= integer_digits_max, "a range that no type has");
    return predefined(native::type_create_f90_integer, digits);
  }

 private:
  static constexpr double bytes_max = 0x1p62;
  // Those of REAL(16) and INTEGER(16).
  static constexpr MPI_Count digits_max = 33, exponent_max = 4931, integer_digits_max = 38;

  MPI_Datatype only_part() const {
    require(parts_.size() == 1, "not one type");
    return parts_.front();
  }

  MPI_Count next_count() {
    const MPI_Count count = arguments_.next();
    require(count >= 0, "a negative count");
    return count;
  }

  /// Adds `count` blocks to the size, each of `length` items and at most `offset` bytes from the address of a buffer.
  void add_blocks(double count, double length, double offset, const type_span& item) {
    bytes_ += count * length * item.bytes;
    require(length >= 0 && bytes_ <= bytes_max && std::abs(offset) + length * item.extent + item.reach <= bytes_max,
            "too many bytes");
  }

  /// Calls the first function that has parameters of sufficient size.
  MPI_Datatype call(auto& function, auto& function_for_large_counts, const auto&... given) const {
    require(arguments_.is_at_end(), "too many numbers");
    MPI_Datatype made = MPI_DATATYPE_NULL;
    require(try_call(function, given..., &made) || try_call(function_for_large_counts, given..., &made),
            "a number that the MPI cannot represent");
    return made;
  }
  made_type own(auto& function, auto& function_for_large_counts, const auto&... given) const {
    return {call(function, function_for_large_counts, given...), made_type::lifetime::owned};
  }

  static double bytes_of(unit of, const type_span& item) { return of == unit::extent ? item.extent : 1; }

  static void require_order(MPI_Count order) {
    require(order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN, "not an order of dimensions");
  }

  /// Items in one dimension of an array that `processes` share. The last block may be longer than the rest of it.
  static double distributed_items(MPI_Count size, MPI_Count distribution, MPI_Count block, MPI_Count processes) {
    require(size >= array_length_min && processes > 0, "an empty dimension");
    const auto items = real(size);
    if (distribution == MPI_DISTRIBUTE_NONE) {
      require(processes == 1, "a dimension that is shared and not distributed");
      require(!is_strict_on_arrays || block == MPI_DISTRIBUTE_DFLT_DARG || block >= 0, "a negative block");
      return items;
    }
    require(distribution == MPI_DISTRIBUTE_BLOCK || distribution == MPI_DISTRIBUTE_CYCLIC, "not a distribution");
    if (block == MPI_DISTRIBUTE_DFLT_DARG) return items;
    require(block > 0, "an empty block");
    const double in_blocks = real(block) * real(processes);
    require(distribution == MPI_DISTRIBUTE_CYCLIC || in_blocks >= items, "too few blocks");
    return std::max(in_blocks, items);
  }

  made_type predefined(auto& function, const auto&... given) {
    require(parts_.empty(), "too many types");
    return {call(function, function, given...), made_type::lifetime::predefined};
  }

  type_arguments arguments_;
  std::span<const MPI_Datatype> parts_;
  double bytes_ = 0;  ///< of the data, in what `add_blocks` has added
};

using making_function = made_type (*)(type_maker&);

/// Null if there is none.
making_function find_function(int combiner) noexcept {
  using unit = type_maker::unit;
  switch (combiner) {
    case MPI_COMBINER_DUP:
      return [](type_maker& maker) { return maker.duplicate(); };
    case MPI_COMBINER_RESIZED:
      return [](type_maker& maker) { return maker.resized(); };
    case MPI_COMBINER_CONTIGUOUS:
      return [](type_maker& maker) { return maker.contiguous(); };
    case MPI_COMBINER_VECTOR:
      return [](type_maker& maker) { return maker.vector(native::type_vector, native::type_vector_c, unit::extent); };
    case MPI_COMBINER_HVECTOR:
      return [](type_maker& maker) {
        return maker.vector(native::type_create_hvector, native::type_create_hvector_c, unit::byte);
      };
    case MPI_COMBINER_INDEXED:
      return
          [](type_maker& maker) { return maker.indexed(native::type_indexed, native::type_indexed_c, unit::extent); };
    case MPI_COMBINER_HINDEXED:
      return [](type_maker& maker) {
        return maker.indexed(native::type_create_hindexed, native::type_create_hindexed_c, unit::byte);
      };
    case MPI_COMBINER_INDEXED_BLOCK:
      return [](type_maker& maker) {
        return maker.indexed_block(native::type_create_indexed_block, native::type_create_indexed_block_c,
                                   unit::extent);
      };
    case MPI_COMBINER_HINDEXED_BLOCK:
      return [](type_maker& maker) {
        return maker.indexed_block(native::type_create_hindexed_block, native::type_create_hindexed_block_c,
                                   unit::byte);
      };
    case MPI_COMBINER_STRUCT:
      return [](type_maker& maker) { return maker.structure(); };
    case MPI_COMBINER_SUBARRAY:
      return [](type_maker& maker) { return maker.subarray(); };
    case MPI_COMBINER_DARRAY:
      return [](type_maker& maker) { return maker.darray(); };
    case MPI_COMBINER_F90_REAL:
      return [](type_maker& maker) { return maker.precision(native::type_create_f90_real); };
    case MPI_COMBINER_F90_COMPLEX:
      return [](type_maker& maker) { return maker.precision(native::type_create_f90_complex); };
    case MPI_COMBINER_F90_INTEGER:
      return [](type_maker& maker) { return maker.integer_range(); };
    default:
      return nullptr;
  }
}

}  // namespace

bool can_make_type(int combiner) noexcept { return find_function(combiner) != nullptr; }

made_type make_type(int combiner, std::span<const MPI_Count> numbers, std::span<const MPI_Datatype> parts) {
  const making_function make = find_function(combiner);
  if (make == nullptr) refuse_combiner(combiner);
  type_maker maker(numbers, parts);
  return make(maker);
}

}  // namespace amity::mpi
