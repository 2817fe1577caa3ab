// Calls of a process that has a window, and that other processes do not need. Calls that return at once never give up
// the CPU, and calls that block sleep for 20 us at most at a time. rests_tool.c counts what the library does. The
// argument is a level of threads.

#include <dlfcn.h>
#include <sched.h>

#include <functional>
#include <utility>
#include <vector>

#include "program.hpp"

namespace {

using program::rank;
using program::step;

constexpr int tag = 3;

template <class Function>
Function* function_of_tool(const char* name) {
  auto* const found = reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
  CHECK(found != nullptr);
  return found;
}

long rests() { return function_of_tool<long()>("counted_yields")() + function_of_tool<long()>("counted_sleeps")(); }

MPI_Request receiving(int* into) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(into, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, &request);
  return request;
}

/// The polls of each call are three times the looks of a wait.
void polls_do_not_rest() {
  constexpr int polls = 3'000;
  int value = 0, flag = 0, index = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Request request = receiving(&value);
  const std::vector<std::pair<const char*, std::function<void()>>> calls{
      {"MPI_Iprobe", [&] { MPI_Iprobe(1, tag + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); }},
      {"MPI_Improbe", [&] { MPI_Improbe(1, tag + 1, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE); }},
      {"MPI_Test", [&] { MPI_Test(&request, &flag, MPI_STATUS_IGNORE); }},
      {"MPI_Testall", [&] { MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE); }},
      {"MPI_Testany", [&] { MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE); }},
      {"MPI_Testsome", [&] { MPI_Testsome(1, &request, &flag, &index, MPI_STATUSES_IGNORE); }},
      {"MPI_Request_get_status", [&] { MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE); }},
  };
  for (const auto& [name, call] : calls) {
    step = name;
    const long before = rests();
    for (int i = 0; i < polls; ++i) call();
    CHECK(rests() == before);
    CHECK(flag == 0);
  }
  step = "the message";
  MPI_Send(&value, 0, MPI_INT, 1, tag, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void end_polls() {
  const int value = 1;
  MPI_Recv(nullptr, 0, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
}

/// Polls in calls of windows rest. This also shows that the tool counts.
void polls_of_window_rest(MPI_Win win) {
  step = "MPI_Win_test";
  MPI_Group peer = program::group_of({1 - rank()});
  if (rank() == 0) {
    MPI_Win_post(peer, 0, win);
    int done = 0;
    for (const long before = rests(); rests() == before;) {
      MPI_Win_test(win, &done);
      CHECK(done == 0);
    }
    MPI_Send(nullptr, 0, MPI_INT, 1, tag, MPI_COMM_WORLD);
    while (done == 0) MPI_Win_test(win, &done);
  } else {
    MPI_Recv(nullptr, 0, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_start(peer, 0, win);
    MPI_Win_complete(win);
  }
  MPI_Group_free(&peer);
}

struct blocking_call {
  const char* name;
  std::function<void()> waits;  ///< what rank 0 calls
  std::function<void()> ends;   ///< what rank 1 calls when rank 0 has slept
};

std::vector<blocking_call> blocking_calls() {
  static int received = 0;
  const auto send = [] {
    const int value = 1;
    MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
  };
  const auto receive = [] { MPI_Recv(&received, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); };
  const auto waits = [send](const char* name, const std::function<void(MPI_Request&)>& call) {
    const auto wait = [call] {
      MPI_Request request = receiving(&received);
      call(request);
    };
    return blocking_call{name, wait, send};
  };
  const auto add = [] {
    const int own = 1;
    int sum = 0;
    MPI_Allreduce(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == 2);
  };
  const auto split = [] {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank(), &made);
    MPI_Comm_free(&made);
  };
  return {
      {"MPI_Recv", receive, send},
      {"MPI_Ssend", [] { MPI_Ssend(&received, 1, MPI_INT, 1, tag, MPI_COMM_WORLD); },
       [] { MPI_Recv(&received, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }},
      {"MPI_Probe",
       [=] {
         MPI_Probe(1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
         receive();
       },
       send},
      {"MPI_Mprobe",
       [] {
         MPI_Message message = MPI_MESSAGE_NULL;
         MPI_Mprobe(1, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
         MPI_Mrecv(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
       },
       send},
      waits("MPI_Wait", [](MPI_Request& of) { MPI_Wait(&of, MPI_STATUS_IGNORE); }),
      waits("MPI_Waitall", [](MPI_Request& of) { MPI_Waitall(1, &of, MPI_STATUSES_IGNORE); }),
      waits("MPI_Waitany",
            [](MPI_Request& of) {
              int index = 0;
              MPI_Waitany(1, &of, &index, MPI_STATUS_IGNORE);
            }),
      waits("MPI_Waitsome",
            [](MPI_Request& of) {
              int index = 0, done = 0;
              MPI_Waitsome(1, &of, &done, &index, MPI_STATUSES_IGNORE);
            }),
      {"MPI_Barrier", [] { MPI_Barrier(MPI_COMM_WORLD); }, [] { MPI_Barrier(MPI_COMM_WORLD); }},
      {"MPI_Allreduce", add, add},
      {"MPI_Comm_split", split, split},
  };
}

/// In memory of rank 0 that rank 1 reads.
struct progress_of_calls {
  long call;    ///< number of the call that rank 0 has begun
  long sleeps;  ///< of rank 0 in this call
};

long load(const long& from) { return __atomic_load_n(&from, __ATOMIC_ACQUIRE); }

/// Each call of rank 0 lasts until it has slept several times.
void blocking_calls_sleep_shortly() {
  constexpr long sleeps_min = 5;
  MPI_Win win = MPI_WIN_NULL;
  progress_of_calls* state = nullptr;
  MPI_Win_allocate_shared(sizeof *state, sizeof *state, MPI_INFO_NULL, MPI_COMM_WORLD, &state, &win);
  MPI_Aint bytes = 0;
  int unit = 0;
  MPI_Win_shared_query(win, 0, &bytes, &unit, &state);
  if (rank() == 0) *state = {};
  long number = 0;
  for (const blocking_call& each : blocking_calls()) {
    step = each.name;
    ++number;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) {
      state->sleeps = 0;
      function_of_tool<void(long*)>("watch_sleeps")(&state->sleeps);
      __atomic_store_n(&state->call, number, __ATOMIC_RELEASE);
      each.waits();
      function_of_tool<void(long*)>("watch_sleeps")(nullptr);
      CHECK(load(state->sleeps) >= sleeps_min);
      CHECK(function_of_tool<long()>("longest_sleep_ns")() <= 20'000);
    } else {
      while (load(state->call) < number || load(state->sleeps) < sleeps_min) ::sched_yield();
      each.ends();
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

}  // namespace

int main(int argc, char** argv) {
  const bool has_threads = program::wants_threads(argc, argv);
  const program::session running(argc, argv, program::session::seconds_max,
                                 has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE);
  void* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(program::bytes_min, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) polls_do_not_rest();
  if (rank() == 1) end_polls();
  blocking_calls_sleep_shortly();
  polls_of_window_rest(win);
  step = "the end";
  MPI_Win_free(&win);
}
