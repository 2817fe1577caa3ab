/// Active messages: functions of `mpix_am.h`.

#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "amity/interop/mpi/drop_in/am_operations.hpp"
#include "amity/interop/mpi/drop_in/calls.hpp"
#include "amity/interop/mpi/drop_in/datatype.hpp"
#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/mpix_am.h"
#include "amity/window/am_description.hpp"

#define AMITY_MPIX extern "C" __attribute__((visibility("default")))

namespace amity::mpi {
namespace {

/// One segment of input or output, as the origin or the target has it; or the persistent buffer.
struct segment {
  MPI_Count count;
  MPI_Datatype type;

  std::size_t bytes() const { return datatype::of(type).size() * static_cast<std::size_t>(count); }
};

struct message {
  std::string_view call;
  const void* input;
  segment input_here;
  void* output;
  segment output_here;
  int* counts;  ///< of a vector message; else null
  bool is_vector;
  MPI_Count segments;
  int rank;
  segment input_there;
  MPI_Aint displacement;
  segment persistent;
  segment output_there;
  MPIX_Am_op op;
};

void check_count(MPI_Count count, std::string_view what) {
  if (count >= 0 && count <= std::numeric_limits<int>::max()) return;
  throw mpi_error(MPI_ERR_COUNT, fmt::format("{} is {}", what, count), "pass a count from 0 to 2147483647");
}

void check_counts(const message& of) {
  check_count(of.input_here.count, "the count of a segment of input at the origin");
  check_count(of.output_here.count, "the count of a segment of output at the origin");
  check_count(of.input_there.count, "the count of a segment of input at the target");
  check_count(of.output_there.count, "the count of a segment of output at the target");
  check_count(of.persistent.count, "the count of the persistent buffer");
  check_count(of.segments, "the number of segments");
}

/// The data of a segment has the same bytes at origin and target.
void check_sizes(const segment& here, const segment& there, std::string_view what) {
  if (here.bytes() == there.bytes()) return;
  throw mpi_error(
      MPI_ERR_TYPE,
      fmt::format("a segment of {} has {} bytes at the origin and {} at the target", what, here.bytes(), there.bytes()),
      "pass types and counts of the same data");
}

/// Memory that is aligned for each type of C begins at multiples of this.
constexpr std::int64_t alignment_of_types = alignof(std::max_align_t);

amity::detail::am_side side_of(const segment& of) {
  const datatype& type = datatype::of(of.type);
  const counted_layout& data = type.data();
  const auto count = static_cast<std::size_t>(of.count);
  amity::detail::am_side side;
  side.packed_bytes = data.bytes() * count;
  side.alignment = type.extent() % alignment_of_types == 0 ? static_cast<std::uint64_t>(alignment_of_types) : 8;
  if (type.extent() < 0)
    throw mpi_error(MPI_ERR_TYPE, fmt::format("a type with an extent of {} bytes", type.extent()),
                    "pass a type whose extent is 0 or more");
  const bool is_dense =
      data.is_block(2) && data.first() == 0 && type.extent() == static_cast<std::ptrdiff_t>(data.bytes());
  if (side.packed_bytes == 0 || is_dense) {
    side.footprint = side.packed_bytes;
    return side;
  }
  side.alignment = static_cast<std::uint64_t>(alignment_of_types);
  side.blocks = data.of(count);
  if (side.blocks == nullptr)
    side.blocks = std::make_shared<const layout>(layout::contiguous(side.packed_bytes).moved(data.first()));
  const std::int64_t begin = side.blocks->first();
  // What lies before the first byte makes the address that the handler gets aligned.
  side.first = begin - (begin % alignment_of_types + alignment_of_types) % alignment_of_types;
  side.footprint = static_cast<std::uint64_t>(type.extent()) * count;
  const auto end = static_cast<std::uint64_t>(side.blocks->end() - side.first);
  if (end > side.footprint) side.overhang = end - side.footprint;
  return side;
}

std::vector<std::byte> extra_of(const message& of) {
  const bytes_view input = datatype::encoded(of.input_there.type), persistent = datatype::encoded(of.persistent.type),
                   output = datatype::encoded(of.output_there.type);
  const am_types head{.input_count = of.input_there.count,
                      .persistent_count = of.persistent.count,
                      .output_count = of.output_there.count,
                      .input_bytes = static_cast<std::uint32_t>(input.size()),
                      .persistent_bytes = static_cast<std::uint32_t>(persistent.size())};
  std::vector<std::byte> extra(sizeof head);
  std::memcpy(extra.data(), &head, sizeof head);
  for (const bytes_view each : {input, persistent, output}) extra.insert(extra.end(), each.begin(), each.end());
  return extra;
}

/// Bytes from the address of the persistent buffer that the target must have.
std::uint64_t persistent_bytes(const segment& of, std::uint64_t at, bool is_dynamic) {
  const datatype& type = datatype::of(of.type);
  if (of.count == 0 || type.size() == 0) return 0;
  const auto count = static_cast<std::int64_t>(of.count);
  const std::int64_t last = (count - 1) * type.extent();
  const std::int64_t begin = type.true_lower_bound() + std::min<std::int64_t>(last, 0);
  const std::int64_t end = type.true_lower_bound() + type.true_extent() + std::max<std::int64_t>(last, 0);
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

  place_here(const segment& of, MPI_Count segments)
      : first(datatype::of(of.type).data().first()),
        blocks(datatype::of(of.type).data().of(static_cast<std::size_t>(of.count * segments))) {
    if (blocks != nullptr) first = 0;
  }
};

void send(window& on, const message& given) {
  check_counts(given);
  if (given.rank == MPI_PROC_NULL) return;
  if (given.rank < 0 || given.rank >= on.size()) {
    throw mpi_error(MPI_ERR_RANK, fmt::format("target rank {}", given.rank),
                    fmt::format("pass a rank from 0 to {}, or MPI_PROC_NULL", on.size() - 1));
  }
  on.check_operation(given.op, given.is_vector);
  check_sizes(given.input_here, given.input_there, "input");
  check_sizes(given.output_here, given.output_there, "output");
  const datatype& output_type = datatype::of(given.output_there.type);
  if (given.is_vector && datatype::of(given.output_here.type).size() != output_type.size()) {
    throw mpi_error(MPI_ERR_TYPE,
                    fmt::format("an element of output has {} bytes at the origin and {} at the target",
                                datatype::of(given.output_here.type).size(), output_type.size()),
                    "pass types of which one element has the same data");
  }
  const std::uint64_t at = on.place(given.rank, given.displacement);
  amity::detail::am_description about{.operation = static_cast<std::uint32_t>(given.op),
                                      .count_max = 0,
                                      .input = side_of(given.input_there),
                                      .output = side_of(given.output_there),
                                      .persistent_bytes = persistent_bytes(given.persistent, at, on.is_dynamic()),
                                      .extra = extra_of(given)};
  if (given.is_vector) {
    if (given.output_there.count == 0 || output_type.size() == 0)
      throw mpi_error(MPI_ERR_COUNT, "a vector message whose segments have no output", "call MPIX_Am");
    about.count_max = static_cast<std::uint32_t>(given.output_there.count);
  }
  const place_here input(given.input_here, given.segments), output(given.output_here, given.segments);
  on.core().send_message(given.call, given.rank, about,
                         {.at = at,
                          .segments = static_cast<std::size_t>(given.segments),
                          .input = static_cast<const std::byte*>(given.input) + input.first,
                          .input_blocks = input.blocks,
                          .output = static_cast<std::byte*>(given.output) + output.first,
                          .output_blocks = output.blocks,
                          .output_counts = reinterpret_cast<std::uint32_t*>(given.counts)});
}

/// Windows that the MPI serves have no active messages.
int no_native_function() noexcept { return MPI_ERR_UNSUPPORTED_OPERATION; }

int send_on(MPI_Win win, const message& given) {
  return on_window(
      given.call, win, [&](window& on) { send(on, given); }, no_native_function);
}

int create(std::string_view call, MPIX_Am_user_function* plain, MPIX_Amv_user_function* vector, MPI_Comm comm,
           MPIX_Am_op* op) {
  if (handler_call::exists()) return handler_call::refuse(call.data());
  drop_in* const own = drop_in::running();
  if (own == nullptr) return no_native_function();
  try {
    if (comm == MPI_COMM_NULL)
      throw mpi_error(MPI_ERR_COMM, "the communicator is MPI_COMM_NULL", "pass one with all processes of the windows");
    *op = own->messages().create(comm, plain, vector);
    return MPI_SUCCESS;
  } catch (...) {
    return raise_on_communicator(call, comm == MPI_COMM_NULL ? MPI_COMM_WORLD : comm);
  }
}

}  // namespace
}  // namespace amity::mpi

