/// Types of active messages: handlers use them, and programs free them and make others.

#include <array>
#include <cstddef>
#include <numeric>
#include <vector>

#include <mpi.h>
#include <mpix_am.h>

#include "message_window.hpp"
#include "program.hpp"

using program::message_window;
using program::next;
using program::step;

namespace {

/// An element of an input.
struct record {
  double weight;
  int count;
  char tag[3];
};

MPI_Datatype make_record_type() {
  const std::array<int, 3> lengths{1, 1, 3};
  const std::array<MPI_Aint, 3> places{offsetof(record, weight), offsetof(record, count), offsetof(record, tag)};
  const std::array<MPI_Datatype, 3> types{MPI_DOUBLE, MPI_INT, MPI_CHAR};
  MPI_Datatype made = MPI_DATATYPE_NULL, resized = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(3, lengths.data(), places.data(), types.data(), &made);
  MPI_Type_create_resized(made, 0, sizeof(record), &resized);
  MPI_Type_commit(&resized);
  MPI_Type_free(&made);
  return resized;
}

/// Packs and unpacks the input with the types that the handler has been given.
void sum_records(const void* input, int input_count, MPI_Datatype input_type, void* persistent, int,
                 MPI_Datatype persistent_type, void* output, int output_count, MPI_Datatype output_type, int segments) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED, bytes = 0;
  MPI_Type_get_envelope(input_type, &integers, &addresses, &types, &combiner);
  CHECK(combiner == MPI_COMBINER_RESIZED && types == 1);
  std::array<int, 8> no_integers{};
  std::array<MPI_Aint, 8> bounds{};
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Type_get_contents(input_type, integers, addresses, types, no_integers.data(), bounds.data(), &inner);
  CHECK(bounds[1] == sizeof(record));
  MPI_Type_get_envelope(inner, &integers, &addresses, &types, &combiner);
  CHECK(combiner == MPI_COMBINER_STRUCT && types == 3);
  MPI_Type_free(&inner);
  MPI_Aint bound = 0, extent = 0;
  MPI_Type_get_extent(input_type, &bound, &extent);
  CHECK(extent == sizeof(record) && persistent_type == MPI_LONG && output_type == MPI_DOUBLE && output_count == 1);
  MPI_Pack_size(input_count * segments, input_type, MPI_COMM_SELF, &bytes);
  std::vector<char> packed(static_cast<std::size_t>(bytes));
  std::vector<record> records(static_cast<std::size_t>(input_count * segments));
  int place = 0;
  CHECK(MPI_Pack(input, input_count * segments, input_type, packed.data(), bytes, &place, MPI_COMM_SELF) ==
        MPI_SUCCESS);
  CHECK(place == 15 * input_count * segments);
  int from = 0;
  CHECK(MPI_Unpack(packed.data(), place, &from, records.data(), input_count * segments, input_type, MPI_COMM_SELF) ==
        MPI_SUCCESS);
  for (int i = 0; i < segments; ++i) {
    double sum = 0;
    for (int j = 0; j < input_count; ++j) {
      const record& each = records[static_cast<std::size_t>(i * input_count + j)];
      CHECK(each.tag[0] == 'a' && each.tag[1] == 'b' && each.tag[2] == 'c');
      sum += each.weight * each.count;
    }
    static_cast<double*>(output)[i] = sum;
    *static_cast<long*>(persistent) += 1;
  }
}

void handlers_use_types(MPIX_Am_op op) {
  step = "handlers use types";
  constexpr int segments = 400, elements = 3;
  const message_window<long> on(1);
  const program::attached_buffer buffer(4001, on.win());
  std::vector<record> in(segments * elements);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = {.weight = static_cast<double>(i), .count = 2, .tag = {'a', 'b', 'c'}};
  std::vector<double> out(segments, -1.0);
  MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, on.win());
  MPI_Datatype type = make_record_type(), copy = MPI_DATATYPE_NULL;
  MPI_Type_dup(type, &copy);
  CHECK(MPIX_Am(in.data(), elements, copy, out.data(), 1, MPI_DOUBLE, segments, next(), elements, type, 0, 1, MPI_LONG,
                1, MPI_DOUBLE, op, on.win()) == MPI_SUCCESS);
  MPI_Type_free(&type);
  MPI_Type_free(&copy);
  CHECK(MPI_Win_unlock(next(), on.win()) == MPI_SUCCESS);
  for (int i = 0; i < segments; ++i) CHECK(out[static_cast<std::size_t>(i)] == 2.0 * (9.0 * i + 3.0));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(*on.data() == segments);
}

/// The output of a segment is the extent of the input type, and its last element.
void report_type(const void* input, int input_count, MPI_Datatype input_type, void*, int, MPI_Datatype, void* output,
                 int, MPI_Datatype, int segments) {
  MPI_Aint bound = 0, extent = 0;
  MPI_Type_get_extent(input_type, &bound, &extent);
  CHECK(input_count == 1 && segments == 1);
  static_cast<int*>(output)[0] = static_cast<int>(extent);
  static_cast<int*>(output)[1] = static_cast<const int*>(input)[extent / 4 - 1];
}

