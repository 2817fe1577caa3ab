#pragma once

/// Windows of numbers, for programs of these tests.

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "program.hpp"

namespace program {

/// A window of `count` numbers of each process, all of them its rank in MPI_COMM_WORLD.
template <class Number>
class filled_window {
 public:
  MPI_Win win = MPI_WIN_NULL;
  Number* memory = nullptr;
  MPI_Aint bytes = 0;

  /// `flavor` is "created", "allocated" or "shared". The memory has at least `bytes_at_least`. Collective.
  filled_window(std::string_view flavor, int count, MPI_Comm comm = MPI_COMM_WORLD, MPI_Aint bytes_at_least = 0) {
    bytes = std::max(bytes_of<Number>(count), bytes_at_least);
    constexpr int unit = sizeof(Number);
    if (flavor == "created") {
      own_.resize((static_cast<std::size_t>(bytes) + sizeof(Number) - 1) / sizeof(Number));
      memory = own_.data();
      CHECK(MPI_Win_create(memory, bytes, unit, MPI_INFO_NULL, comm, &win) == MPI_SUCCESS);
    } else if (flavor == "allocated") {
      CHECK(MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, comm, &memory, &win) == MPI_SUCCESS);
    } else {
      CHECK(MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, comm, &memory, &win) == MPI_SUCCESS);
    }
    int member = 0;
    MPI_Comm_rank(comm, &member);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, member, 0, win);
    std::fill_n(memory, count, static_cast<Number>(rank()));
    MPI_Win_unlock(member, win);
    MPI_Barrier(comm);
  }
  ~filled_window() {
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
  }
  filled_window(const filled_window&) = delete;
  filled_window& operator=(const filled_window&) = delete;

 private:
  std::vector<Number> own_;
};

}  // namespace program
