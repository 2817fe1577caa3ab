/// Active messages: functions of `mpix_am.h`.

#include "amity/interop/mpi/drop_in/messages.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "amity/interop/mpi/drop_in/am_descriptions.hpp"
#include "amity/interop/mpi/drop_in/am_operations.hpp"
#include "amity/interop/mpi/drop_in/calls.hpp"
#include "amity/interop/mpi/drop_in/datatype.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/pointer_checks.hpp"
#include "amity/interop/mpi/mpix_am.h"
#include "amity/window/am_description.hpp"
#include "amity/window/layout.hpp"

#define AMITY_MPIX extern "C" __attribute__((visibility("default")))

namespace amity::mpi {
namespace {

void check_count(MPI_Count count, std::string_view what) {
  if (count >= 0) return;
  throw mpi_error(MPI_ERR_COUNT, fmt::format("{} is {}", what, count), "pass a count of 0 or more");
}

void check_counts(const message& of) {
  check_count(of.input_here.count, "the count of a segment of input at the origin");
  check_count(of.output_here.count, "the count of a segment of output at the origin");
  check_count(of.input_there.count, "the count of a segment of input at the target");
  check_count(of.output_there.count, "the count of a segment of output at the target");
  check_count(of.persistent.count, "the count of the persistent buffer");
  check_count(of.segments, "the number of segments");
}

/// Whether a type is one of bytes without a meaning: MPI_BYTE, MPI_PACKED.
bool is_of_bytes(const element_kind& kind) noexcept {
  return kind.category == type_category::byte || kind.category == type_category::other;
}

/// A segment has the same data at origin and target. Basic types are compared if each side has only one.
void check_data(const known_type& here, const known_type& there, std::string_view what) {
  constexpr std::string_view remedy = "pass types and counts of the same basic types in the same order";
  const std::size_t bytes_here = here.bytes(), bytes_there = there.bytes();
  if (bytes_here != bytes_there) {
    throw mpi_error(
        MPI_ERR_TYPE,
        fmt::format("a segment of {} has {} bytes at the origin and {} at the target", what, bytes_here, bytes_there),
        remedy);
  }
  const auto &kind_here = here.type.kind(), &kind_there = there.type.kind();
  if (bytes_here == 0 || !kind_here || !kind_there || kind_here->type == kind_there->type) return;
  if (is_of_bytes(*kind_here) || is_of_bytes(*kind_there)) return;
  throw mpi_error(MPI_ERR_TYPE,
                  fmt::format("a segment of {} has elements of {} at the origin and of {} at the target", what,
                              layout_of(kind_here->type).name, layout_of(kind_there->type).name),
                  remedy);
}

/// Bytes from the address of the persistent buffer that the target must have.
std::uint64_t persistent_bytes(const known_type& of, std::uint64_t at, bool is_dynamic) {
  const datatype& type = of.type;
  if (of.count == 0 || type.size() == 0) return 0;
  std::int64_t last = 0, end = 0;
  if (__builtin_mul_overflow(static_cast<std::int64_t>(of.count - 1), static_cast<std::int64_t>(type.extent()),
                             &last) ||
      __builtin_add_overflow(static_cast<std::int64_t>(type.true_lower_bound() + type.true_extent()),
                             std::max<std::int64_t>(last, 0), &end))
    throw mpi_error(MPI_ERR_COUNT, fmt::format("a persistent buffer of {} elements", of.count), "pass a smaller count");
  const std::int64_t begin = type.true_lower_bound() + std::min<std::int64_t>(last, 0);
  if (!is_dynamic && begin < 0 && static_cast<std::uint64_t>(-begin) > at) {
    throw mpi_error(
        MPI_ERR_RMA_RANGE,
        fmt::format("the persistent buffer begins {} bytes before the memory", -begin - static_cast<std::int64_t>(at)),
        "pass a larger displacement");
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(end, 0));
}

/// Data of all segments at the origin.
struct place_here {
  std::ptrdiff_t first;
  std::shared_ptr<const layout> blocks;

  place_here(const known_type& of, MPI_Count segments)
      : first(of.type.data().first()), blocks(of.type.data().of(count_of_all(of, segments))) {
    if (blocks != nullptr) first = 0;
  }

