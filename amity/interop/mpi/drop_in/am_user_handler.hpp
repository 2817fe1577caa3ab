#pragma once

/// Handlers of active messages as programs pass them: functions of C or subroutines of Fortran, whose counts are `int`
/// or `MPI_Count`, for plain or vector messages.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include <mpi.h>

#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/fortran_handles.hpp"

namespace amity::mpi {

/// Elements of a segment, or of the persistent buffer.
struct counted_type {
  MPI_Count count;
  MPI_Datatype type;
};

/// One call of a handler.
struct handler_arguments {
  const void* input;
  counted_type input_of;
  void* persistent;
  counted_type persistent_of;
  void* output;
  counted_type output_of;
  MPI_Count segments;
  std::span<std::uint32_t> output_counts;  ///< of a vector message
};

/// Any thread may call it.
class am_user_handler : private immovable {
 public:
  virtual ~am_user_handler() = default;
  virtual void call(const handler_arguments& with) const = 0;

  bool is_vector() const noexcept { return is_vector_; }
  /// The largest number of elements that it can be given.
  MPI_Count count_max() const noexcept { return count_max_; }
  /// Returns the address of the function.
  const void* address() const noexcept { return address_; }

 protected:
  template <class Function>
  am_user_handler(Function* function, bool is_vector, MPI_Count count_max) noexcept
      : address_(reinterpret_cast<const void*>(function)), is_vector_(is_vector), count_max_(count_max) {}

 private:
  const void* address_;
  bool is_vector_;
  MPI_Count count_max_;
};

/// The output counts of a call, as an array of `Count`.
template <class Count>
class output_counts_as : private immovable {
 public:
  explicit output_counts_as(std::span<std::uint32_t> counts) : counts_(counts), values_(counts.size(), 0) {}
  Count* data() noexcept { return values_.data(); }
  /// Wrong counts become the largest number, which is above each maximum, and so is refused.
  void store() const {
    constexpr auto wrong = std::numeric_limits<std::uint32_t>::max();
    std::ranges::transform(values_, counts_.begin(), [](Count each) {
      return each < 0 || each > static_cast<Count>(wrong) ? wrong : static_cast<std::uint32_t>(each);
    });
  }

 private:
  std::span<std::uint32_t> counts_;
  std::vector<Count> values_;
};

/// As unsigned numbers, negative counts are above each maximum, and so are refused.
template <>
class output_counts_as<int> : private immovable {
 public:
  explicit output_counts_as(std::span<std::uint32_t> counts) noexcept : data_(reinterpret_cast<int*>(counts.data())) {}
  int* data() noexcept { return data_; }
  void store() const noexcept {}

 private:
  int* data_;
};

/// `Function` is the type of the function. `Count` is that of its counts, and the last arguments are `Output`: nothing,
/// or the array of output counts.
template <class Function, class Count, class... Output>
class am_c_handler final : public am_user_handler {
 public:
  explicit am_c_handler(Function* function) noexcept
      : am_user_handler(function, sizeof...(Output) > 0, std::numeric_limits<Count>::max()), function_(function) {}

  void call(const handler_arguments& with) const override {
    output_counts_as<Count> counts(with.output_counts);
    const auto number = [](MPI_Count count) { return static_cast<Count>(count); };
    function_(with.input, number(with.input_of.count), with.input_of.type, with.persistent,
              number(with.persistent_of.count), with.persistent_of.type, with.output, number(with.output_of.count),
              with.output_of.type, number(with.segments), static_cast<Output>(counts.data())...);
    if (is_vector()) counts.store();
  }

 private:
  Function* function_;
};

/// Calls handlers in Fortran, which get addresses of numbers and handles.
template <class Function, class Count, class... Output>
class am_fortran_handler final : public am_user_handler {
 public:
  explicit am_fortran_handler(Function* function) noexcept
      : am_user_handler(function, sizeof...(Output) > 0, std::numeric_limits<Count>::max()), function_(function) {}

  void call(const handler_arguments& with) const override {
    output_counts_as<Count> counts(with.output_counts);
    const Count input_count = static_cast<Count>(with.input_of.count),
                persistent_count = static_cast<Count>(with.persistent_of.count),
                output_count = static_cast<Count>(with.output_of.count), segments = static_cast<Count>(with.segments);
    const MPI_Fint input_type = type_to_fortran(with.input_of.type),
                   persistent_type = type_to_fortran(with.persistent_of.type),
                   output_type = type_to_fortran(with.output_of.type);
    function_(with.input, &input_count, &input_type, with.persistent, &persistent_count, &persistent_type, with.output,
              &output_count, &output_type, &segments, static_cast<Output>(counts.data())...);
    if (is_vector()) counts.store();
  }

 private:
  Function* function_;
};

template <class Count>
using am_fortran_function = void(const void*, const Count*, const MPI_Fint*, void*, const Count*, const MPI_Fint*,
                                 void*, const Count*, const MPI_Fint*, const Count*);
template <class Count>
using amv_fortran_function = void(const void*, const Count*, const MPI_Fint*, void*, const Count*, const MPI_Fint*,
                                  void*, const Count*, const MPI_Fint*, const Count*, Count*);

}  // namespace amity::mpi