/// Handles of types that the program has freed belong to other types soon. Messages before have made the window know
/// the old ones.
void freed_types(MPIX_Am_op op) {
  step = "freed types";
  const message_window<int> on(1);
  const std::array<int, 2> in{11, 22};
  std::vector<MPI_Datatype> handles;
  bool is_reused = false;
  MPI_Win_lock_all(0, on.win());
  for (int gap = 1; gap < 60; ++gap) {
    // Two integers with a gap at the target.
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, gap, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (const MPI_Datatype each : handles) is_reused = is_reused || each == type;
    handles.push_back(type);
    for (int i = 0; i < 2; ++i) {
      std::array<int, 2> out{};
      CHECK(MPIX_Am(in.data(), 2, MPI_INT, out.data(), 2, MPI_INT, 1, next(), 1, type, 0, 1, MPI_INT, 2, MPI_INT, op,
                    on.win()) == MPI_SUCCESS);
      CHECK(MPI_Win_flush(next(), on.win()) == MPI_SUCCESS);
      CHECK(out[0] == 4 * (gap + 1) && out[1] == 22);
    }
    MPI_Type_free(&type);
  }
  CHECK(is_reused);
  MPI_Win_unlock_all(on.win());
}

/// More shapes of messages in turn than a window keeps.
void many_shapes(MPIX_Am_op op) {
  step = "many shapes of messages";
  const message_window<int> on(1);
  std::vector<MPI_Datatype> types(7);
  for (std::size_t i = 0; i < types.size(); ++i) {
    MPI_Type_vector(2, 1, static_cast<int>(i) + 1, MPI_INT, &types[i]);
    MPI_Type_commit(&types[i]);
  }
  const std::array<int, 2> in{11, 22};
  MPI_Win_lock_all(0, on.win());
  for (std::size_t kinds = 1; kinds <= types.size(); ++kinds) {
    std::vector<std::array<int, 2>> out(200);
    for (std::size_t i = 0; i < out.size(); ++i) {
      CHECK(MPIX_Am(in.data(), 2, MPI_INT, out[i].data(), 2, MPI_INT, 1, next(), 1, types[i % kinds], 0, 1, MPI_INT, 2,
                    MPI_INT, op, on.win()) == MPI_SUCCESS);
    }
    CHECK(MPI_Win_flush(next(), on.win()) == MPI_SUCCESS);
    for (std::size_t i = 0; i < out.size(); ++i) CHECK(out[i][0] == 4 * static_cast<int>(i % kinds + 2));
  }
  MPI_Win_unlock_all(on.win());
  for (MPI_Datatype& each : types) MPI_Type_free(&each);
}

constexpr int secret = 0x5ec2e7;

/// Writes every element of its output, and into the gaps of the output's type what no origin may see.
void fill_gaps(const void* input, int, MPI_Datatype, void*, int, MPI_Datatype, void* output, int, MPI_Datatype type,
               int segments) {
  MPI_Aint bound = 0, extent = 0;
  MPI_Type_get_extent(type, &bound, &extent);
  CHECK(extent == 8);
  auto* const out = static_cast<int*>(output);
  for (int i = 0; i < segments; ++i) {
    out[2 * i] = static_cast<const int*>(input)[i] + 1;
    if (i + 1 < segments) out[2 * i + 1] = secret;
  }
}

/// The type of the output has gaps at the target and others at the origin, which stay as they are.
void output_with_gaps(MPIX_Am_op op) {
  step = "an output with gaps";
  constexpr int segments = 3000;
  const message_window<int> on(1);
  const program::attached_buffer buffer(40'000, on.win());
  MPI_Datatype of_target = MPI_DATATYPE_NULL, of_origin = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, 8, &of_target);
  MPI_Type_create_resized(MPI_INT, 0, 12, &of_origin);
  for (MPI_Datatype* const each : {&of_target, &of_origin}) MPI_Type_commit(each);
  std::vector<int> in(segments), out(3 * segments, -7);
  std::iota(in.begin(), in.end(), 0);
  MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, on.win());
  CHECK(MPIX_Am(in.data(), 1, MPI_INT, out.data(), 1, of_origin, segments, next(), 1, MPI_INT, 0, 1, MPI_INT, 1,
                of_target, op, on.win()) == MPI_SUCCESS);
  CHECK(MPI_Win_unlock(next(), on.win()) == MPI_SUCCESS);
  for (MPI_Datatype* const each : {&of_target, &of_origin}) MPI_Type_free(each);
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(out[i] == (i % 3 == 0 ? static_cast<int>(i / 3) + 1 : -7));
}

void sum_block(const void* input, int input_count, MPI_Datatype type, void*, int, MPI_Datatype, void* output, int,
               MPI_Datatype, int segments) {
  CHECK(input_count == 1 && segments == 1);
  int bytes = 0;
  MPI_Pack_size(1, type, MPI_COMM_SELF, &bytes);
  std::vector<int> numbers(static_cast<std::size_t>(bytes) / sizeof(int));
  int place = 0;
  CHECK(MPI_Pack(input, 1, type, numbers.data(), bytes, &place, MPI_COMM_SELF) == MPI_SUCCESS);
  *static_cast<int*>(output) = std::accumulate(numbers.begin(), numbers.begin() + place / 4, 0);
}

