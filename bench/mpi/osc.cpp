/// One-sided operations of a plain MPI program, for the benchmarks osc_*: run with the drop-in library of amity, and
/// without it.
///
/// Usage: mpiexec -n RANKS PROGRAM WHAT BATCHES COUNT
/// WHAT is one of the names in `measure`. Prints one JSON object; each value is the median of BATCHES batches of COUNT
/// operations of rank 0 on memory of rank 1, unless its function says otherwise. Keys begin with `allocated` for
/// windows of MPI_Win_allocate, and with `created` for those of MPI_Win_create.

#include <mpi.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "bench/mpi/measure.hpp"
#include "bench/mpi/messages.hpp"

namespace {

using namespace mpi_program;

// MPICH 4.0.2 allocates whole pages only.
constexpr std::size_t window_bytes = std::size_t{1} << 20;
constexpr int words_used = 512;

constexpr int origin = 0, target = 1;

enum class memory_kind { allocated, created };
constexpr memory_kind memory_kinds[] = {memory_kind::allocated, memory_kind::created};

std::string key(memory_kind kind, const std::string& figure) {
  return (kind == memory_kind::allocated ? "allocated_" : "created_") + figure;
}

template <class T>
MPI_Datatype type_of();
template <>
MPI_Datatype type_of<std::int8_t>() {
  return MPI_INT8_T;
}
template <>
MPI_Datatype type_of<std::int32_t>() {
  return MPI_INT32_T;
}
template <>
MPI_Datatype type_of<std::int64_t>() {
  return MPI_INT64_T;
}

/// Memory of each rank. Displacements are elements.
template <class T = std::int64_t>
class window {
 public:
  /// Collective. All elements are zero.
  explicit window(memory_kind kind = memory_kind::allocated, std::size_t bytes = window_bytes) {
    const auto size = static_cast<MPI_Aint>(bytes);
    if (kind == memory_kind::created) {
      own_.resize(bytes / sizeof(T));
      memory_ = own_.data();
      MPI_Win_create(memory_, size, sizeof(T), MPI_INFO_NULL, MPI_COMM_WORLD, &handle_);
    } else {
      MPI_Win_allocate(size, sizeof(T), MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &handle_);
    }
    update([&] { std::fill_n(memory_, bytes / sizeof(T), T{0}); });
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~window() { MPI_Win_free(&handle_); }
  window(const window&) = delete;
  window& operator=(const window&) = delete;

  MPI_Win handle() const { return handle_; }

  /// Calls `change`, which may load and store elements of this rank.
  template <class Change>
  void update(Change change) {
    int me = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, handle_);
    change();
    MPI_Win_unlock(me, handle_);
  }
  /// Returns an element of this rank.
  T element(std::size_t index) {
    T value{};
    update([&] { value = memory_[index]; });
    return value;
  }
  /// Returns the sum of `count` elements of this rank, each `stride` elements after the one before.
  T sum(std::size_t count, std::size_t stride = 1) {
    T total{};
    update([&] {
      for (std::size_t i = 0; i < count; ++i) total += memory_[i * stride];
    });
    return total;
  }
  T* data() { return memory_; }