  static std::size_t count_of_all(const known_type& of, MPI_Count segments) {
    MPI_Count count = 0;
    std::int64_t bytes = 0;
    if (!__builtin_mul_overflow(of.count, segments, &count) &&
        !__builtin_mul_overflow(static_cast<std::int64_t>(of.bytes()), static_cast<std::int64_t>(segments), &bytes))
      return static_cast<std::size_t>(count);
    throw mpi_error(MPI_ERR_COUNT, fmt::format("{} segments of {} elements", segments, of.count),
                    "pass smaller counts");
  }
};

void check_addresses(const message& given, const known_type& input, const known_type& output) {
  check_buffer(given.input, input.type.data(), input.count, "origin_input_addr");
  check_buffer(given.output, output.type.data(), output.count, "origin_output_addr");
  if (given.is_vector && given.large_counts == nullptr) check_pointer(given.counts, "output_segment_counts");
}

void send(window& on, const message& given) {
  check_counts(given);
  if (given.rank == MPI_PROC_NULL) return;
  if (given.rank < 0 || given.rank >= on.size()) {
    throw mpi_error(MPI_ERR_RANK, fmt::format("target rank {}", given.rank),
                    fmt::format("pass a rank from 0 to {}, or MPI_PROC_NULL", on.size() - 1));
  }
  const MPI_Count largest = std::max({given.input_there.count, given.persistent.count, given.output_there.count});
  on.check_operation(given.op, {.is_vector = given.is_vector, .count = largest});
  const known_type input_here(given.input_here), output_here(given.output_here), input_there(given.input_there),
      persistent(given.persistent), output_there(given.output_there);
  check_data(input_here, input_there, "input");
  check_data(output_here, output_there, "output");
  if (given.segments > 0) check_addresses(given, input_here, output_here);
  const std::uint64_t at = on.place(given.rank, given.displacement);
  const std::shared_ptr<const amity::detail::am_description> about =
      on.descriptions().find({.op = given.op,
                              .is_vector = given.is_vector,
                              .input = input_there,
                              .persistent = persistent,
                              .output = output_there,
                              .persistent_bytes = persistent_bytes(persistent, at, on.is_dynamic())});
  const place_here input(input_here, given.segments), output(output_here, given.segments);
  static_assert(sizeof(MPI_Count) == sizeof(std::int64_t));
  on.core().send_message(given.call, given.rank,
                         {.what = about,
                          .at = at,
                          .segments = static_cast<std::size_t>(given.segments),
                          .input = static_cast<const std::byte*>(given.input) + input.first,
                          .input_blocks = input.blocks,
                          .output = static_cast<std::byte*>(given.output) + output.first,
                          .output_blocks = output.blocks,
                          .output_counts = reinterpret_cast<std::uint32_t*>(given.counts),
                          .large_output_counts = reinterpret_cast<std::int64_t*>(given.large_counts)});
  if (!given.is_vector || about->is_vector()) return;
  // The core takes it for a plain message, because no segment can have output.
  if (given.counts != nullptr) std::fill_n(given.counts, given.segments, 0);
  if (given.large_counts != nullptr) std::fill_n(given.large_counts, given.segments, MPI_Count{0});
}

/// Windows that the MPI serves have no active messages.
int refuse_window(std::string_view call, MPI_Win win) {
  try {
    if (win == MPI_WIN_NULL) throw mpi_error(MPI_ERR_WIN, "the window is MPI_WIN_NULL", "pass a window");
    throw mpi_error(
        MPI_ERR_UNSUPPORTED_OPERATION, "the MPI serves this window, and has no active messages",
        "run the program with AMITY_MPI=1, and see docs/mpi-windows.md for windows that amity does not serve");
  } catch (const mpi_error&) {
    return win == MPI_WIN_NULL ? raise_on_communicator(call, MPI_COMM_WORLD) : raise_on_window(call, win);
  }
}

/// Amity serves no windows.
int refuse_operation(std::string_view call, MPI_Comm comm) {
  try {
    throw mpi_error(MPI_ERR_UNSUPPORTED_OPERATION, "the MPI serves one-sided functions, and has no active messages",
                    "run the program with AMITY_MPI=1");
  } catch (const mpi_error&) {
    return raise_on_communicator(call, comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm);
  }
}

}  // namespace

int send_message_on(MPI_Win win, const message& given) {
  return on_window(
      given.call, win, [&](window& on) { send(on, given); }, refuse_window, given.call, win);
}

int create_operation(std::string_view call, std::unique_ptr<const am_user_handler> handler, MPI_Comm comm,
                     MPIX_Am_op* op) {
  if (op != nullptr) *op = MPIX_AM_OP_NULL;
  if (handler_call::exists()) return handler_call::refuse(call.data());
  drop_in* const own = drop_in::running();
  if (own == nullptr) return refuse_operation(call, comm);
  try {
    check_pointer(op, "op");
    if (comm == MPI_COMM_NULL)
      throw mpi_error(MPI_ERR_COMM, "the communicator is MPI_COMM_NULL", "pass one with all processes of the windows");
    if (handler == nullptr) throw mpi_error(MPI_ERR_ARG, "a handler that is a null pointer", "pass a function");
    *op = own->messages().create(comm, std::move(handler));
    return MPI_SUCCESS;
  } catch (...) {
    return raise_on_communicator(call, comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm);
  }
}

}  // namespace amity::mpi

