/// The peer of the benchmarks of windows: the same operations on windows of an MPI, from MPI_Win_allocate.
///
/// Usage: mpiexec -n RANKS PROGRAM WHAT BATCHES COUNT [SIZES...]
/// WHAT is put_latency, get_latency, put_rate, put_bandwidth or atomics, for two ranks, or fence or pscw; or
/// transfer_put or transfer_get, for two ranks, with the bytes of an operation in SIZES; or ghost_fence_buffer,
/// ghost_fence_element, ghost_pscw_buffer or ghost_pscw_element with the elements per neighbor in SIZES. Prints one
/// JSON object with the keys of bench/window.cpp, bench/window_transfers.cpp and bench/ghost_cells.cpp; each value is
/// the median of BATCHES batches of COUNT operations.

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "bench/mpi/measure.hpp"

namespace {

using namespace mpi_program;

// As in bench/window.cpp. MPICH 4.0.2 needs whole pages.
constexpr std::size_t window_bytes = std::size_t{1} << 20;
constexpr int words_used = 512;

constexpr int origin = 0, target = 1;

/// Memory of each rank, all zero. Displacements are elements.
template <class T>
class mpi_window {
 public:
  explicit mpi_window(std::size_t bytes = window_bytes) : size_(bytes / sizeof(T)) {
    MPI_Win_allocate(static_cast<MPI_Aint>(bytes), sizeof(T), MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &handle_);
    MPI_Win_lock_all(0, handle_);
    for (std::size_t i = 0; i < size(); ++i) memory_[i] = 0;
    publish();
    MPI_Win_unlock_all(handle_);
  }
  ~mpi_window() { MPI_Win_free(&handle_); }
  mpi_window(const mpi_window&) = delete;
  mpi_window& operator=(const mpi_window&) = delete;

  MPI_Win handle() const { return handle_; }
  T* data() { return memory_; }
  std::size_t size() const { return size_; }

  /// Separates loads and stores of the owner from operations. Collective, with a lock.
  void publish() {
    MPI_Win_sync(handle_);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(handle_);
  }
  /// Returns the sum of this rank's memory. Collective, with a lock.
  std::int64_t sum() {
    publish();
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < size(); ++i) sum += static_cast<std::int64_t>(memory_[i]);
    return sum;
  }

 private:
  std::size_t size_;
  T* memory_ = nullptr;
  MPI_Win handle_ = MPI_WIN_NULL;
};

template <bool FlushEach>
sample measure_puts(int me, int batches, int count) {
  mpi_window<std::uint64_t> memory;
  MPI_Win_lock_all(0, memory.handle());
  sample result;
  if (me == origin) {
    // They stay as they are until the flush.
    std::vector<std::uint64_t> words(words_used);
    std::iota(words.begin(), words.end(), std::uint64_t{1});
    result["ns"] = median_of(batches, [&] {
      const double begin = MPI_Wtime();
      for (int i = 0; i < count; ++i) {
        const int word = i % words_used;
        MPI_Put(&words[static_cast<std::size_t>(word)], 1, MPI_UINT64_T, target, word, 1, MPI_UINT64_T,
                memory.handle());
        if constexpr (FlushEach) MPI_Win_flush(target, memory.handle());
      }
      MPI_Win_flush(target, memory.handle());
      return (MPI_Wtime() - begin) / count * 1e9;
    });
    result["m_per_s"] = 1e3 / result["ns"];
  }
  memory.publish();
  const auto last = static_cast<std::size_t>((count - 1) % words_used);
  if (me == target) expect(memory.data()[last] == last + 1, "last word");
  MPI_Win_unlock_all(memory.handle());
  return result;
}

sample measure_gets(int me, int batches, int count) {
  mpi_window<std::uint64_t> memory;
  MPI_Win_lock_all(0, memory.handle());
  for (std::size_t i = 0; i < memory.size(); ++i) memory.data()[i] = i;
  memory.publish();
  sample result;
  if (me == origin) {
    std::uint64_t word = 0, sum = 0, expected_sum = 0;
    result["ns"] = median_of(batches, [&] {
      return each_ns(count, [&](int i) {
        MPI_Get(&word, 1, MPI_UINT64_T, target, i % words_used, 1, MPI_UINT64_T, memory.handle());
        MPI_Win_flush(target, memory.handle());
        sum += word;
        expected_sum += static_cast<std::uint64_t>(i % words_used);
      });
    });
    expect(sum == expected_sum, "sum of the words");
  }
  MPI_Win_unlock_all(memory.handle());
  MPI_Barrier(MPI_COMM_WORLD);
  return result;
}

