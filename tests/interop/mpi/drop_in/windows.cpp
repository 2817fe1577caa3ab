// Accumulates and requests on windows of each flavor, by any number of processes. A plain MPI program:
// it checks what the standard says, with the drop-in library and without. With the argument `no_shared`, it makes no
// shared windows; other arguments leave out cases.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "filled_window.hpp"
#include "program.hpp"

namespace {

using doubles = program::filled_window<double>;
using program::next;
using program::previous;
using program::rank;
using program::size;
using program::step;

void accumulates(std::string_view flavor) {
  step = "accumulates";
  doubles all(flavor, 8);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, all.win);
  const std::array<double, 4> ones{1, 1, 1, 1};
  std::array<double, 4> before{};
  for (int round = 0; round < 25; ++round) {
    MPI_Accumulate(ones.data(), 4, MPI_DOUBLE, 0, 0, 4, MPI_DOUBLE, MPI_SUM, all.win);
    MPI_Get_accumulate(ones.data(), 4, MPI_DOUBLE, before.data(), 4, MPI_DOUBLE, 0, 0, 4, MPI_DOUBLE, MPI_SUM, all.win);
    double old = 0;
    MPI_Fetch_and_op(ones.data(), &old, MPI_DOUBLE, 0, 4, MPI_SUM, all.win);
    MPI_Win_flush(0, all.win);
  }
  MPI_Win_unlock_all(all.win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, all.win);
  MPI_Get_accumulate(nullptr, 0, MPI_DOUBLE, before.data(), 4, MPI_DOUBLE, 0, 1, 4, MPI_DOUBLE, MPI_NO_OP, all.win);
  MPI_Win_unlock(0, all.win);
  for (int i = 0; i < 3; ++i) CHECK(before[static_cast<std::size_t>(i)] == 50 * size());
  CHECK(before[3] == 25 * size());
}

void requests(std::string_view flavor) {
  step = "requests";
  doubles all(flavor, 300);
  MPI_Win_lock_all(0, all.win);
  std::vector<MPI_Request> pending(200);
  std::vector<double> values(200), back(200, -1);
  for (int i = 0; i < 200; ++i) {
    const auto index = static_cast<std::size_t>(i);
    values[index] = 1000.0 * rank() + i;
    MPI_Rput(&values[index], 1, MPI_DOUBLE, next(), i, 1, MPI_DOUBLE, all.win, &pending[index]);
  }
  MPI_Waitall(200, pending.data(), MPI_STATUSES_IGNORE);
  MPI_Win_flush_all(all.win);
  for (int i = 0; i < 200; ++i) {
    const auto index = static_cast<std::size_t>(i);
    MPI_Rget(&back[index], 1, MPI_DOUBLE, next(), i, 1, MPI_DOUBLE, all.win, &pending[index]);
  }
  for (int left = 200; left > 0; --left) {
    int index = -1;
    MPI_Waitany(200, pending.data(), &index, MPI_STATUS_IGNORE);
    CHECK(index >= 0 && back[static_cast<std::size_t>(index)] == values[static_cast<std::size_t>(index)]);
  }
  MPI_Win_unlock_all(all.win);
}

void tests_of_requests(std::string_view flavor) {
  step = "a request that is tested while another process holds the lock";
  doubles all(flavor, 8);
  if (size() < 2) return;
  MPI_Datatype every_second = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, 2, MPI_DOUBLE, &every_second);
  MPI_Type_commit(&every_second);
  if (rank() == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, all.win);
    MPI_Win_flush(1, all.win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) MPI_Win_unlock(1, all.win);
  std::array<double, 4> seen{-1, -1, -1, -1};
  MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, all.win);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Rget(seen.data(), 4, MPI_DOUBLE, 1, 0, 1, every_second, all.win, &request);
  for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  for (const double each : seen) CHECK(each == 1);
  MPI_Win_unlock(1, all.win);
  MPI_Type_free(&every_second);
}

void sizes_that_differ() {
  step = "memory that is larger than the data";
  doubles all("allocated", 12);
  const std::array<double, 2> values{7, 8};
  std::array<double, 4> seen{-1, -1, -1, -1};
  MPI_Win_set_errhandler(all.win, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, all.win);
  CHECK(MPI_Put(values.data(), 2, MPI_DOUBLE, next(), 2, 5, MPI_DOUBLE, all.win) == MPI_SUCCESS);
  MPI_Win_fence(0, all.win);
  CHECK(all.memory[2] == 7 && all.memory[3] == 8 && all.memory[4] == rank());
  CHECK(MPI_Get(seen.data(), 4, MPI_DOUBLE, next(), 2, 2, MPI_DOUBLE, all.win) == MPI_SUCCESS);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(MPI_Put(values.data(), 2, MPI_DOUBLE, next(), 0, 1, MPI_DOUBLE, all.win), &error_class);
  CHECK(error_class == MPI_ERR_TRUNCATE);
  MPI_Error_class(MPI_Put(values.data(), 1, MPI_DOUBLE, next(), -1, 1, MPI_DOUBLE, all.win), &error_class);
  CHECK(error_class == MPI_ERR_DISP);
  MPI_Win_fence(0, all.win);
  CHECK(seen[0] == 7 && seen[1] == 8 && seen[2] == -1);
}

/// A process that spins on memory of another one, while a message to that one is on its way.
void messages_during_spins() {
  step = "messages while a process spins on a window";
  if (size() < 2) return;
  std::int64_t* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(program::bytes_of<std::int64_t>(), sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  *memory = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  std::vector<char> message(std::size_t{4} << 20, 'm');
  const int bytes = static_cast<int>(message.size());
  MPI_Win_lock_all(0, win);
  if (rank() == 0) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(message.data(), bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
    const std::int64_t nothing = 0;
    for (std::int64_t seen = 0; seen == 0;) {
      MPI_Fetch_and_op(&nothing, &seen, MPI_INT64_T, 0, 0, MPI_NO_OP, win);
      MPI_Win_flush(0, win);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank() == 1) {
    MPI_Recv(message.data(), bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const std::int64_t one = 1;
    MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_REPLACE, win);
    MPI_Win_flush(0, win);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

/// A library that frees its window when MPI_Finalize deletes the attributes of MPI_COMM_SELF.
struct window_at_end {
  MPI_Win win = MPI_WIN_NULL;
  int* memory = nullptr;
};
int free_at_end(MPI_Comm, int, void* value, void*) {
  step = "the end of MPI_COMM_SELF";
  auto& kept = *static_cast<window_at_end*>(value);
  const int mine = 40 + rank();
  MPI_Win_fence(0, kept.win);
  MPI_Put(&mine, 1, MPI_INT, next(), 0, 1, MPI_INT, kept.win);
  MPI_Win_fence(0, kept.win);
  CHECK(*kept.memory == 40 + previous());
  MPI_Win_free(&kept.win);
  return MPI_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  window_at_end kept;
  const program::session running(argc, argv);
  program::cases all(argc, argv);
  const bool shares = !all.leave_out("no_shared");
  for (const std::string_view flavor : {"allocated", "created", "shared"}) {
    if (flavor == "shared" && !shares) continue;
    all.run("accumulates", flavor, accumulates);
    all.run("requests", flavor, requests);
    all.run("tests_of_requests", flavor, tests_of_requests);
  }
  all.run("sizes_that_differ", sizes_that_differ);
  all.run("messages_during_spins", messages_during_spins);
  MPI_Win_allocate(program::bytes_of<int>(), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &kept.memory, &kept.win);
  int keyval = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_at_end, &keyval, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &kept);
  all.end();
}
