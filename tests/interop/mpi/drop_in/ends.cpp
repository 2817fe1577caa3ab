// Jobs that end in the ways of real programs. The argument names the way; job_test.py checks the end of the job.

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "program.hpp"

namespace {

using program::next;
using program::rank;
using program::size;
using program::step;

/// Windows of each flavor that the program does not free.
struct windows {
  int own = 0;
  int* allocated = nullptr;
  int* shared = nullptr;
  MPI_Win of_created = MPI_WIN_NULL, of_allocated = MPI_WIN_NULL, of_shared = MPI_WIN_NULL, of_dynamic = MPI_WIN_NULL;

  windows() {
    MPI_Win_create(&own, sizeof own, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &of_created);
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &of_allocated);
    MPI_Win_allocate_shared(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &shared, &of_shared);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &of_dynamic);
    MPI_Win_attach(of_dynamic, &own, sizeof own);
  }
};

void put(MPI_Win win) {
  const int value = rank();
  MPI_Put(&value, 1, MPI_INT, next(), 0, 1, MPI_INT, win);
}

// After the last call of each window, the program ends MPI.
void leave_windows(windows& all) {
  for (const MPI_Win each : {all.of_created, all.of_allocated, all.of_shared}) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next(), 0, each);
    put(each);
    MPI_Win_unlock(next(), each);
  }
}

void leave_epochs(windows& all) {
  MPI_Win_fence(0, all.of_created);
  put(all.of_created);
  MPI_Win_lock_all(0, all.of_allocated);
  put(all.of_allocated);
  if (rank() == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size() - 1, 0, all.of_dynamic);
    MPI_Win_flush(size() - 1, all.of_dynamic);
  }
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Win_post(world, 0, all.of_shared);
  MPI_Group_free(&world);
}

/// Rank 1 takes the lock of rank 0 and ends by `end()`; the others want the lock.
template <class End>
void end_with_lock(windows& all, End end) {
  if (rank() == 1) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, all.of_created);
    MPI_Win_flush(0, all.of_created);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, all.of_allocated);
    MPI_Win_flush(0, all.of_allocated);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 1) end();
  const MPI_Win win = rank() % 2 == 0 ? all.of_allocated : all.of_created;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  put(win);
  MPI_Win_unlock(0, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Rank 1 ends by `end()` in an epoch while the others wait for it.
template <class End>
void end_in_epoch(windows& all, End end) {
  if (rank() == 1) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, all.of_allocated);
    put(all.of_allocated);
    end();
  }
  ::pause();
}

/// Ends an epoch and MPI after `main`, as libraries do that the program does not finalize.
class late_end {
 public:
  ~late_end() {
    if (in_ == MPI_WIN_NULL) return;
    MPI_Win_unlock_all(in_);
    MPI_Win_free(&in_);
    MPI_Finalize();
    std::fprintf(stderr, "finalized at exit\n");
  }
  void begin_epoch(MPI_Win in) {
    in_ = in;
    MPI_Win_lock_all(0, in);
    put(in);
  }

 private:
  MPI_Win in_ = MPI_WIN_NULL;
};
late_end at_exit;

/// Rank 1 has ended, and the error handlers return.
void free_after_failure(windows& all) {
  for (const MPI_Win each : {all.of_created, all.of_allocated, all.of_shared, all.of_dynamic})
    MPI_Win_set_errhandler(each, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 1) std::_Exit(5);
  MPI_Win* const wins[]{&all.of_created, &all.of_allocated, &all.of_shared, &all.of_dynamic};
  for (MPI_Win* const each : wins) {
    CHECK(MPI_Win_free(each) != MPI_SUCCESS);
    CHECK(*each == MPI_WIN_NULL);
  }
  std::fprintf(stderr, "all windows freed with errors\n");
  std::_Exit(0);
}

/// The error handlers return, and rank 1 is killed. Calls name it, and so does MPI_Finalize, which cannot wait for it.
void finalize_after_failure(windows& all) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Win_set_errhandler(all.of_created, MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 1) ::raise(SIGKILL);
  CHECK(MPI_Barrier(MPI_COMM_WORLD) != MPI_SUCCESS);
  const std::string text = program::text_of(MPI_Win_free(&all.of_created));
  CHECK(program::contains(text, "has ended"));
}

/// Rank 1 ends, the error handlers return, and the others exit with status 0 in an epoch: only the failure is reported.
void exit_after_failure(windows& all) {
  MPI_Win_set_errhandler(all.of_created, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, all.of_created);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 1) std::_Exit(5);
  int code = MPI_SUCCESS;
  while (code == MPI_SUCCESS) {
    put(all.of_created);
    code = MPI_Win_flush_all(all.of_created);
  }
  std::fprintf(stderr, "the failure is known: %s\n", program::text_of(code).c_str());
  std::exit(0);
}