sample measure_bandwidth(int me, int batches, int count) {
  mpi_window<std::uint64_t> memory;
  MPI_Win_lock_all(0, memory.handle());
  sample result;
  if (me == origin) {
    const std::vector<std::uint64_t> source(memory.size(), 1);
    const auto gbps = [&](int bytes, int puts) {
      const int words = bytes / 8;
      return bytes / each_ns(puts, [&](int) {
               MPI_Put(source.data(), words, MPI_UINT64_T, target, 0, words, MPI_UINT64_T, memory.handle());
               MPI_Win_flush(target, memory.handle());
             });
    };
    result["put_64k_gbps"] = median_of(batches, [&] { return gbps(64 << 10, count); });
    result["put_1m_gbps"] = median_of(batches, [&] { return gbps(window_bytes, (count + 15) / 16); });
  }
  const std::int64_t sum = memory.sum();
  if (me == target) expect(sum == static_cast<std::int64_t>(memory.size()), "sum of the words");
  MPI_Win_unlock_all(memory.handle());
  return result;
}

sample measure_sums(int me, int batches, int count) {
  mpi_window<std::int64_t> memory;
  MPI_Win_lock_all(0, memory.handle());
  sample result;
  if (me == origin) {
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
  }
  const std::int64_t sum = memory.sum();
  if (me == target) expect(sum == std::int64_t{2} * batches * count, "sum");
  MPI_Win_unlock_all(memory.handle());
  return result;
}

/// Swaps words of 4 bytes, because Open MPI 4.1.4 crashes with 8.
sample measure_swaps(int me, int batches, int count) {
  mpi_window<std::int32_t> memory;
  MPI_Win_lock_all(0, memory.handle());
  sample result;
  if (me == origin) {
    std::int32_t value = 0;
    result["compare_and_swap_ns"] = median_of(batches, [&] {
      return each_ns(count, [&](int) {
        const std::int32_t next = value + 1;
        std::int32_t previous = 0;
        MPI_Compare_and_swap(&next, &value, &previous, MPI_INT32_T, target, 0, memory.handle());
        MPI_Win_flush(target, memory.handle());
        if (previous == value) value = next;
      });
    });
  }
  const std::int64_t sum = memory.sum();
  if (me == target) expect(sum == std::int64_t{1} * batches * count, "swaps");
  MPI_Win_unlock_all(memory.handle());
  return result;
}

template <class Epoch>
sample measure_epochs(int batches, int count, Epoch epoch) {
  return {{"us", median_of(batches, [&] {
             MPI_Barrier(MPI_COMM_WORLD);
             return each_ns(count, [&](int) { epoch(); }) * 1e-3;
           })}};
}

sample measure_fences(int batches, int count) {
  mpi_window<std::uint64_t> memory;
  MPI_Win_fence(MPI_MODE_NOPRECEDE, memory.handle());
  const sample result = measure_epochs(batches, count, [&] { MPI_Win_fence(0, memory.handle()); });
  MPI_Win_fence(MPI_MODE_NOSUCCEED, memory.handle());
  return result;
}

