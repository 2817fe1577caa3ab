#pragma once

/// The functions of the MPI below this library.
///
/// This library defines MPI_X and PMPI_X, so that calls of these names end here. The MPI's own functions are searched
/// at their first call, by name: the MPI may have its PMPI functions in another library than the rest.

#include <atomic>
#include <string>
#include <string_view>

#include <mpi.h>

namespace amity::mpi {

/// Returns the MPI's own function PMPI_X, or else MPI_X, for `name` X, and MPII_X for MPII_X; null if there is none.
/// Searches the libraries after this one, then all libraries that are visible, then libraries of MPIs that only another
/// library sees. Any thread.
void* find_native(std::string_view name) noexcept;
/// Returns the name and the version of the MPI: "Open MPI v4.1.4", "MPICH Version: 4.0.2". Also before MPI_Init. Any
/// thread.
std::string version_of_mpi();
/// Throws `mpi_error`.
[[noreturn]] void refuse_missing(std::string_view name);

/// A function of the MPI. Any thread may call it. A call throws `mpi_error` with MPI_ERR_OTHER if the MPI lacks it.
template <class Function>
class native_function;

template <class Result, class... Arguments>
class native_function<Result (*)(Arguments...)> {
 public:
  /// `name` is a literal: that of the function without the prefix MPI_, or with the prefix MPII_.
  constexpr explicit native_function(const char* name) : name_(name) {}

  Result operator()(Arguments... arguments) {
    function* const target = find();
    if (target == nullptr) refuse_missing(name_);
    return target(arguments...);
  }

