// What goes wrong with the data of one-sided operations: accumulates that must be atomic and in order, data types of
// all forms, the ends of memory, operations without data, and memory of dynamic and of shared windows. README.md lists
// the pitfalls. A plain MPI program. With the argument `no_shared`, it makes no shared windows; other
// arguments leave out cases.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "filled_window.hpp"
#include "program.hpp"

namespace {

using ints = program::filled_window<int>;
using longs = program::filled_window<long>;
using program::address_at_next;
using program::class_of;
using program::next;
using program::previous;
using program::rank;
using program::size;
using program::step;

/// A data type that this object commits and frees.
class owned_type {
 public:
  explicit owned_type(const std::function<void(MPI_Datatype*)>& make) {
    make(&type_);
    MPI_Type_commit(&type_);
  }
  ~owned_type() { MPI_Type_free(&type_); }
  owned_type(const owned_type&) = delete;
  owned_type& operator=(const owned_type&) = delete;
  MPI_Datatype operator*() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

// All processes add to the same words of process 0, by single elements, by blocks that travel in messages, by derived
// types and by compare-and-swap: the paths through shared memory and through messages are one for each element.
void accumulate_on_all_paths(std::string_view flavor) {
  step = "accumulate: all operations and paths at once";
  constexpr int rounds = 40, words = 3000;
  longs all(flavor, words);
  if (rank() == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, all.win);
    std::fill_n(all.memory, words, 0);
    MPI_Win_unlock(0, all.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const owned_type every_second([](MPI_Datatype* type) { MPI_Type_vector(words / 2, 1, 2, MPI_LONG, type); });
  const std::vector<long> ones(words, 1);
  std::vector<long> before(words);
  MPI_Win_lock_all(0, all.win);
  for (int round = 0; round < rounds; ++round) {
    MPI_Accumulate(ones.data(), 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, all.win);
    MPI_Accumulate(ones.data(), words, MPI_LONG, 0, 0, words, MPI_LONG, MPI_SUM, all.win);
    MPI_Accumulate(ones.data(), words / 2, MPI_LONG, 0, 0, 1, *every_second, MPI_SUM, all.win);
    MPI_Fetch_and_op(ones.data(), before.data(), MPI_LONG, 0, 0, MPI_SUM, all.win);
    MPI_Win_flush(0, all.win);
    MPI_Get_accumulate(ones.data(), words / 2, MPI_LONG, before.data(), words / 2, MPI_LONG, 0, 0, 1, *every_second,
                       MPI_SUM, all.win);
    MPI_Win_flush(0, all.win);
    for (long expected = 0, seen = -1;; expected = seen) {
      const long desired = expected + 1;
      MPI_Compare_and_swap(&desired, &expected, &seen, MPI_LONG, 0, 0, all.win);
      MPI_Win_flush(0, all.win);
      if (seen == expected) break;
    }
  }
  MPI_Win_unlock_all(all.win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, all.win);
    const long each = 1L * rounds * size();
    CHECK(all.memory[0] == 6 * each && all.memory[1] == each && all.memory[2] == 3 * each);
    CHECK(all.memory[words - 2] == 3 * each && all.memory[words - 1] == each);
    MPI_Win_unlock(0, all.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Accumulates of one origin on one target are in order, also on itself, and on all paths.
void accumulate_in_order(std::string_view flavor) {
  step = "accumulate: the order on oneself and on others";
  constexpr int count = 1 << 15;
  ints all(flavor, count);
  const owned_type every_second([](MPI_Datatype* type) { MPI_Type_vector(count / 2, 1, 2, MPI_INT, type); });
  const std::vector<int> large(count, -5);
  MPI_Win_lock_all(0, all.win);
  for (const int target : {rank(), next()}) {
    for (int round = 1; round <= 20; ++round) {
      int first = -1, second = -1, third = -1;
      if (round % 2 == 0) {
        MPI_Accumulate(large.data(), count, MPI_INT, target, 0, count, MPI_INT, MPI_REPLACE, all.win);
      } else {
        MPI_Accumulate(large.data(), count / 2, MPI_INT, target, 0, 1, *every_second, MPI_REPLACE, all.win);
      }
      MPI_Fetch_and_op(&round, &first, MPI_INT, target, count - 2, MPI_REPLACE, all.win);
      MPI_Get_accumulate(nullptr, 0, MPI_INT, &second, 1, MPI_INT, target, count - 2, 1, MPI_INT, MPI_NO_OP, all.win);
      MPI_Accumulate(&round, 1, MPI_INT, target, count - 2, 1, MPI_INT, MPI_SUM, all.win);
      MPI_Fetch_and_op(nullptr, &third, MPI_INT, target, count - 2, MPI_NO_OP, all.win);
      MPI_Win_flush(target, all.win);
      CHECK(first == -5 && second == round && third == 2 * round);
    }
    // All have written to themselves before others write there.
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(all.win);
  MPI_Barrier(MPI_COMM_WORLD);
}

// A mutex as libraries of global arrays make it: the last process that wants it is in a word of a created window.
void accumulate_as_mutex() {
  step = "accumulate: MPI_Fetch_and_op with MPI_REPLACE as a mutex";
  longs queue("created", 2), counter("allocated", 1);  // the tail at process 0, and a word of each that waits
  MPI_Win_lock_all(0, queue.win);
  MPI_Win_lock_all(0, counter.win);
  queue.memory[0] = queue.memory[1] = -1;
  counter.memory[0] = 0;
  MPI_Win_sync(queue.win);
  MPI_Win_sync(counter.win);
  MPI_Barrier(MPI_COMM_WORLD);
  constexpr int rounds = 30;
  for (int round = 0; round < rounds; ++round) {
    const long own = rank(), none = -1;
    long before = -2;
    MPI_Fetch_and_op(&own, &before, MPI_LONG, 0, 0, MPI_REPLACE, queue.win);
    MPI_Win_flush(0, queue.win);
    int word = 0;
    if (before != none) {  // the one before sends a message as it leaves
      MPI_Accumulate(&own, 1, MPI_LONG, static_cast<int>(before), 1, 1, MPI_LONG, MPI_REPLACE, queue.win);
      MPI_Win_flush(static_cast<int>(before), queue.win);
      MPI_Recv(&word, 1, MPI_INT, static_cast<int>(before), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    long value = -1;
    MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, counter.win);
    MPI_Win_flush(0, counter.win);
    ++value;
    MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, counter.win);
    MPI_Win_flush(0, counter.win);
    long last = -2;
    MPI_Compare_and_swap(&none, &own, &last, MPI_LONG, 0, 0, queue.win);
    MPI_Win_flush(0, queue.win);
    if (last == own) continue;
    long after = none;
    while (after == none) {
      MPI_Fetch_and_op(&none, &after, MPI_LONG, rank(), 1, MPI_REPLACE, queue.win);
      MPI_Win_flush(rank(), queue.win);
    }
    MPI_Send(&word, 1, MPI_INT, static_cast<int>(after), 5, MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(queue.win);
  MPI_Win_unlock_all(counter.win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) CHECK(counter.memory[0] == 1L * rounds * size());
  MPI_Barrier(MPI_COMM_WORLD);
}

// A type may begin before or behind its address: gaps at its beginning belong to no element.
void derived_types_with_bounds(std::string_view flavor) {
  step = "derived types: the true lower bound";
  ints all(flavor, 64);
  const owned_type behind([](MPI_Datatype* type) {  // ints 2 and 4
    const std::array<int, 2> places{2, 4};
    MPI_Type_create_indexed_block(2, 1, places.data(), MPI_INT, type);
  });
  const owned_type before([](MPI_Datatype* type) {  // ints -3 and -1, with bounds that are larger
    const std::array<int, 2> places{-3, -1};
    MPI_Datatype blocks = MPI_DATATYPE_NULL;
    MPI_Type_create_indexed_block(2, 1, places.data(), MPI_INT, &blocks);
    MPI_Type_create_resized(blocks, -8 * static_cast<MPI_Aint>(sizeof(int)), 10 * sizeof(int), type);
    MPI_Type_free(&blocks);
  });
  std::array<int, 32> from{}, into{};
  std::iota(from.begin(), from.end(), 100 * (rank() + 1));
  into.fill(-1);
  const int at_origin = 100 * (previous() + 1);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, all.win);
  MPI_Put(from.data(), 1, *behind, next(), 20, 1, *before, all.win);
  MPI_Put(&from[10], 2, *before, next(), 30, 2, *behind, all.win);
  MPI_Win_fence(0, all.win);
  std::array<int, 64> expected{};
  expected.fill(rank());
  expected[17] = at_origin + 2;
  expected[19] = at_origin + 4;
  expected[32] = at_origin + 7;
  expected[34] = at_origin + 9;
  expected[35] = at_origin + 17;  // 3 ints behind: the extent of `behind`
  expected[37] = at_origin + 19;
  CHECK(std::equal(expected.begin(), expected.end(), all.memory));
  MPI_Get(&into[8], 1, *before, next(), 15, 1, *behind, all.win);
  MPI_Win_fence(0, all.win);
  CHECK(into[5] == 100 * (rank() + 1) + 2 && into[7] == 100 * (rank() + 1) + 4);
  CHECK(into[8] == -1 && into[6] == -1 && into[4] == -1);
  MPI_Accumulate(from.data(), 1, *behind, next(), 20, 1, *before, MPI_SUM, all.win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, all.win);
  expected[17] *= 2;
  expected[19] *= 2;
  CHECK(std::equal(expected.begin(), expected.end(), all.memory));
}

// A type of one predefined element is not a predefined type, and is good for accumulates of several.
void derived_types_of_one_element(std::string_view flavor) {
  step = "derived types: a contiguous one is not predefined";
  ints all(flavor, 8);
  MPI_Win_set_errhandler(all.win, MPI_ERRORS_RETURN);
  const owned_type one([](MPI_Datatype* type) { MPI_Type_contiguous(1, MPI_INT, type); });
  const int value = 3;
  int seen = -1;
  MPI_Win_lock_all(0, all.win);
  CHECK(class_of(MPI_Fetch_and_op(&value, &seen, *one, next(), 0, MPI_SUM, all.win)) == MPI_ERR_TYPE);
  CHECK(class_of(MPI_Compare_and_swap(&value, &value, &seen, *one, next(), 0, all.win)) == MPI_ERR_TYPE);
  CHECK(MPI_Accumulate(&value, 1, *one, next(), 0, 1, MPI_INT, MPI_SUM, all.win) == MPI_SUCCESS);
  CHECK(MPI_Get_accumulate(&value, 1, MPI_INT, &seen, 1, *one, next(), 0, 1, *one, MPI_SUM, all.win) == MPI_SUCCESS);
  MPI_Win_unlock_all(all.win);
  CHECK(seen == next() + 3);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(all.memory[0] == rank() + 6 && all.memory[1] == rank());
  MPI_Barrier(MPI_COMM_WORLD);
}

// As solvers of sparse systems exchange ghost points: blocks at the origin, in the result and at the target.
void derived_types_on_all_sides(std::string_view flavor) {
  step = "derived types: of origin, result and target";
  constexpr int count = 400, block = 3;
  longs all(flavor, 5 * count);
  const auto type_of = [](int stride) {
    return [stride](MPI_Datatype* type) {
      std::vector<int> places;
      for (int i = 0; i < count; ++i) places.push_back(stride * i + i % 2);
      MPI_Type_create_indexed_block(count, block, places.data(), MPI_LONG, type);
    };
  };
  const owned_type origin(type_of(4)), result(type_of(6)), target(type_of(5));
  const std::vector<long> sent(4 * count + block, 1000 + rank());
  std::vector<long> seen(6 * count + block, -1);
  MPI_Win_fence(0, all.win);
  MPI_Get_accumulate(sent.data(), 1, *origin, seen.data(), 1, *result, next(), 0, 1, *target, MPI_SUM, all.win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, all.win);
  std::vector<long> expected_seen(seen.size(), -1), expected(5 * count, rank());
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < block; ++j) {
      expected_seen[static_cast<std::size_t>(6 * i + i % 2 + j)] = next();
      expected[static_cast<std::size_t>(5 * i + i % 2 + j)] = rank() + 1000 + previous();
    }
  }
  CHECK(seen == expected_seen);
  CHECK(std::equal(expected.begin(), expected.end(), all.memory));
}

// The size and the unit are those of the target, and not of the origin; a type ends where its last element does.
void range_of_the_target(std::string_view flavor) {
  step = "range check: size, unit and true span at the target";
  std::vector<int> own(static_cast<std::size_t>(10 * (rank() + 1)), -1);
  int* memory = own.data();
  const auto bytes = static_cast<MPI_Aint>(own.size() * sizeof(int));
  const int unit = (rank() + 1) * static_cast<int>(sizeof(int));
  MPI_Win win = MPI_WIN_NULL;
  if (flavor == "created") {
    MPI_Win_create(memory, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  } else {
    MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  }
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  const owned_type spread([](MPI_Datatype* type) {  // ints 0 and 2, and an extent of 8
    MPI_Datatype blocks = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 1, 2, MPI_INT, &blocks);
    MPI_Type_create_resized(blocks, 0, 8 * sizeof(int), type);
    MPI_Type_free(&blocks);
  });
  const owned_type before([](MPI_Datatype* type) {  // int -1
    const int place = -1;
    MPI_Type_create_indexed_block(1, 1, &place, MPI_INT, type);
  });
  const std::array<int, 4> values{1, 2, 3, 4};
  std::array<int, 4> seen{};
  MPI_Win_lock_all(0, win);
  for (int target = 0; target < size(); ++target) {
    const int units = 10, ints_per_unit = target + 1;
    const auto class_of_put = [&](int count, MPI_Aint at, MPI_Datatype type, int type_count) {
      return class_of(MPI_Put(values.data(), count, MPI_INT, target, at, type_count, type, win));
    };
    CHECK(class_of_put(1, units - 1, MPI_INT, 1) == MPI_SUCCESS);
    CHECK(class_of_put(1, units, MPI_INT, 1) == MPI_ERR_RMA_RANGE);
    // The unit at the end has as many ints as the target's unit.
    CHECK(class_of_put(4, units - 1, MPI_INT, 4) == (ints_per_unit >= 4 ? MPI_SUCCESS : MPI_ERR_RMA_RANGE));
    // Three ints from the beginning of the data to its end; another eight to the second item.
    const MPI_Aint last = (10 * ints_per_unit - 3) / ints_per_unit, second = (10 * ints_per_unit - 11) / ints_per_unit;
    CHECK(class_of_put(2, last, *spread, 1) == MPI_SUCCESS);
    CHECK(class_of_put(2, last + 1, *spread, 1) == MPI_ERR_RMA_RANGE);
    if (target > 0) CHECK(class_of_put(4, second, *spread, 2) == MPI_SUCCESS);
    CHECK(class_of_put(4, target == 0 ? 0 : second + 1, *spread, 2) == MPI_ERR_RMA_RANGE);
    CHECK(class_of_put(1, 1, *before, 1) == MPI_SUCCESS);
    CHECK(class_of_put(1, units, *before, 1) == MPI_SUCCESS);
    CHECK(class_of_put(1, 0, *before, 1) == MPI_ERR_RMA_RANGE);
    CHECK(class_of(MPI_Get(seen.data(), 2, MPI_INT, target, last + 1, 1, *spread, win)) == MPI_ERR_RMA_RANGE);
    CHECK(class_of(MPI_Accumulate(values.data(), 2, MPI_INT, target, last + 1, 1, *spread, MPI_SUM, win)) ==
          MPI_ERR_RMA_RANGE);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

// Operations that transfer nothing are legal at all places, with all types and null buffers.
void zero_cases(std::string_view flavor) {
  step = "zero cases";
  ints all(flavor, 4);
  MPI_Win_set_errhandler(all.win, MPI_ERRORS_RETURN);
  const owned_type empty([](MPI_Datatype* type) { MPI_Type_contiguous(0, MPI_INT, type); });
  const owned_type no_blocks([](MPI_Datatype* type) { MPI_Type_indexed(0, nullptr, nullptr, MPI_INT, type); });
  const owned_type no_members([](MPI_Datatype* type) { MPI_Type_create_struct(0, nullptr, nullptr, nullptr, type); });
  int value = 5, seen = 6;
  MPI_Win_lock_all(0, all.win);
  const auto try_all = [&](int count, MPI_Datatype type) {
    for (const MPI_Aint at : {0, 3, 4}) {  // 4: the end of the memory
      CHECK(MPI_Put(nullptr, count, type, next(), at, count, type, all.win) == MPI_SUCCESS);
      CHECK(MPI_Get(nullptr, count, type, next(), at, count, type, all.win) == MPI_SUCCESS);
      CHECK(MPI_Accumulate(nullptr, count, type, next(), at, count, type, MPI_SUM, all.win) == MPI_SUCCESS);
      CHECK(MPI_Get_accumulate(nullptr, count, type, nullptr, count, type, next(), at, count, type, MPI_SUM, all.win) ==
            MPI_SUCCESS);
      CHECK(MPI_Get_accumulate(nullptr, 0, MPI_INT, nullptr, count, type, next(), at, count, type, MPI_NO_OP,
                               all.win) == MPI_SUCCESS);
      std::array<MPI_Request, 2> pending{};
      CHECK(MPI_Rput(nullptr, count, type, next(), at, count, type, all.win, &pending[0]) == MPI_SUCCESS);
      CHECK(MPI_Rget(nullptr, count, type, next(), at, count, type, all.win, &pending[1]) == MPI_SUCCESS);
      MPI_Waitall(2, pending.data(), MPI_STATUSES_IGNORE);
    }
  };
  try_all(0, MPI_INT);
  for (const MPI_Datatype type : {*empty, *no_blocks, *no_members}) {
    try_all(0, type);
    try_all(3, type);
  }
  // No operand: its arguments have no meaning.
  CHECK(MPI_Get_accumulate(nullptr, 0, MPI_DATATYPE_NULL, &seen, 1, MPI_INT, next(), 1, 1, MPI_INT, MPI_NO_OP,
                           all.win) == MPI_SUCCESS);
  MPI_Win_flush(next(), all.win);
  CHECK(seen == next());
  seen = 6;
  CHECK(MPI_Fetch_and_op(nullptr, &seen, MPI_INT, next(), 1, MPI_NO_OP, all.win) == MPI_SUCCESS);
  MPI_Win_flush(next(), all.win);
  CHECK(seen == next());
  MPI_Win_unlock_all(all.win);
  for (int i = 0; i < 4; ++i) CHECK(all.memory[i] == rank());
  MPI_Barrier(MPI_COMM_WORLD);

  step = "zero cases: windows without memory";
  for (const bool is_created : {true, false}) {
    MPI_Win win = MPI_WIN_NULL;
    void* base = nullptr;
    if (is_created) {
      CHECK(MPI_Win_create(nullptr, 0, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS);
    } else {
      CHECK(MPI_Win_allocate(0, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win) == MPI_SUCCESS);
    }
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_fence(0, win);
    CHECK(MPI_Put(nullptr, 0, MPI_INT, next(), 0, 0, MPI_INT, win) == MPI_SUCCESS);
    CHECK(class_of(MPI_Put(&value, 1, MPI_INT, next(), 0, 1, MPI_INT, win)) == MPI_ERR_RMA_RANGE);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_free(&win);
  }
}

// Operations name addresses. Pieces may overlap: a byte belongs to the window as long as one piece has it.
void dynamic_windows() {
  step = "dynamic: pieces that touch, and absolute addresses";
  constexpr int count = 20'000;
  std::vector<int> memory(count, rank());
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  constexpr MPI_Aint half = count / 2 * static_cast<MPI_Aint>(sizeof(int));
  CHECK(MPI_Win_attach(win, memory.data(), half / 2) == MPI_SUCCESS);
  CHECK(MPI_Win_attach(win, &memory[3 * count / 4], half / 2) == MPI_SUCCESS);
  CHECK(MPI_Win_attach(win, &memory[count / 4], half) == MPI_SUCCESS);
  CHECK(MPI_Win_attach(win, nullptr, 0) == MPI_SUCCESS);
  const MPI_Aint there = address_at_next(memory.data());

  std::vector<int> values(count);
  const auto fill = [&](int process) { std::iota(values.begin(), values.end(), 1000 * process); };
  fill(rank());
  MPI_Win_fence(0, win);
  CHECK(MPI_Put(values.data(), count, MPI_INT, next(), there, count, MPI_INT, win) == MPI_SUCCESS);
  CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
  fill(previous());
  CHECK(memory == values);
  // The address is in the type.
  std::array<MPI_Aint, 2> places{MPI_Aint_add(there, 8), MPI_Aint_add(there, half + 4)};
  const owned_type absolute(
      [&](MPI_Datatype* type) { MPI_Type_create_hindexed_block(2, 1, places.data(), MPI_INT, type); });
  const std::array<int, 2> two{-7, -8};
  CHECK(MPI_Put(two.data(), 2, MPI_INT, next(), 0, 1, *absolute, win) == MPI_SUCCESS);
  CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
  CHECK(memory[2] == -7 && memory[count / 2 + 1] == -8 && memory[3] == values[3]);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);

  CHECK(MPI_Win_detach(win, nullptr) == MPI_SUCCESS);
  CHECK(MPI_Win_detach(win, &memory[3 * count / 4]) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  std::int64_t before = -1;
  const std::int64_t expected = -99, desired = 5;
  MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, win);
  CHECK(MPI_Put(two.data(), 1, MPI_INT, next(), there, 1, MPI_INT, win) == MPI_SUCCESS);
  CHECK(MPI_Compare_and_swap(&desired, &expected, &before, MPI_INT64_T, next(), MPI_Aint_add(there, 400), win) ==
        MPI_SUCCESS);
  CHECK(MPI_Win_unlock(next(), win) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(memory[0] == -7);
  CHECK(MPI_Win_detach(win, memory.data()) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  // The half in the middle is left.
  const auto class_of_put = [&](MPI_Aint at) {
    MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, win);
    const int found = class_of(MPI_Put(two.data(), 1, MPI_INT, next(), at, 1, MPI_INT, win));
    const int later = class_of(MPI_Win_unlock(next(), win));
    return found == MPI_SUCCESS ? later : found;
  };
  CHECK(class_of_put(MPI_Aint_add(there, half)) == MPI_SUCCESS);
  CHECK(class_of_put(there) == MPI_ERR_RMA_RANGE);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(memory[count / 2] == -7);
  CHECK(MPI_Win_detach(win, &memory[count / 4]) == MPI_SUCCESS);
  MPI_Win_free(&win);
}

// Sizes that are odd, and members without memory.
void shared_memory() {
  step = "shared memory: alignment";
  for (const bool is_separate : {false, true}) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", is_separate ? "true" : "false");
    for (int bytes = 1; bytes < 40; ++bytes) {
      unsigned char* own = nullptr;
      MPI_Win win = MPI_WIN_NULL;
      CHECK(MPI_Win_allocate_shared(bytes, 1, info, MPI_COMM_WORLD, &own, &win) == MPI_SUCCESS);
      for (int member = 0; member < size(); ++member) {
        MPI_Aint found = 0;
        int unit = 0;
        unsigned char* base = nullptr;
        MPI_Win_shared_query(win, member, &found, &unit, &base);
        CHECK(found == bytes && unit == 1);
        if (is_separate || member == 0) CHECK(reinterpret_cast<std::uintptr_t>(base) % 8 == 0);
        if (!is_separate) CHECK(base - own == (member - rank()) * bytes);
      }
      MPI_Win_free(&win);
    }

    step = "shared memory: members without memory";
    // Only odd ranks have some; alone, a process has none.
    const MPI_Aint own_bytes = rank() % 2 * static_cast<MPI_Aint>(sizeof(long));
    long *own = nullptr, *base = nullptr;
    MPI_Win win = MPI_WIN_NULL;
    CHECK(MPI_Win_allocate_shared(own_bytes, sizeof(long), info, MPI_COMM_WORLD, &own, &win) == MPI_SUCCESS);
    MPI_Aint bytes = -1;
    int unit = -1;
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &base);
    CHECK(bytes == (size() > 1 ? static_cast<MPI_Aint>(sizeof(long)) : 0));
    // Stores before a synchronization are seen by loads after it. Process 1 has the word; the others pass it on.
    if (size() > 1) {
      MPI_Win_lock_all(0, win);
      for (int round = 0; round < 50; ++round) {
        const int writer = round % size();
        if (rank() == writer) *base = 100L * round;
        round % 2 == 0 ? MPI_Win_sync(win) : MPI_Win_flush_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(win);
        CHECK(*base == 100L * round);
        long seen = -1;
        MPI_Get(&seen, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
        MPI_Win_flush(1, win);
        CHECK(seen == 100L * round);
        MPI_Barrier(MPI_COMM_WORLD);
      }
      MPI_Win_unlock_all(win);
    }
    MPI_Info_free(&info);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
  }
}

// An MPI reads windows of such sizes wrong, and does not align them.
void native_faults_of_small_sizes() {
  step = "native faults: allocated windows of all small sizes";
  for (int bytes = 1; bytes <= 300; bytes += size() > 2 ? 7 : 1) {  // an MPI takes long with many processes
    unsigned char* own = nullptr;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
    CHECK(reinterpret_cast<std::uintptr_t>(own) % 8 == 0);
    for (int i = 0; i < bytes; ++i) own[i] = static_cast<unsigned char>(i + 3 * rank());
    MPI_Win_fence(0, win);
    std::vector<unsigned char> seen(static_cast<std::size_t>(bytes));
    MPI_Get(seen.data(), bytes, MPI_UNSIGNED_CHAR, next(), 0, bytes, MPI_UNSIGNED_CHAR, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (std::size_t i = 0; i < seen.size(); ++i)
      CHECK(seen[i] == static_cast<unsigned char>(static_cast<int>(i) + 3 * next()));
    MPI_Win_free(&win);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  program::cases all(argc, argv);
  for (const std::string_view flavor : {"allocated", "created"}) {
    all.run("accumulate_on_all_paths", flavor, accumulate_on_all_paths);
    all.run("accumulate_in_order", flavor, accumulate_in_order);
    all.run("derived_types_with_bounds", flavor, derived_types_with_bounds);
    all.run("derived_types_of_one_element", flavor, derived_types_of_one_element);
    all.run("derived_types_on_all_sides", flavor, derived_types_on_all_sides);
    all.run("range_of_the_target", flavor, range_of_the_target);
    all.run("zero_cases", flavor, zero_cases);
  }
  all.run("accumulate_as_mutex", accumulate_as_mutex);
  all.run("dynamic_windows", dynamic_windows);
  if (!all.leave_out("no_shared")) all.run("shared_memory", shared_memory);
  all.run("native_faults_of_small_sizes", native_faults_of_small_sizes);
  all.end();
}