 private:
  std::vector<T> own_;
  T* memory_ = nullptr;
  MPI_Win handle_ = MPI_WIN_NULL;
};

/// Calls `measure` at the origin, while the other ranks wait in a barrier.
template <class Measure>
void at_origin(int me, Measure measure) {
  if (me == origin) measure();
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Calls `measure` at the origin in a lock of all ranks, while the other ranks wait in a barrier.
template <class Measure>
void at_origin_locked(int me, MPI_Win handle, Measure measure) {
  at_origin(me, [&] {
    MPI_Win_lock_all(0, handle);
    measure();
    MPI_Win_unlock_all(handle);
  });
}

/// Elements 1, 2, ... as data of puts.
std::vector<std::int64_t> numbers() {
  std::vector<std::int64_t> all(words_used);
  std::iota(all.begin(), all.end(), std::int64_t{1});
  return all;
}

void put_word(const std::vector<std::int64_t>& from, int i, MPI_Win handle) {
  const int word = i % words_used;
  MPI_Put(&from[static_cast<std::size_t>(word)], 1, MPI_INT64_T, target, word, 1, MPI_INT64_T, handle);
}

void expect_last_word(int me, window<>& memory, int count) {
  if (me != target) return;
  const int last = (count - 1) % words_used;
  expect(memory.element(static_cast<std::size_t>(last)) == last + 1, "last word");
}

double put_and_flush_ns(int me, window<>& memory, int batches, int count) {
  const auto words = numbers();
  double ns = 0;
  at_origin_locked(me, memory.handle(), [&] {
    ns = median_of(batches, [&] {
      return each_ns(count, [&](int i) {
        put_word(words, i, memory.handle());
        MPI_Win_flush(target, memory.handle());
      });
    });
  });
  expect_last_word(me, memory, count);
  return ns;
}

sample measure_put_latency(int me, int batches, int count) {
  sample result;
  for (const memory_kind kind : memory_kinds) {
    window<> memory(kind);
    result[key(kind, "ns")] = put_and_flush_ns(me, memory, batches, count);
  }
  return result;
}

sample measure_network_put(int me, int batches, int count) {
  window<> memory;
  return {{"us", put_and_flush_ns(me, memory, batches, count) * 1e-3}};
}

sample measure_get_latency(int me, int batches, int count) {
  sample result;
  for (const memory_kind kind : memory_kinds) {
    window<> memory(kind);
    memory.update([&] { std::iota(memory.data(), memory.data() + words_used, std::int64_t{0}); });
    MPI_Barrier(MPI_COMM_WORLD);
    at_origin_locked(me, memory.handle(), [&] {
      std::int64_t word = 0, sum = 0, expected_sum = 0;
      result[key(kind, "ns")] = median_of(batches, [&] {
        return each_ns(count, [&](int i) {
          MPI_Get(&word, 1, MPI_INT64_T, target, i % words_used, 1, MPI_INT64_T, memory.handle());
          MPI_Win_flush(target, memory.handle());
          sum += word;
          expected_sum += i % words_used;
        });
      });
      expect(sum == expected_sum, "sum of the words");
    });
  }
  return result;
}

/// A flush at the end of each batch.
sample measure_put_rate(int me, int batches, int count) {
  window<> memory;
  const auto words = numbers();
  sample result;
  at_origin_locked(me, memory.handle(), [&] {
    const double ns = median_of(batches, [&] {
      return each_ns(count, [&](int i) {
        put_word(words, i, memory.handle());
        if (i == count - 1) MPI_Win_flush(target, memory.handle());
      });
    });
    result["m_per_s"] = 1e3 / ns;
  });
  expect_last_word(me, memory, count);
  return result;
}

/// COUNT puts of 64 KiB, each with a flush, and a sixteenth as many of 1 MiB.
sample measure_put_bandwidth(int me, int batches, int count) {
  window<> memory;
  const std::vector<std::int64_t> ones(window_bytes / sizeof(std::int64_t), 1);
  sample result;
  at_origin_locked(me, memory.handle(), [&] {
    const auto gbps = [&](int bytes, int puts) {
      const int words = bytes / static_cast<int>(sizeof(std::int64_t));
      return median_of(batches, [&] {
        return bytes / each_ns(puts, [&](int) {
                 MPI_Put(ones.data(), words, MPI_INT64_T, target, 0, words, MPI_INT64_T, memory.handle());
                 MPI_Win_flush(target, memory.handle());
               });
      });
    };
    result["64k_gbps"] = gbps(64 << 10, count);
    result["1m_gbps"] = gbps(window_bytes, (count + 15) / 16);
  });
  if (me == target) expect(memory.sum(ones.size()) == static_cast<std::int64_t>(ones.size()), "sum of the words");
  return result;
}

/// Lock, put of 8 bytes, and unlock.
sample measure_lock(int me, int batches, int count) {
  const auto words = numbers();
  sample result;
  for (const memory_kind kind : memory_kinds) {
    window<> memory(kind);
    const auto lock_ns = [&](int lock) {
      return median_of(batches, [&] {
        return each_ns(count, [&](int i) {
          MPI_Win_lock(lock, target, 0, memory.handle());
          put_word(words, i, memory.handle());
          MPI_Win_unlock(target, memory.handle());
        });
      });
    };
    at_origin(me, [&] {
      result[key(kind, "exclusive_ns")] = lock_ns(MPI_LOCK_EXCLUSIVE);
      result[key(kind, "shared_ns")] = lock_ns(MPI_LOCK_SHARED);
    });
    expect_last_word(me, memory, count);
  }
  return result;
}

/// Waits for the other ranks. Leaves the processors to the ranks that measure.
void sleep_until_all_wait() {
  MPI_Request all = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &all);
  for (int complete = 0; complete == 0;) {
    MPI_Test(&all, &complete, MPI_STATUS_IGNORE);
    if (complete == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Flushes of the target, and of all ranks, without operations since the last one.
sample measure_flush(int me, int batches, int count) {
  window<> memory(memory_kind::allocated, 4096);
  const auto words = numbers();
  sample result;
  if (me == origin) {
    MPI_Win_lock_all(0, memory.handle());
    put_word(words, 0, memory.handle());
    MPI_Win_flush(target, memory.handle());
    result["flush_ns"] =
        median_of(batches, [&] { return each_ns(count, [&](int) { MPI_Win_flush(target, memory.handle()); }); });
    result["flush_all_ns"] =
        median_of(batches, [&] { return each_ns(count, [&](int) { MPI_Win_flush_all(memory.handle()); }); });
    MPI_Win_unlock_all(memory.handle());
  }
  sleep_until_all_wait();
  expect_last_word(me, memory, 1);
  return result;
}

/// COUNT windows, made and freed one after the other: the time of the first one, and the median of the last BATCHES.
template <memory_kind Kind>
sample measure_windows(int batches, int count) {
  constexpr MPI_Aint bytes = 4096;
  std::vector<char> own(bytes);
  std::vector<double> us;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) {
    MPI_Win handle = MPI_WIN_NULL;
    const double begin = MPI_Wtime();
    if constexpr (Kind == memory_kind::created) {
      MPI_Win_create(own.data(), bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &handle);
    } else {
      char* memory = nullptr;
      MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &handle);
    }
    MPI_Win_free(&handle);
    us.push_back((MPI_Wtime() - begin) * 1e6);
  }
  const int last = std::min(batches, count);
  return {{"first_us", us.front()}, {"last_us", median({us.end() - last, us.end()})}};
}

template <class T>
double swap_ns(int me, int batches, int count) {
  window<T> memory;
  double ns = 0;
  at_origin_locked(me, memory.handle(), [&] {
    T value = 0;
    ns = median_of(batches, [&] {
      return each_ns(count, [&](int) {
        const T next = value + 1;
        T previous = 0;
        MPI_Compare_and_swap(&next, &value, &previous, type_of<T>(), target, 0, memory.handle());
        MPI_Win_flush(target, memory.handle());
        if (previous == value) value = next;
      });
    });
  });
  if (me == target) expect(memory.element(0) == T{1} * batches * count, "number of swaps");
  return ns;
}

/// Accumulates and fetch_and_ops of 8 bytes, and compare_and_swaps of 4: with 8, Open MPI 4.1.4 crashes.
sample measure_atomics(int me, int batches, int count) {
  window<> memory;
  sample result;
  at_origin_locked(me, memory.handle(), [&] {
    const std::int64_t one = 1;
    std::int64_t previous = 0;
    result["accumulate_ns"] = median_of(batches, [&] {
      return each_ns(count, [&](int i) {
        MPI_Accumulate(&one, 1, MPI_INT64_T, target, i % words_used, 1, MPI_INT64_T, MPI_SUM, memory.handle());
        MPI_Win_flush(target, memory.handle());
      });
    });
    result["fetch_and_op_ns"] = median_of(batches, [&] {
      return each_ns(count, [&](int i) {
        MPI_Fetch_and_op(&one, &previous, MPI_INT64_T, target, i % words_used, MPI_SUM, memory.handle());
        MPI_Win_flush(target, memory.handle());
      });
    });
  });
  if (me == target) expect(memory.sum(words_used) == std::int64_t{2} * batches * count, "sum");
  result["compare_and_swap_ns"] = swap_ns<std::int32_t>(me, batches, count);
  return result;
}

sample measure_long_swap(int me, int batches, int count) {
  return {{"compare_and_swap_ns", swap_ns<std::int64_t>(me, batches, count)}};
}

/// Sums of 8 KiB of elements of this type, each with a flush. No sum leaves the range of 8 bits, where MPIs differ: 100
/// of them add 1, and the next one subtracts 100.
template <class T>
double accumulate_ns(int me, memory_kind kind, int batches, int count) {
  constexpr int elements = (8 << 10) / sizeof(T);
  constexpr int period = 101;
  const std::vector<T> ones(elements, 1), all_before(elements, 1 - period);
  window<T> memory(kind);
  double ns = 0;
  int operations = 0;
  at_origin_locked(me, memory.handle(), [&] {
    ns = median_of(batches, [&] {
      return each_ns(count, [&](int) {
        const T* const numbers = ++operations % period == 0 ? all_before.data() : ones.data();
        MPI_Accumulate(numbers, elements, type_of<T>(), target, 0, elements, type_of<T>(), MPI_SUM, memory.handle());
        MPI_Win_flush(target, memory.handle());
      });
    });
  });
  const T added = static_cast<T>(batches * count % period);
  if (me == target)
    expect(memory.element(0) == added && memory.element(elements - 1) == added && memory.element(elements) == 0,
           "sums");
  return ns;
}

sample measure_accumulate(int me, int batches, int count) {
  sample result;
  for (const memory_kind kind : memory_kinds) {
    result[key(kind, "8_bits_ns")] = accumulate_ns<std::int8_t>(me, kind, batches, count);
    result[key(kind, "32_bits_ns")] = accumulate_ns<std::int32_t>(me, kind, batches, count);
    result[key(kind, "64_bits_ns")] = accumulate_ns<std::int64_t>(me, kind, batches, count);
  }
  return result;
}

/// Blocks of 8 bytes with as large gaps, at the origin and at the target, each operation with a flush. COUNT operations
/// of 1 KiB, and fewer of more bytes.
sample measure_types(int me, int batches, int count) {
  constexpr int stride = 2, blocks_max = (64 << 10) / 8;
  const std::vector<std::int64_t> ones(stride * blocks_max, 1);
  window<> puts, sums;
  sample result;
  std::int64_t added = 0;
  for (const int kib : {1, 8, 64}) {
    const int blocks = (kib << 10) / 8, operations = std::max(1, count / kib);
    added += std::int64_t{1} * batches * operations * blocks;
    MPI_Datatype strided = MPI_DATATYPE_NULL;
    MPI_Type_vector(blocks, 1, stride, MPI_INT64_T, &strided);
    MPI_Type_commit(&strided);
    const auto timed_ns = [&](MPI_Win handle, auto operation) {
      double ns = 0;
      at_origin_locked(me, handle, [&] {
        ns = median_of(batches, [&] {
          return each_ns(operations, [&](int) {
            operation();
            MPI_Win_flush(target, handle);
          });
        });
      });
      return ns;
    };
    const std::string size = std::to_string(kib) + "k_ns";
    result["put_" + size] =
        timed_ns(puts.handle(), [&] { MPI_Put(ones.data(), 1, strided, target, 0, 1, strided, puts.handle()); });
    result["accumulate_" + size] = timed_ns(
        sums.handle(), [&] { MPI_Accumulate(ones.data(), 1, strided, target, 0, 1, strided, MPI_SUM, sums.handle()); });
    MPI_Type_free(&strided);
  }
  if (me == target) {
    expect(puts.sum(stride * blocks_max) == blocks_max, "sum of the words");
    expect(sums.sum(blocks_max, stride) == added && sums.sum(stride * blocks_max) == added, "sums");
  }
  return result;
}

/// Lock, put of 8 bytes, and unlock, while the target computes for COUNT milliseconds without calls of MPI.
sample measure_busy_target(int me, int batches, int count) {
  using clock = std::chrono::steady_clock;
  const std::chrono::milliseconds computed(count);
  const auto words = numbers();
  sample result;
  for (const memory_kind kind : memory_kinds) {
    window<> memory(kind);
    result[key(kind, "ms")] = median_of(batches, [&] {
      double ns = 0;
      MPI_Barrier(MPI_COMM_WORLD);
      if (me == target) {
        for (const auto end = clock::now() + computed; clock::now() < end;) {
        }
      }
      if (me == origin) {
        std::this_thread::sleep_for(computed / 20);  // the target is computing then
        ns = each_ns(1, [&](int) {
          MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, memory.handle());
          put_word(words, 0, memory.handle());
          MPI_Win_unlock(target, memory.handle());
        });
      }
      MPI_Barrier(MPI_COMM_WORLD);
      return ns * 1e-6;
    });
    expect_last_word(me, memory, 1);
  }
  return result;
}

/// The first epoch of a batch is not timed: ranks leave the barrier at different times if they outnumber the cores.
template <class Epoch>
sample measure_epochs(int batches, int count, Epoch epoch) {
  return {{"us", median_of(batches, [&] {
             MPI_Barrier(MPI_COMM_WORLD);
             epoch();
             return each_ns(count, [&](int) { epoch(); }) * 1e-3;
           })}};
}

sample measure_fence(int batches, int count) {
  window<> memory;
  MPI_Win_fence(MPI_MODE_NOPRECEDE, memory.handle());
  const sample result = measure_epochs(batches, count, [&] { MPI_Win_fence(0, memory.handle()); });
  MPI_Win_fence(MPI_MODE_NOSUCCEED, memory.handle());
  return result;
}

/// Each rank is an origin and a target for the ranks before and after it in a ring.
sample measure_pscw(int me, int ranks, int batches, int count) {
  window<> memory;
  const int around[] = {(me + 1) % ranks, (me + ranks - 1) % ranks};
  MPI_Group all = MPI_GROUP_NULL, neighbors = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, ranks > 2 ? 2 : 1, around, &neighbors);
  const sample result = measure_epochs(batches, count, [&] {
    MPI_Win_post(neighbors, 0, memory.handle());
    MPI_Win_start(neighbors, 0, memory.handle());
    MPI_Win_complete(memory.handle());
    MPI_Win_wait(memory.handle());
  });
  MPI_Group_free(&neighbors);
  MPI_Group_free(&all);
  return result;
}