  /// Without the prefix MPI_.
  const char* name() const noexcept { return name_; }

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

inline constinit native_function<decltype(&MPI_Abort)> abort{"Abort"};
inline constinit native_function<decltype(&MPI_Accumulate)> accumulate{"Accumulate"};
inline constinit native_function<decltype(&MPI_Add_error_class)> add_error_class{"Add_error_class"};
inline constinit native_function<decltype(&MPI_Add_error_code)> add_error_code{"Add_error_code"};
inline constinit native_function<decltype(&MPI_Add_error_string)> add_error_string{"Add_error_string"};
inline constinit native_function<decltype(&MPI_Alloc_mem)> alloc_mem{"Alloc_mem"};
inline constinit native_function<decltype(&MPI_Cancel)> cancel{"Cancel"};
inline constinit native_function<decltype(&MPI_Comm_call_errhandler)> comm_call_errhandler{"Comm_call_errhandler"};
inline constinit native_function<decltype(&MPI_Comm_create_group)> comm_create_group{"Comm_create_group"};
inline constinit native_function<decltype(&MPI_Comm_create_keyval)> comm_create_keyval{"Comm_create_keyval"};
inline constinit native_function<decltype(&MPI_Comm_free)> comm_free{"Comm_free"};
inline constinit native_function<decltype(&MPI_Comm_get_errhandler)> comm_get_errhandler{"Comm_get_errhandler"};
inline constinit native_function<decltype(&MPI_Comm_get_parent)> comm_get_parent{"Comm_get_parent"};
inline constinit native_function<decltype(&MPI_Comm_group)> comm_group{"Comm_group"};
inline constinit native_function<decltype(&MPI_Comm_idup)> comm_idup{"Comm_idup"};
inline constinit native_function<decltype(&MPI_Comm_rank)> comm_rank{"Comm_rank"};
inline constinit native_function<decltype(&MPI_Comm_remote_group)> comm_remote_group{"Comm_remote_group"};
inline constinit native_function<decltype(&MPI_Comm_set_attr)> comm_set_attr{"Comm_set_attr"};
inline constinit native_function<decltype(&MPI_Comm_set_errhandler)> comm_set_errhandler{"Comm_set_errhandler"};
inline constinit native_function<decltype(&MPI_Comm_size)> comm_size{"Comm_size"};
inline constinit native_function<decltype(&MPI_Comm_split)> comm_split{"Comm_split"};
inline constinit native_function<decltype(&MPI_Comm_test_inter)> comm_test_inter{"Comm_test_inter"};
inline constinit native_function<decltype(&MPI_Compare_and_swap)> compare_and_swap{"Compare_and_swap"};
inline constinit native_function<decltype(&MPI_Errhandler_free)> errhandler_free{"Errhandler_free"};
inline constinit native_function<decltype(&MPI_Error_class)> error_class{"Error_class"};
inline constinit native_function<decltype(&MPI_Error_string)> error_string{"Error_string"};
inline constinit native_function<decltype(&MPI_Fetch_and_op)> fetch_and_op{"Fetch_and_op"};
inline constinit native_function<decltype(&MPI_Finalize)> finalize{"Finalize"};
inline constinit native_function<decltype(&MPI_Finalized)> finalized{"Finalized"};
inline constinit native_function<decltype(&MPI_Free_mem)> free_mem{"Free_mem"};
inline constinit native_function<decltype(&MPI_Get)> get{"Get"};
inline constinit native_function<decltype(&MPI_Get_accumulate)> get_accumulate{"Get_accumulate"};
inline constinit native_function<decltype(&MPI_Get_library_version)> get_library_version{"Get_library_version"};
inline constinit native_function<decltype(&MPI_Grequest_complete)> grequest_complete{"Grequest_complete"};
inline constinit native_function<decltype(&MPI_Grequest_start)> grequest_start{"Grequest_start"};
inline constinit native_function<decltype(&MPI_Group_free)> group_free{"Group_free"};
inline constinit native_function<decltype(&MPI_Group_rank)> group_rank{"Group_rank"};
inline constinit native_function<decltype(&MPI_Group_size)> group_size{"Group_size"};
inline constinit native_function<decltype(&MPI_Group_translate_ranks)> group_translate_ranks{"Group_translate_ranks"};
inline constinit native_function<decltype(&MPI_Iallgather)> iallgather{"Iallgather"};
inline constinit native_function<decltype(&MPI_Iallgatherv)> iallgatherv{"Iallgatherv"};
inline constinit native_function<decltype(&MPI_Iallreduce)> iallreduce{"Iallreduce"};
inline constinit native_function<decltype(&MPI_Ibarrier)> ibarrier{"Ibarrier"};
inline constinit native_function<decltype(&MPI_Info_create)> info_create{"Info_create"};
inline constinit native_function<decltype(&MPI_Info_get)> info_get{"Info_get"};
inline constinit native_function<decltype(&MPI_Info_get_nkeys)> info_get_nkeys{"Info_get_nkeys"};
inline constinit native_function<decltype(&MPI_Info_get_nthkey)> info_get_nthkey{"Info_get_nthkey"};
inline constinit native_function<decltype(&MPI_Info_set)> info_set{"Info_set"};
inline constinit native_function<decltype(&MPI_Init)> init{"Init"};
inline constinit native_function<decltype(&MPI_Init_thread)> init_thread{"Init_thread"};
inline constinit native_function<decltype(&MPI_Initialized)> initialized{"Initialized"};
inline constinit native_function<decltype(&MPI_Iprobe)> iprobe{"Iprobe"};
inline constinit native_function<decltype(&MPI_Irecv)> irecv{"Irecv"};
inline constinit native_function<decltype(&MPI_Isend)> isend{"Isend"};
inline constinit native_function<decltype(&MPI_Pack)> pack{"Pack"};
inline constinit native_function<decltype(&MPI_Probe)> probe{"Probe"};
inline constinit native_function<decltype(&MPI_Put)> put{"Put"};
inline constinit native_function<decltype(&MPI_Query_thread)> query_thread{"Query_thread"};
inline constinit native_function<decltype(&MPI_Raccumulate)> raccumulate{"Raccumulate"};
inline constinit native_function<decltype(&MPI_Rget)> rget{"Rget"};
inline constinit native_function<decltype(&MPI_Rget_accumulate)> rget_accumulate{"Rget_accumulate"};
inline constinit native_function<decltype(&MPI_Rput)> rput{"Rput"};
inline constinit native_function<decltype(&MPI_Status_set_cancelled)> status_set_cancelled{"Status_set_cancelled"};
inline constinit native_function<decltype(&MPI_Status_set_elements)> status_set_elements{"Status_set_elements"};
inline constinit native_function<decltype(&MPI_Test)> test{"Test"};
inline constinit native_function<decltype(&MPI_Type_commit)> type_commit{"Type_commit"};
inline constinit native_function<decltype(&MPI_Type_contiguous)> type_contiguous{"Type_contiguous"};
inline constinit native_function<decltype(&MPI_Type_create_darray)> type_create_darray{"Type_create_darray"};
inline constinit native_function<decltype(&MPI_Type_create_f90_complex)> type_create_f90_complex{
    "Type_create_f90_complex"};
inline constinit native_function<decltype(&MPI_Type_create_f90_integer)> type_create_f90_integer{
    "Type_create_f90_integer"};
inline constinit native_function<decltype(&MPI_Type_create_f90_real)> type_create_f90_real{"Type_create_f90_real"};
inline constinit native_function<decltype(&MPI_Type_create_hindexed)> type_create_hindexed{"Type_create_hindexed"};
inline constinit native_function<decltype(&MPI_Type_create_hindexed_block)> type_create_hindexed_block{
    "Type_create_hindexed_block"};
inline constinit native_function<decltype(&MPI_Type_create_hvector)> type_create_hvector{"Type_create_hvector"};
inline constinit native_function<decltype(&MPI_Type_create_indexed_block)> type_create_indexed_block{
    "Type_create_indexed_block"};
inline constinit native_function<decltype(&MPI_Type_create_keyval)> type_create_keyval{"Type_create_keyval"};
inline constinit native_function<decltype(&MPI_Type_create_resized)> type_create_resized{"Type_create_resized"};
inline constinit native_function<decltype(&MPI_Type_create_struct)> type_create_struct{"Type_create_struct"};
inline constinit native_function<decltype(&MPI_Type_create_subarray)> type_create_subarray{"Type_create_subarray"};
inline constinit native_function<decltype(&MPI_Type_dup)> type_dup{"Type_dup"};
inline constinit native_function<decltype(&MPI_Type_free)> type_free{"Type_free"};
inline constinit native_function<decltype(&MPI_Type_free_keyval)> type_free_keyval{"Type_free_keyval"};
inline constinit native_function<decltype(&MPI_Type_get_attr)> type_get_attr{"Type_get_attr"};
inline constinit native_function<decltype(&MPI_Type_get_contents)> type_get_contents{"Type_get_contents"};
inline constinit native_function<decltype(&MPI_Type_get_envelope)> type_get_envelope{"Type_get_envelope"};
inline constinit native_function<decltype(&MPI_Type_get_extent_x)> type_get_extent_x{"Type_get_extent_x"};
inline constinit native_function<decltype(&MPI_Type_get_true_extent_x)> type_get_true_extent_x{
    "Type_get_true_extent_x"};
inline constinit native_function<decltype(&MPI_Type_indexed)> type_indexed{"Type_indexed"};
inline constinit native_function<decltype(&MPI_Type_set_attr)> type_set_attr{"Type_set_attr"};
inline constinit native_function<decltype(&MPI_Type_size_x)> type_size_x{"Type_size_x"};
inline constinit native_function<decltype(&MPI_Type_vector)> type_vector{"Type_vector"};
inline constinit native_function<decltype(&MPI_Wait)> wait{"Wait"};
inline constinit native_function<decltype(&MPI_Win_allocate)> win_allocate{"Win_allocate"};
inline constinit native_function<decltype(&MPI_Win_allocate_shared)> win_allocate_shared{"Win_allocate_shared"};
inline constinit native_function<decltype(&MPI_Win_attach)> win_attach{"Win_attach"};
inline constinit native_function<decltype(&MPI_Win_call_errhandler)> win_call_errhandler{"Win_call_errhandler"};
inline constinit native_function<decltype(&MPI_Win_complete)> win_complete{"Win_complete"};
inline constinit native_function<decltype(&MPI_Win_create)> win_create{"Win_create"};
inline constinit native_function<decltype(&MPI_Win_create_dynamic)> win_create_dynamic{"Win_create_dynamic"};
inline constinit native_function<decltype(&MPI_Win_detach)> win_detach{"Win_detach"};
inline constinit native_function<decltype(&MPI_Win_fence)> win_fence{"Win_fence"};
inline constinit native_function<decltype(&MPI_Win_flush)> win_flush{"Win_flush"};
inline constinit native_function<decltype(&MPI_Win_flush_all)> win_flush_all{"Win_flush_all"};
inline constinit native_function<decltype(&MPI_Win_flush_local)> win_flush_local{"Win_flush_local"};
inline constinit native_function<decltype(&MPI_Win_flush_local_all)> win_flush_local_all{"Win_flush_local_all"};
inline constinit native_function<decltype(&MPI_Win_delete_attr)> win_delete_attr{"Win_delete_attr"};
inline constinit native_function<decltype(&MPI_Win_free)> win_free{"Win_free"};
inline constinit native_function<decltype(&MPI_Win_get_attr)> win_get_attr{"Win_get_attr"};
inline constinit native_function<decltype(&MPI_Win_get_errhandler)> win_get_errhandler{"Win_get_errhandler"};
inline constinit native_function<decltype(&MPI_Win_get_info)> win_get_info{"Win_get_info"};
inline constinit native_function<decltype(&MPI_Win_lock)> win_lock{"Win_lock"};
inline constinit native_function<decltype(&MPI_Win_lock_all)> win_lock_all{"Win_lock_all"};
inline constinit native_function<decltype(&MPI_Win_post)> win_post{"Win_post"};
inline constinit native_function<decltype(&MPI_Win_set_info)> win_set_info{"Win_set_info"};
inline constinit native_function<decltype(&MPI_Win_set_attr)> win_set_attr{"Win_set_attr"};
inline constinit native_function<decltype(&MPI_Win_set_errhandler)> win_set_errhandler{"Win_set_errhandler"};
inline constinit native_function<decltype(&MPI_Win_set_name)> win_set_name{"Win_set_name"};
inline constinit native_function<decltype(&MPI_Win_shared_query)> win_shared_query{"Win_shared_query"};
inline constinit native_function<decltype(&MPI_Win_start)> win_start{"Win_start"};
inline constinit native_function<decltype(&MPI_Win_sync)> win_sync{"Win_sync"};
inline constinit native_function<decltype(&MPI_Win_test)> win_test{"Win_test"};
inline constinit native_function<decltype(&MPI_Win_unlock)> win_unlock{"Win_unlock"};
inline constinit native_function<decltype(&MPI_Win_unlock_all)> win_unlock_all{"Win_unlock_all"};
inline constinit native_function<decltype(&MPI_Win_wait)> win_wait{"Win_wait"};
#if MPI_VERSION >= 4
inline constinit native_function<decltype(&MPI_Accumulate_c)> accumulate_c{"Accumulate_c"};
inline constinit native_function<decltype(&MPI_Get_accumulate_c)> get_accumulate_c{"Get_accumulate_c"};
inline constinit native_function<decltype(&MPI_Get_c)> get_c{"Get_c"};
inline constinit native_function<decltype(&MPI_Put_c)> put_c{"Put_c"};
inline constinit native_function<decltype(&MPI_Raccumulate_c)> raccumulate_c{"Raccumulate_c"};
inline constinit native_function<decltype(&MPI_Rget_accumulate_c)> rget_accumulate_c{"Rget_accumulate_c"};
inline constinit native_function<decltype(&MPI_Rget_c)> rget_c{"Rget_c"};
inline constinit native_function<decltype(&MPI_Rput_c)> rput_c{"Rput_c"};
inline constinit native_function<decltype(&MPI_Type_contiguous_c)> type_contiguous_c{"Type_contiguous_c"};
inline constinit native_function<decltype(&MPI_Type_create_darray_c)> type_create_darray_c{"Type_create_darray_c"};
inline constinit native_function<decltype(&MPI_Type_create_hindexed_block_c)> type_create_hindexed_block_c{
    "Type_create_hindexed_block_c"};
inline constinit native_function<decltype(&MPI_Type_create_hindexed_c)> type_create_hindexed_c{
    "Type_create_hindexed_c"};
inline constinit native_function<decltype(&MPI_Type_create_hvector_c)> type_create_hvector_c{"Type_create_hvector_c"};
inline constinit native_function<decltype(&MPI_Type_create_indexed_block_c)> type_create_indexed_block_c{
    "Type_create_indexed_block_c"};
inline constinit native_function<decltype(&MPI_Type_create_struct_c)> type_create_struct_c{"Type_create_struct_c"};
inline constinit native_function<decltype(&MPI_Type_create_subarray_c)> type_create_subarray_c{
    "Type_create_subarray_c"};
inline constinit native_function<decltype(&MPI_Type_get_contents_c)> type_get_contents_c{"Type_get_contents_c"};
inline constinit native_function<decltype(&MPI_Type_get_envelope_c)> type_get_envelope_c{"Type_get_envelope_c"};
inline constinit native_function<decltype(&MPI_Type_indexed_c)> type_indexed_c{"Type_indexed_c"};
inline constinit native_function<decltype(&MPI_Type_vector_c)> type_vector_c{"Type_vector_c"};
inline constinit native_function<decltype(&MPI_Win_allocate_c)> win_allocate_c{"Win_allocate_c"};
inline constinit native_function<decltype(&MPI_Win_allocate_shared_c)> win_allocate_shared_c{"Win_allocate_shared_c"};
inline constinit native_function<decltype(&MPI_Win_create_c)> win_create_c{"Win_create_c"};
inline constinit native_function<decltype(&MPI_Win_shared_query_c)> win_shared_query_c{"Win_shared_query_c"};
#endif

}  // namespace native

/// Throws `mpi_error` with the class of `code`, unless that is MPI_SUCCESS. `function` is the name of the native one.
void check_native(int code, std::string_view function);

}  // namespace amity::mpi