using namespace amity::mpi;

AMITY_MPIX int MPIX_Am_op_create(MPIX_Am_user_function* fn, MPI_Comm comm, MPIX_Am_op* op) {
  return create_operation("MPIX_Am_op_create", make_handler<am_c_handler<MPIX_Am_user_function, int>>(fn), comm, op);
}

AMITY_MPIX int MPIX_Amv_op_create(MPIX_Amv_user_function* fn, MPI_Comm comm, MPIX_Am_op* op) {
  return create_operation("MPIX_Amv_op_create", make_handler<am_c_handler<MPIX_Amv_user_function, int, int*>>(fn), comm,
                          op);
}

AMITY_MPIX int MPIX_Am_op_create_c(MPIX_Am_user_function_c* fn, MPI_Comm comm, MPIX_Am_op* op) {
  return create_operation("MPIX_Am_op_create_c", make_handler<am_c_handler<MPIX_Am_user_function_c, MPI_Count>>(fn),
                          comm, op);
}

AMITY_MPIX int MPIX_Amv_op_create_c(MPIX_Amv_user_function_c* fn, MPI_Comm comm, MPIX_Am_op* op) {
  return create_operation("MPIX_Amv_op_create_c",
                          make_handler<am_c_handler<MPIX_Amv_user_function_c, MPI_Count, MPI_Count*>>(fn), comm, op);
}

AMITY_MPIX int MPIX_Am_op_free(MPIX_Am_op* op) {
  drop_in* const own = drop_in::running();
  if (own == nullptr) return refuse_operation("MPIX_Am_op_free", MPI_COMM_WORLD);
  try {
    check_pointer(op, "op");
    own->messages().free(*op);
    *op = MPIX_AM_OP_NULL;
    return MPI_SUCCESS;
  } catch (...) {
    return raise_on_communicator("MPIX_Am_op_free", MPI_COMM_WORLD);
  }
}

AMITY_MPIX int MPIX_Am(const void* origin_input_addr, int origin_input_segment_count,
                       MPI_Datatype origin_input_datatype, void* origin_output_addr, int origin_output_segment_count,
                       MPI_Datatype origin_output_datatype, int num_segments, int target_rank,
                       int target_input_segment_count, MPI_Datatype target_input_datatype,
                       MPI_Aint target_persistent_disp, int target_persistent_count,
                       MPI_Datatype target_persistent_datatype, int target_output_segment_count,
                       MPI_Datatype target_output_datatype, MPIX_Am_op op, MPI_Win win) {
  return send_message_on(win, {.call = "MPIX_Am",
                               .input = origin_input_addr,
                               .input_here = {origin_input_segment_count, origin_input_datatype},
                               .output = origin_output_addr,
                               .output_here = {origin_output_segment_count, origin_output_datatype},
                               .segments = num_segments,
                               .rank = target_rank,
                               .input_there = {target_input_segment_count, target_input_datatype},
                               .displacement = target_persistent_disp,
                               .persistent = {target_persistent_count, target_persistent_datatype},
                               .output_there = {target_output_segment_count, target_output_datatype},
                               .op = op});
}

AMITY_MPIX int MPIX_Amv(const void* origin_input_addr, int origin_input_segment_count,
                        MPI_Datatype origin_input_datatype, void* origin_output_addr, int origin_output_segment_count,
                        MPI_Datatype origin_output_datatype, int output_segment_counts[], int num_segments,
                        int target_rank, int target_input_segment_count, MPI_Datatype target_input_datatype,
                        MPI_Aint target_persistent_disp, int target_persistent_count,
                        MPI_Datatype target_persistent_datatype, int target_output_segment_count,
                        MPI_Datatype target_output_datatype, MPIX_Am_op op, MPI_Win win) {
  return send_message_on(win, {.call = "MPIX_Amv",
                               .input = origin_input_addr,
                               .input_here = {origin_input_segment_count, origin_input_datatype},
                               .output = origin_output_addr,
                               .output_here = {origin_output_segment_count, origin_output_datatype},
                               .is_vector = true,
                               .counts = output_segment_counts,
                               .segments = num_segments,
                               .rank = target_rank,
                               .input_there = {target_input_segment_count, target_input_datatype},
                               .displacement = target_persistent_disp,
                               .persistent = {target_persistent_count, target_persistent_datatype},
                               .output_there = {target_output_segment_count, target_output_datatype},
                               .op = op});
}