/// Each rank is an origin and a target for the ranks before and after it in a ring.
sample measure_pscw(int me, int ranks, int batches, int count) {
  mpi_window<std::uint64_t> memory;
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

// The next constants and functions are those of bench/window_transfers.cpp.

int operations_of(int bytes) {
  constexpr int operations_max = 32, epoch_bytes_max = 32 << 20;
  return std::clamp(epoch_bytes_max / bytes, 1, operations_max);
}

int epochs_of(int bytes, int count) {
  constexpr std::int64_t epoch_bytes = 20'000;
  return static_cast<int>(std::max(count * epoch_bytes / (bytes + epoch_bytes), std::int64_t{1}));
}

/// Ranks of one machine share this clock. MPI_Wtime may begin at another time on each rank.
std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t latest(std::int64_t ns) {
  MPI_Allreduce(MPI_IN_PLACE, &ns, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  return ns;
}

/// Puts or gets between two ranks under post, start, complete and wait.
class transfer {
 public:
  transfer(int me, bool puts, int bytes)
      : me_(me),
        puts_(puts),
        bytes_(bytes),
        operations_(operations_of(bytes)),
        buffer_(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(operations_)),
        memory_(std::max(window_bytes, buffer_.size())) {
    const int other = 1 - me;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &other, &peer_);
    MPI_Group_free(&all);
    std::fill_n(puts ? buffer_.data() : memory_.data(), buffer_.size(), fill(me));
  }
  ~transfer() { MPI_Group_free(&peer_); }
  transfer(const transfer&) = delete;
  transfer& operator=(const transfer&) = delete;

  double latency_us(int round_trips) {
    clear(1);
    MPI_Barrier(MPI_COMM_WORLD);
    const std::int64_t begin_ns = now_ns();
    for (int i = 0; i < round_trips; ++i) {
      if (me_ == origin) {
        access(1);
        expose();
      } else {
        expose();
        access(1);
      }
    }
    const auto ns = static_cast<double>(now_ns() - begin_ns);
    check(1, true);
    return ns * 1e-3 / (2.0 * round_trips);
  }

  double bandwidth_mbps(int epochs) {
    clear(operations_);
    MPI_Barrier(MPI_COMM_WORLD);
    const std::int64_t begin_ns = now_ns();
    for (int i = 0; i < epochs; ++i) me_ == origin ? access(operations_) : expose();
    const auto ns = static_cast<double>(latest(now_ns()) - begin_ns);
    check(operations_, false);
    return static_cast<double>(buffer_.size()) * epochs / ns * 1e3;
  }

 private:
  static char fill(int rank) { return static_cast<char>(1 + rank); }

  char* destination() { return puts_ ? memory_.data() : buffer_.data(); }
  std::size_t bytes_of(int operations) const {
    return static_cast<std::size_t>(operations) * static_cast<std::size_t>(bytes_);
  }
  void clear(int operations) { std::fill_n(destination(), bytes_of(operations), 0); }

  void access(int operations) {
    MPI_Win_start(peer_, 0, memory_.handle());
    for (int i = 0; i < operations; ++i) {
      const auto offset = static_cast<MPI_Aint>(bytes_of(i));
      if (puts_) {
        MPI_Put(buffer_.data() + offset, bytes_, MPI_BYTE, 1 - me_, offset, bytes_, MPI_BYTE, memory_.handle());
      } else {
        MPI_Get(buffer_.data() + offset, bytes_, MPI_BYTE, 1 - me_, offset, bytes_, MPI_BYTE, memory_.handle());
      }
    }
    MPI_Win_complete(memory_.handle());
  }
  void expose() {
    MPI_Win_post(peer_, 0, memory_.handle());
    MPI_Win_wait(memory_.handle());
  }

  void check(int operations, bool both) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (!both && me_ != (puts_ ? target : origin)) return;
    const char* const begin = destination();
    const char expected = fill(1 - me_);
    expect(std::all_of(begin, begin + bytes_of(operations), [&](char each) { return each == expected; }), "bytes");
  }

  int me_;
  bool puts_;
  int bytes_;
  int operations_;
  std::vector<char> buffer_;
  mpi_window<char> memory_;
  MPI_Group peer_ = MPI_GROUP_NULL;
};

sample measure_transfers(int me, bool puts, int batches, int count, const std::vector<int>& sizes) {
  sample result;
  for (const int bytes : sizes) {
    transfer one(me, puts, bytes);
    const int epochs = epochs_of(bytes, count);
    one.latency_us(1);
    std::vector<double> us, mbps;
    for (int batch = 0; batch < batches; ++batch) {
      us.push_back(one.latency_us(epochs));
      mbps.push_back(one.bandwidth_mbps(epochs));
    }
    const auto of = [bytes](const char* metric) { return metric + std::to_string(bytes); };
    result[of("us_")] = median(us);
    result[of("mbps_")] = median(mbps);
  }
  return result;
}

constexpr int sides = 4;

/// As in bench/ghost_cells.cpp.
std::vector<int> neighbors_of(int me, int ranks) {
  int columns = static_cast<int>(std::sqrt(ranks));
  while (ranks % columns != 0) --columns;
  const int rows = ranks / columns, row = me / columns, column = me % columns;
  const auto at = [&](int r, int c) { return (r + rows) % rows * columns + (c + columns) % columns; };
  return {at(row, column - 1), at(row, column + 1), at(row - 1, column), at(row + 1, column)};
}