using namespace amity::mpi;

AMITY_MPIX int MPIX_Am_op_create(MPIX_Am_user_function* fn, MPI_Comm comm, MPIX_Am_op* op) {
  return create("MPIX_Am_op_create", fn, nullptr, comm, op);
}

AMITY_MPIX int MPIX_Amv_op_create(MPIX_Amv_user_function* fn, MPI_Comm comm, MPIX_Am_op* op) {
  return create("MPIX_Amv_op_create", nullptr, fn, comm, op);
}

AMITY_MPIX int MPIX_Am_op_free(MPIX_Am_op* op) {
  drop_in* const own = drop_in::running();
  if (own == nullptr) return no_native_function();
  try {
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
  return send_on(win, {.call = "MPIX_Am",
                       .input = origin_input_addr,
                       .input_here = {origin_input_segment_count, origin_input_datatype},
                       .output = origin_output_addr,
                       .output_here = {origin_output_segment_count, origin_output_datatype},
                       .counts = nullptr,
                       .is_vector = false,
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
  return send_on(win, {.call = "MPIX_Amv",
                       .input = origin_input_addr,
                       .input_here = {origin_input_segment_count, origin_input_datatype},
                       .output = origin_output_addr,
                       .output_here = {origin_output_segment_count, origin_output_datatype},
                       .counts = output_segment_counts,
                       .is_vector = true,
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
        on.core().attach_buffer({static_cast<std::byte*>(buffer), static_cast<std::size_t>(size)});
      },
      no_native_function);
}

AMITY_MPIX int MPIX_Am_win_buffer_detach(const void* buffer, MPI_Win win) {
  return on_window(
      "MPIX_Am_win_buffer_detach", win, [&](window& on) { on.core().detach_buffer(buffer); }, no_native_function);
}

AMITY_MPIX int MPIX_Am_win_get_counters(MPI_Win win, int target_rank, MPIX_Am_counters* counters) {
  return on_window(
      "MPIX_Am_win_get_counters", win,
      [&](window& on) {
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
      no_native_function);
}

AMITY_MPIX int MPIX_Am_error_class(int which) {
  drop_in* const own = drop_in::running();
  return own == nullptr ? MPI_ERR_UNKNOWN : own->messages().error_of(which).error_class;
}