AMITY_MPIX int MPIX_Am_c(const void* origin_input_addr, MPI_Count origin_input_segment_count,
                         MPI_Datatype origin_input_datatype, void* origin_output_addr,
                         MPI_Count origin_output_segment_count, MPI_Datatype origin_output_datatype,
                         MPI_Count num_segments, int target_rank, MPI_Count target_input_segment_count,
                         MPI_Datatype target_input_datatype, MPI_Aint target_persistent_disp,
                         MPI_Count target_persistent_count, MPI_Datatype target_persistent_datatype,
                         MPI_Count target_output_segment_count, MPI_Datatype target_output_datatype, MPIX_Am_op op,
                         MPI_Win win) {
  return send_message_on(win, {.call = "MPIX_Am_c",
                               .input = origin_input_addr,
                               .input_here = {origin_input_segment_count, origin_input_datatype},
                               .output = origin_output_addr,
                               .output_here = {origin_output_segment_count, origin_output_datatype},
                               .segments = num_segments,
                               .rank = target_rank,
                               .input_there = {target_input_segment_count, target_input_datatype},
                               .displacement = target_persistent_disp,
                               .persistent = {target_persistent_count, target_persistent_datatype},
                               .output_there = {target_output_segment_count, target_output_datatype},
                               .op = op});
}

AMITY_MPIX int MPIX_Amv_c(const void* origin_input_addr, MPI_Count origin_input_segment_count,
                          MPI_Datatype origin_input_datatype, void* origin_output_addr,
                          MPI_Count origin_output_segment_count, MPI_Datatype origin_output_datatype,
                          MPI_Count output_segment_counts[], MPI_Count num_segments, int target_rank,
                          MPI_Count target_input_segment_count, MPI_Datatype target_input_datatype,
                          MPI_Aint target_persistent_disp, MPI_Count target_persistent_count,
                          MPI_Datatype target_persistent_datatype, MPI_Count target_output_segment_count,
                          MPI_Datatype target_output_datatype, MPIX_Am_op op, MPI_Win win) {
  return send_message_on(win, {.call = "MPIX_Amv_c",
                               .input = origin_input_addr,
                               .input_here = {origin_input_segment_count, origin_input_datatype},
                               .output = origin_output_addr,
                               .output_here = {origin_output_segment_count, origin_output_datatype},
                               .is_vector = true,
                               .large_counts = output_segment_counts,
                               .segments = num_segments,
                               .rank = target_rank,
                               .input_there = {target_input_segment_count, target_input_datatype},
                               .displacement = target_persistent_disp,
                               .persistent = {target_persistent_count, target_persistent_datatype},
                               .output_there = {target_output_segment_count, target_output_datatype},
                               .op = op});
}

AMITY_MPIX int MPIX_Am_win_buffer_attach(void* buffer, MPI_Aint size, MPI_Win win) {
  return on_window(
      "MPIX_Am_win_buffer_attach", win,
      [&](window& on) {
        if (size < 0)
          throw mpi_error(MPI_ERR_SIZE, fmt::format("a size of {} bytes", size), "pass a size of 1 or more");
        if (buffer != nullptr && size > 0) check_mapped(buffer, static_cast<std::size_t>(size), MPI_ERR_RMA_ATTACH);
        on.core().attach_buffer({static_cast<std::byte*>(buffer), static_cast<std::size_t>(size)});
      },
      refuse_window, std::string_view("MPIX_Am_win_buffer_attach"), win);
}

AMITY_MPIX int MPIX_Am_win_buffer_detach(const void* buffer, MPI_Win win) {
  return on_window(
      "MPIX_Am_win_buffer_detach", win, [&](window& on) { on.core().detach_buffer(buffer); }, refuse_window,
      std::string_view("MPIX_Am_win_buffer_detach"), win);
}

AMITY_MPIX int MPIX_Am_win_get_counters(MPI_Win win, int target_rank, MPIX_Am_counters* counters) {
  return on_window(
      "MPIX_Am_win_get_counters", win,
      [&](window& on) {
        check_pointer(counters, "counters");
        const amity::am_counters of = on.core().counters_of(target_rank);
        *counters = {.messages = of.messages,
                     .units = of.units,
                     .handshakes = of.handshakes,
                     .queries = of.queries,
                     .refusals = of.refusals,
                     .input_bytes = of.input_bytes,
                     .output_bytes = of.output_bytes,
                     .count_bytes = of.count_bytes,
                     .wait_ns = of.room_wait_ns,
                     .credit_bytes = of.credit_bytes};
      },
      refuse_window, std::string_view("MPIX_Am_win_get_counters"), win);
}

AMITY_MPIX int MPIX_Am_error_class(int which) {
  drop_in* const own = drop_in::running();
  return own == nullptr ? MPI_ERR_UNKNOWN : own->messages().error_class_of(which);
}