void increment(windows& all) {
  const int one = 1;
  int before = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, all.of_allocated);
  MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, all.of_allocated);
  MPI_Win_unlock(0, all.of_allocated);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, all.of_created);
  MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, all.of_created);
  MPI_Win_unlock(0, all.of_created);
  CHECK(before >= 0);
}

/// `made`: 0 in the child.
template <class Child>
void end_child(pid_t made, Child child) {
  if (made == 0) {
    child();
    ::_exit(9);
  }
  int status = -1;
  CHECK(made > 0 && ::waitpid(made, &status, 0) == made);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// The processes use windows while a child of each one runs.
template <class Child>
void fork_and_wait(windows& all, Child child) {
  const pid_t made = ::fork();
  if (made != 0) increment(all);
  end_child(made, child);
}

void make_processes(windows& all) {
  MPI_Barrier(MPI_COMM_WORLD);
  *all.allocated = 0;
  all.own = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  step = "a child that ends at once";
  fork_and_wait(all, [] { ::_exit(0); });
  step = "a child that ends by exit";
  fork_and_wait(all, [] { std::exit(0); });
  step = "a child that is another program";
  fork_and_wait(all, [] { ::execl("/bin/true", "true", nullptr); });
  step = "children that end at once in an epoch";
  MPI_Win_lock_all(0, all.of_created);
  end_child(::fork(), [] { ::_exit(0); });
  end_child(::fork(), [] { std::exit(0); });
  end_child(::vfork(), [] { ::_exit(0); });
  MPI_Win_unlock_all(all.of_created);
  step = "a command";
  CHECK(std::system("true") == 0);
  increment(all);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) CHECK(*all.allocated == 4 * size() && all.own == 4 * size());
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Windows of a session, in a program that never calls MPI_Init. 0: all is right.
int use_session() {
#if MPI_VERSION >= 4
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "ends", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  bool is_right = true;
  for (int round = 0; round < 2; ++round) {
    int rank = 0, *memory = nullptr;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Comm_rank(comm, &rank);
    MPI_Win_allocate(program::bytes_min, sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, rank, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    is_right = is_right && memory[0] == rank;
    MPI_Win_free(&win);
  }
  // The MPI serves the windows of sessions, and has no active messages.
  using create_operation = int(void (*)(), MPI_Comm, int*);
  auto* const create = reinterpret_cast<create_operation*>(::dlsym(RTLD_DEFAULT, "MPIX_Am_op_create"));
  int operation = 1;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  is_right = is_right && create != nullptr &&
             program::class_of(create([] {}, comm, &operation)) == MPI_ERR_UNSUPPORTED_OPERATION && operation == 0;
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&session);
  return is_right ? 0 : 1;
#else
  return 1;
#endif
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "sessions") return use_session();
  const program::session running(argc, argv, 60);
  const std::string_view way = argc > 1 ? argv[1] : "";
  step = argc > 1 ? argv[1] : "";
  windows all;
  if (way == "alive") leave_windows(all);
  if (way == "in_epochs") leave_epochs(all);
  if (way == "aborted") end_with_lock(all, [] { MPI_Abort(MPI_COMM_WORLD, 7); });
  if (way == "killed") end_with_lock(all, [] { ::raise(SIGKILL); });
  if (way == "exited") end_with_lock(all, [] { std::_Exit(5); });
  if (way == "exit_0") end_in_epoch(all, [] { std::exit(0); });
  if (way == "_exit_0") end_in_epoch(all, [] { ::_exit(0); });
  if (way == "_Exit_0") end_in_epoch(all, [] { std::_Exit(0); });
  if (way == "exit_5") end_in_epoch(all, [] { std::exit(5); });
  if (way == "abort_0") end_in_epoch(all, [] { MPI_Abort(MPI_COMM_WORLD, 0); });
  if (way == "exit_between_epochs") std::exit(0);
  if (way == "finalize_at_exit") {
    at_exit.begin_epoch(all.of_allocated);
    std::exit(0);
  }
  if (way == "free_after_failure") free_after_failure(all);
  if (way == "exit_0_after_failure") exit_after_failure(all);
  if (way == "finalize_after_failure") finalize_after_failure(all);
  if (way == "fatal" && rank() == 0) MPI_Win_lock(MPI_LOCK_SHARED, size(), 0, all.of_created);
  if (way == "fatal") MPI_Barrier(MPI_COMM_WORLD);
  if (way == "forks") make_processes(all);
}