/// The description of a type is larger than a packet.
void type_larger_than_packet(MPIX_Am_op op) {
  step = "a type larger than a packet";
  constexpr int blocks = 40'000;
  const message_window<int> on(1);
  std::vector<int> places;
  for (int i = 0; i < blocks; ++i) places.push_back(2 * i + i % 2);  // no regular pattern
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_indexed_block(blocks, 1, places.data(), MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Aint bound = 0, extent = 0;
  MPI_Type_get_extent(type, &bound, &extent);
  const program::attached_buffer input(2 * static_cast<int>(extent), on.win());
  const program::attached_buffer output(1000, on.win());
  const std::vector<int> in(blocks, 3);
  for (int round = 0; round < 2; ++round) {
    int out = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, on.win());
    CHECK(MPIX_Am(in.data(), blocks, MPI_INT, &out, 1, MPI_INT, 1, next(), 1, type, 0, 1, MPI_INT, 1, MPI_INT, op,
                  on.win()) == MPI_SUCCESS);
    CHECK(MPI_Win_unlock(next(), on.win()) == MPI_SUCCESS);
    CHECK(out == 3 * blocks);
  }
  MPI_Type_free(&type);
}

void do_nothing(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, void*, int, MPI_Datatype, int) {}
void generate_all(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, void*, int output_count, MPI_Datatype,
                  int segments, int counts[]) {
  for (int i = 0; i < segments; ++i) counts[i] = output_count;
}

/// Input and output of plain and vector messages follow one rule: equal basic types, in the same order.
void equal_data(MPIX_Am_op plain, MPIX_Am_op vector) {
  step = "types of origin and target";
  const message_window<int> on(1);
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  struct side {
    int count;
    MPI_Datatype type;
  };
  struct row {
    side here;
    side there;
    int error_class;
  };
  const std::vector<row> rows{
      {{2, MPI_INT}, {2, MPI_INT}, MPI_SUCCESS},       {{2, MPI_INT}, {1, pair}, MPI_SUCCESS},
      {{1, pair}, {2, MPI_INT}, MPI_SUCCESS},          {{2, MPI_INT}, {2, MPI_INT32_T}, MPI_SUCCESS},
      {{8, MPI_BYTE}, {1, MPI_DOUBLE}, MPI_SUCCESS},   {{1, MPI_DOUBLE}, {8, MPI_PACKED}, MPI_SUCCESS},
      {{2, MPI_INT}, {1, MPI_DOUBLE}, MPI_ERR_TYPE},   {{1, MPI_DOUBLE}, {1, pair}, MPI_ERR_TYPE},
      {{1, MPI_DOUBLE}, {2, MPI_FLOAT}, MPI_ERR_TYPE}, {{2, MPI_INT}, {2, MPI_UNSIGNED}, MPI_ERR_TYPE},
      {{2, MPI_INT}, {3, MPI_INT}, MPI_ERR_TYPE},      {{0, MPI_INT}, {0, MPI_DOUBLE}, MPI_SUCCESS}};
  const std::array<double, 3> in{};
  std::array<double, 3> out{};
  const side none{0, MPI_INT};
  MPI_Win_lock_all(0, on.win());
  const auto send = [&](MPIX_Am_op op, const side& in_here, const side& in_there, const side& out_here,
                        const side& out_there) {
    int count = -1;
    const int code = op == plain ? MPIX_Am(in.data(), in_here.count, in_here.type, out.data(), out_here.count,
                                           out_here.type, 1, next(), in_there.count, in_there.type, 0, 1, MPI_INT,
                                           out_there.count, out_there.type, op, on.win())
                                 : MPIX_Amv(in.data(), in_here.count, in_here.type, out.data(), out_here.count,
                                            out_here.type, &count, 1, next(), in_there.count, in_there.type, 0, 1,
                                            MPI_INT, out_there.count, out_there.type, op, on.win());
    CHECK(MPI_Win_flush(next(), on.win()) == MPI_SUCCESS);
    // Counts are of elements at the target.
    CHECK(op == plain || count == (code == MPI_SUCCESS ? out_there.count : -1));
    return program::class_of(code);
  };
  for (const MPIX_Am_op op : {plain, vector}) {
    for (const row& each : rows) {
      CHECK(send(op, each.here, each.there, none, none) == each.error_class);
      CHECK(send(op, none, none, each.here, each.there) == each.error_class);
    }
  }
  MPI_Win_unlock_all(on.win());
  MPI_Type_free(&pair);
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  program::window_bytes_min = program::bytes_min;
  const MPIX_Am_op sum = program::make_operation(sum_records), report = program::make_operation(report_type),
                   fill = program::make_operation(fill_gaps), sum_of_block = program::make_operation(sum_block);
  handlers_use_types(sum);
  freed_types(report);
  many_shapes(report);
  output_with_gaps(fill);
  type_larger_than_packet(sum_of_block);
  equal_data(program::make_operation(do_nothing), program::make_vector_operation(generate_all));
}
