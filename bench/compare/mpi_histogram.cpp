/// The histogram in plain MPI, as a careful programmer writes it: each rank collects words for each other rank in
/// buffers, sends a buffer that is full with MPI_Isend, and takes in what has arrived meanwhile.
///
/// Usage: mpirun -n RANKS mpi_histogram WORDS EPOCHS [BUFFER_BYTES]
/// Every rank sends WORDS random slots to each other rank's table of 8 MiB in an epoch, which ends when all of them
/// have been counted. Prints `m_per_s`: millions of words a second that a rank sends, the median of the epochs.

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "bench/workload.hpp"

namespace {

using word = std::uint64_t;

constexpr std::size_t table_slots = 1024 * 1024;
constexpr int buffers_a_peer = 8;  // on their way to it
constexpr int receives_open = 8;   // from anybody
constexpr std::size_t prefetch_ahead = 16;

/// A ring of buffers to one rank: one is being filled, the others are on their way or free.
class outbox {
 public:
  outbox(int to, std::size_t words) : to_(to), words_(words), storage_(words * buffers_a_peer) {
    std::fill_n(sent_, buffers_a_peer, MPI_REQUEST_NULL);
  }

  /// Whether the buffer was full and is on its way now: the next one may be still, too, so call `free` before `add`.
  bool add(word w) {
    storage_[current_ * words_ + filled_++] = w;
    if (filled_ < words_) return false;
    flush();
    return true;
  }

  bool free() {
    int done = 0;
    MPI_Test(&sent_[current_], &done, MPI_STATUS_IGNORE);
    return done != 0;
  }

  void flush() {
    if (filled_ == 0) return;
    MPI_Isend(&storage_[current_ * words_], static_cast<int>(filled_), MPI_UINT64_T, to_, 0, MPI_COMM_WORLD,
              &sent_[current_]);
    filled_ = 0;
    current_ = (current_ + 1) % buffers_a_peer;
  }

  void finish() { MPI_Waitall(buffers_a_peer, sent_, MPI_STATUSES_IGNORE); }

 private:
  int to_;
  std::size_t words_, filled_ = 0, current_ = 0;
  std::vector<word> storage_;
  MPI_Request sent_[buffers_a_peer];
};

class histogram {
 public:
  histogram(int me, int ranks, std::size_t buffer_words)
      : me_(me),
        ranks_(ranks),
        buffer_words_(buffer_words),
        storage_(buffer_words * receives_open),
        table_(table_slots) {
    for (int to = 0; to < ranks; ++to) out_.emplace_back(to, buffer_words);
    for (int i = 0; i < receives_open; ++i) receive(i);
  }

  ~histogram() {
    for (auto& open : open_) {
      MPI_Cancel(&open);
      MPI_Wait(&open, MPI_STATUS_IGNORE);
    }
  }

  void epoch(word words, amity::bench::xorshift64& random) {
    const word expected = taken_ + words * static_cast<word>(ranks_ - 1);
    for (word i = 0; i < words; ++i) {
      for (int peer = 1; peer < ranks_; ++peer) {
        auto& out = out_[static_cast<std::size_t>((me_ + peer) % ranks_)];
        if (!out.add(random() % table_slots)) continue;
        do {
          take_arrived();
        } while (!out.free());
      }
    }
    for (auto& out : out_) out.flush();
    // Everybody sends as much, so that it is known when the epoch is over; no further message is needed.
    while (taken_ < expected) take_arrived();
    for (auto& out : out_) out.finish();
  }

  word counted() { return table_.sum(); }

 private:
  void receive(int i) {
    MPI_Irecv(&storage_[static_cast<std::size_t>(i) * buffer_words_], static_cast<int>(buffer_words_), MPI_UINT64_T,
              MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &open_[i]);
  }

  void take_arrived() {
    // Messages are matched in the order in which receives were opened, so that the oldest one is done first.
    for (;;) {
      int done = 0;
      MPI_Status status;
      MPI_Test(&open_[oldest_], &done, &status);
      if (!done) return;
      int count = 0;
      MPI_Get_count(&status, MPI_UINT64_T, &count);
      const word* const slots = &storage_[static_cast<std::size_t>(oldest_) * buffer_words_];
      const auto words = static_cast<std::size_t>(count);
      for (std::size_t i = 0; i < words; ++i) {
        if (i + prefetch_ahead < words) __builtin_prefetch(&table_[slots[i + prefetch_ahead]], 1);
        ++table_[slots[i]];
      }
      taken_ += words;
      receive(oldest_);
      oldest_ = (oldest_ + 1) % receives_open;
    }
  }

  int me_, ranks_;
  std::size_t buffer_words_;
  std::vector<outbox> out_;
  std::vector<word> storage_;
  MPI_Request open_[receives_open];
  int oldest_ = 0;
  word taken_ = 0;
  amity::bench::huge_words table_;
};

int measure(int me, int ranks, word words, int epochs, std::size_t buffer_bytes) {
  amity::bench::xorshift64 random(static_cast<word>(me));
  histogram counts(me, ranks, buffer_bytes / sizeof(word));
  std::vector<double> rates;
  for (int i = 0; i <= epochs; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    counts.epoch(words, random);
    MPI_Barrier(MPI_COMM_WORLD);
    rates.push_back(static_cast<double>(words) * (ranks - 1) / (MPI_Wtime() - begin) * 1e-6);
  }
  rates.erase(rates.begin());  // The first epoch warms up.
  std::nth_element(rates.begin(), rates.begin() + epochs / 2, rates.end());
  const auto expected = words * static_cast<word>(ranks - 1) * static_cast<word>(epochs + 1);
  if (counts.counted() != expected) {
    std::fprintf(stderr, "wrong answer: words counted\n");
    return 1;
  }
  if (me == 0) std::printf("{\"m_per_s\": %.3f}\n", rates[static_cast<std::size_t>(epochs / 2)]);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int me = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int status = 2;
  if (argc < 3 || ranks < 2) {
    std::fprintf(stderr, "usage: mpirun -n RANKS %s WORDS EPOCHS [BUFFER_BYTES], with two ranks or more\n", argv[0]);
  } else {
    status = measure(me, ranks, std::strtoull(argv[1], nullptr, 10), std::atoi(argv[2]),
                     argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 16 * 1024);
  }
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
  return 0;
}