sample measure_messages_with_window(int me, int batches, int count) {
  const window<> unused(memory_kind::allocated, 4096);
  return measure_messages(me, batches, count);
}

/// Whether the system lets the origin read memory of the target: 1 or 0.
sample measure_single_copy(int me) {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  std::int64_t word = me == target ? 1 : 0;
  std::int64_t where[] = {getpid(), reinterpret_cast<std::intptr_t>(&word)};
  MPI_Bcast(where, 2, MPI_INT64_T, target, MPI_COMM_WORLD);
  bool copied = false;
  at_origin(me, [&] {
    const iovec to{&word, sizeof word},
        from{reinterpret_cast<void*>(static_cast<std::intptr_t>(where[1])), sizeof word};
    copied = process_vm_readv(static_cast<pid_t>(where[0]), &to, 1, &from, 1, 0) == sizeof word && word == 1;
  });
  return {{"works", copied ? 1 : 0}};
}

/// Returns the sample at the origin, and an empty one for an unknown name.
sample measure(int me, int ranks, const std::string& what, int batches, int count) {
  if (what == "put_latency") return measure_put_latency(me, batches, count);
  if (what == "get_latency") return measure_get_latency(me, batches, count);
  if (what == "put_rate") return measure_put_rate(me, batches, count);
  if (what == "put_bandwidth") return measure_put_bandwidth(me, batches, count);
  if (what == "lock") return measure_lock(me, batches, count);
  if (what == "flush") return measure_flush(me, batches, count);
  if (what == "windows_allocated") return measure_windows<memory_kind::allocated>(batches, count);
  if (what == "windows_created") return measure_windows<memory_kind::created>(batches, count);
  if (what == "atomics") return measure_atomics(me, batches, count);
  if (what == "long_swap") return measure_long_swap(me, batches, count);
  if (what == "accumulate") return measure_accumulate(me, batches, count);
  if (what == "types") return measure_types(me, batches, count);
  if (what == "busy_target") return measure_busy_target(me, batches, count);
  if (what == "network_put") return measure_network_put(me, batches, count);
  if (what == "fence") return measure_fence(batches, count);
  if (what == "pscw") return measure_pscw(me, ranks, batches, count);
  if (what == "messages") return measure_messages(me, batches, count);
  if (what == "messages_with_window") return measure_messages_with_window(me, batches, count);
  if (what == "single_copy") return measure_single_copy(me);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  sample result;
  if (argc == 4 && ranks >= 2) result = measure(me, ranks, argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
  if (me == origin) {
    if (result.empty()) {
      std::fprintf(stderr, "usage: mpiexec -n RANKS %s WHAT BATCHES COUNT\n", argv[0]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    print(result);
  }
  MPI_Finalize();
  return 0;
}