/// Updates of ghost cells on a periodic grid of ranks.
class ghost_exchange {
 public:
  ghost_exchange(int me, int ranks, bool per_element, int elements)
      : neighbors_(neighbors_of(me, ranks)),
        per_element_(per_element),
        elements_(elements),
        buffers_(static_cast<std::size_t>(sides * elements), me) {
    expect(sides * static_cast<std::size_t>(elements) <= cells_.size(), "number of elements");
    std::vector<int> peers = neighbors_;
    std::sort(peers.begin(), peers.end());
    peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, static_cast<int>(peers.size()), peers.data(), &peers_);
    MPI_Group_free(&all);
  }
  ~ghost_exchange() { MPI_Group_free(&peers_); }
  ghost_exchange(const ghost_exchange&) = delete;
  ghost_exchange& operator=(const ghost_exchange&) = delete;

  void update_by_fences() {
    MPI_Win_fence(MPI_MODE_NOPRECEDE, cells_.handle());
    put_all();
    MPI_Win_fence(0, cells_.handle());
  }
  void end_fences() { MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, cells_.handle()); }
  void update_by_posts() {
    MPI_Win_post(peers_, 0, cells_.handle());
    MPI_Win_start(peers_, 0, cells_.handle());
    put_all();
    MPI_Win_complete(cells_.handle());
    MPI_Win_wait(cells_.handle());
  }
  /// After an update.
  void check() {
    for (int side = 0; side < sides; ++side) {
      const double* const ghosts = cells_.data() + side * elements_;
      const int from = neighbors_[static_cast<std::size_t>(side ^ 1)];
      expect(std::all_of(ghosts, ghosts + elements_, [&](double each) { return each == from; }), "ghost cell");
    }
  }

 private:
  void put_all() {
    for (int side = 0; side < sides; ++side) {
      const int to = neighbors_[static_cast<std::size_t>(side)], begin = side * elements_;
      const double* const buffer = buffers_.data() + begin;
      if (!per_element_) {
        MPI_Put(buffer, elements_, MPI_DOUBLE, to, begin, elements_, MPI_DOUBLE, cells_.handle());
        continue;
      }
      for (int i = 0; i < elements_; ++i)
        MPI_Put(buffer + i, 1, MPI_DOUBLE, to, begin + i, 1, MPI_DOUBLE, cells_.handle());
    }
  }

  std::vector<int> neighbors_;
  bool per_element_;
  int elements_;
  std::vector<double> buffers_;
  MPI_Group peers_ = MPI_GROUP_NULL;
  mpi_window<double> cells_;
};

sample measure_ghosts(int me, int ranks, const std::string& what, int batches, int count, int elements) {
  ghost_exchange cells(me, ranks, what.ends_with("_element"), elements);
  const bool fences = what.starts_with("ghost_fence");
  const auto update = [&] { fences ? cells.update_by_fences() : cells.update_by_posts(); };
  update();
  const sample result = measure_epochs(batches, count, update);
  if (fences) cells.end_fences();
  cells.check();
  return result;
}

/// Returns an empty sample on ranks that measure nothing, and for arguments that are not valid.
sample measure(int me, int ranks, const std::string& what, int batches, int count, const std::vector<int>& sizes) {
  if (what.starts_with("ghost_")) return measure_ghosts(me, ranks, what, batches, count, sizes.at(0));
  if (what.starts_with("transfer_")) return measure_transfers(me, what == "transfer_put", batches, count, sizes);
  if (what == "fence") return measure_fences(batches, count);
  if (what == "pscw") return measure_pscw(me, ranks, batches, count);
  if (what == "put_latency") return measure_puts<true>(me, batches, count);
  if (what == "put_rate") return measure_puts<false>(me, batches, count);
  if (what == "get_latency") return measure_gets(me, batches, count);
  if (what == "put_bandwidth") return measure_bandwidth(me, batches, count);
  sample result;
  if (what == "atomics") {
    result = measure_sums(me, batches, count);
    result.merge(measure_swaps(me, batches, count));
  }
  return result;
}

/// Ends this process after all ranks have printed what they print.
[[noreturn]] void end() {
#ifdef MPICH_VERSION
  // Over TCP, MPI_Finalize of MPICH 4.0.2 sometimes does not return: a rank that has closed its connections waits for
  // the launcher, and no longer answers the rank that closes its own.
  MPI_Barrier(MPI_COMM_WORLD);
  std::fflush(stdout);
  std::_Exit(0);
#else
  MPI_Finalize();
  std::exit(0);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  sample result;
  if (argc >= 4 && ranks >= 2) {
    std::vector<int> sizes;
    for (int i = 4; i < argc; ++i) sizes.push_back(std::atoi(argv[i]));
    result = measure(me, ranks, argv[1], std::atoi(argv[2]), std::atoi(argv[3]), sizes);
  }
  if (me == 0) {
    if (result.empty()) {
      std::fprintf(stderr, "usage: mpiexec -n RANKS %s WHAT BATCHES COUNT [SIZES...]\n", argv[0]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    print(result);
  }
  end();
}
