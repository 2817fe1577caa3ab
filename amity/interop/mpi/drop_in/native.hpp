#pragma once

/// The functions of the MPI below this library.
///
/// This library defines MPI_X and PMPI_X, so that calls of these names end here. The MPI's own functions are searched
/// at their first call, by name: the MPI may have its PMPI functions in another library than the rest.

#include <atomic>
#include <string_view>

#include <mpi.h>

namespace amity::mpi {

/// Returns the MPI's own function PMPI_X, or else MPI_X, for `name` X; null if there is none. Searches the libraries
/// after this one, then all libraries that are visible, then libraries of MPIs that only another library sees. Any
/// thread.
void* find_native(std::string_view name) noexcept;
/// Throws `mpi_error`.
[[noreturn]] void refuse_missing(std::string_view name);

/// A function of the MPI. Any thread may call it. A call throws `mpi_error` with MPI_ERR_OTHER if the MPI lacks it.
template <class Function>
class native_function;

template <class Result, class... Arguments>
class native_function<Result (*)(Arguments...)> {
 public:
  /// `name` is a literal, without the prefix MPI_.
  constexpr explicit native_function(const char* name) : name_(name) {}

  Result operator()(Arguments... arguments) {
    function* const target = find();
    if (target == nullptr) refuse_missing(name_);
    return target(arguments...);
  }

  /// Whether the MPI has it.
  explicit operator bool() noexcept { return find() != nullptr; }

 private:
  using function = Result(Arguments...);

  // Relaxed: the function that a pointer refers to does not change.
  function* find() noexcept {
    function* target = cached_.load(std::memory_order_relaxed);
    if (target == nullptr) {
      target = reinterpret_cast<function*>(find_native(name_));
      cached_.store(target, std::memory_order_relaxed);
    }
    return target;
  }

  std::atomic<function*> cached_{nullptr};
  const char* name_;
};

/// One for each function that this library calls.
namespace native {

inline constinit native_function<decltype(&MPI_Comm_create_group)> comm_create_group{"Comm_create_group"};
inline constinit native_function<decltype(&MPI_Comm_free)> comm_free{"Comm_free"};
inline constinit native_function<decltype(&MPI_Comm_group)> comm_group{"Comm_group"};
inline constinit native_function<decltype(&MPI_Comm_set_errhandler)> comm_set_errhandler{"Comm_set_errhandler"};
inline constinit native_function<decltype(&MPI_Error_class)> error_class{"Error_class"};
inline constinit native_function<decltype(&MPI_Group_free)> group_free{"Group_free"};
inline constinit native_function<decltype(&MPI_Pack)> pack{"Pack"};
inline constinit native_function<decltype(&MPI_Type_create_keyval)> type_create_keyval{"Type_create_keyval"};
inline constinit native_function<decltype(&MPI_Type_free)> type_free{"Type_free"};
inline constinit native_function<decltype(&MPI_Type_free_keyval)> type_free_keyval{"Type_free_keyval"};
inline constinit native_function<decltype(&MPI_Type_get_attr)> type_get_attr{"Type_get_attr"};
inline constinit native_function<decltype(&MPI_Type_get_contents)> type_get_contents{"Type_get_contents"};
inline constinit native_function<decltype(&MPI_Type_get_envelope)> type_get_envelope{"Type_get_envelope"};
inline constinit native_function<decltype(&MPI_Type_get_extent_x)> type_get_extent_x{"Type_get_extent_x"};
inline constinit native_function<decltype(&MPI_Type_set_attr)> type_set_attr{"Type_set_attr"};
inline constinit native_function<decltype(&MPI_Type_size_x)> type_size_x{"Type_size_x"};
#if MPI_VERSION >= 4
inline constinit native_function<decltype(&MPI_Type_get_contents_c)> type_get_contents_c{"Type_get_contents_c"};
inline constinit native_function<decltype(&MPI_Type_get_envelope_c)> type_get_envelope_c{"Type_get_envelope_c"};
#endif

}  // namespace native

}  // namespace amity::mpi
