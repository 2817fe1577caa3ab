// 2,000 windows at once, and 10,000 one after the other: each has its own memory, and none leaves a descriptor or
// a mapping. (job_test.py looks for files.)

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "program.hpp"

namespace {

using program::next;
using program::previous;
using program::rank;
using program::step;

namespace fs = std::filesystem;

/// What this process has open.
struct resources {
  std::ptrdiff_t descriptors = std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  std::ptrdiff_t mappings = lines_of("/proc/self/maps");
  long resident_kib = resident();

  static std::ptrdiff_t lines_of(const char* file) {
    std::ifstream in(file);
    return std::count(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>(), '\n');
  }
  static long resident() {
    std::ifstream in("/proc/self/status");
    for (std::string word; in >> word;) {
      if (word != "VmRSS:") continue;
      long kib = 0;
      in >> kib;
      return kib;
    }
    return 0;
  }
};

enum class flavor { allocated, created, dynamic };

/// A window with one number of each process.
struct number {
  MPI_Win win = MPI_WIN_NULL;
  int* memory = nullptr;
  int own = 0;
  MPI_Aint displacement = 0;  ///< of the number of the next process

  void make(flavor wanted) {
    switch (wanted) {
      case flavor::allocated:
        MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        break;
      case flavor::created:
        memory = &own;
        MPI_Win_create(memory, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        break;
      case flavor::dynamic:
        memory = &own;
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        MPI_Win_attach(win, memory, sizeof(int));
        displacement = program::address_at_next(memory);
    }
    CHECK(win != MPI_WIN_NULL);
  }
  void put(int value) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next(), 0, win);
    MPI_Put(&value, 1, MPI_INT, next(), displacement, 1, MPI_INT, win);
    MPI_Win_unlock(next(), win);
  }
};

void at_once() {
  step = "2,000 windows at once";
  constexpr int count = 2000;
  std::vector<number> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i].make(static_cast<flavor>(i % 3));
  for (std::size_t i = 0; i < count; ++i) all[i].put(static_cast<int>(i) + rank());
  MPI_Barrier(MPI_COMM_WORLD);
  for (std::size_t i = 0; i < count; ++i) CHECK(*all[i].memory == static_cast<int>(i) + previous());
  for (number& each : all) MPI_Win_free(&each.win);
}

void one_after_the_other() {
  step = "10,000 windows, one after the other";
  constexpr int count = 10'000, warm_up = 1000;
  resources before;
  for (int i = 0; i < count; ++i) {
    if (i == warm_up) before = resources();
    number one;
    one.make(static_cast<flavor>(i % 3));
    if (i % 100 < 3) {
      one.put(i);
      MPI_Barrier(MPI_COMM_WORLD);
      CHECK(*one.memory == i);
    }
    MPI_Win_free(&one.win);
  }
  const resources after;
  if (after.descriptors > before.descriptors || after.mappings > before.mappings + 20 ||
      after.resident_kib > before.resident_kib + 4096) {
    std::fprintf(stderr, "rank %d: descriptors %td, then %td; mappings %td, then %td; KiB %ld, then %ld\n", rank(),
                 before.descriptors, after.descriptors, before.mappings, after.mappings, before.resident_kib,
                 after.resident_kib);
    program::fail(__FILE__, __LINE__, "nothing is left");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  at_once();
  one_after_the_other();
}
