/// Info keys of windows that are about active messages.

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include <mpi.h>
#include <mpix_am.h>

#include "message_window.hpp"
#include "program.hpp"

using program::class_of;
using program::message_window;
using program::rank;
using program::size;
using program::step;

namespace {

void count_segments(const void*, int, MPI_Datatype, void* persistent, int, MPI_Datatype, void*, int, MPI_Datatype,
                    int segments) {
  *static_cast<int*>(persistent) += segments;
}

class hints {
 public:
  hints() { MPI_Info_create(&info_); }
  hints(const char* key, const char* value) : hints() { set(key, value); }
  ~hints() { MPI_Info_free(&info_); }
  hints(const hints&) = delete;
  hints& operator=(const hints&) = delete;
  void set(const std::string& key, const char* value) { MPI_Info_set(info_, key.c_str(), value); }
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// The value that the window has; "absent" without one.
std::string value_in(MPI_Win win, const char* key) {
  MPI_Info has = MPI_INFO_NULL;
  MPI_Win_get_info(win, &has);
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int found = 0;
  MPI_Info_get(has, key, MPI_MAX_INFO_VAL, value.data(), &found);
  MPI_Info_free(&has);
  return found != 0 ? value.data() : "absent";
}

int send_one(MPI_Win win, int target, MPIX_Am_op op) {
  return MPIX_Am(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, 1, target, 0, MPI_INT, 0, 1, MPI_INT, 0, MPI_INT, op, win);
}

/// All values are accepted, and returned.
void values(MPIX_Am_op op) {
  step = "values of hints";
  struct value {
    const char* key;
    const char* value;
  };
  for (const value each :
       {value{"am_ordering", "none"}, value{"am_ordering", "origin"}, value{"am_concurrency", "true"},
        value{"am_concurrency", "false"}, value{"am_atomic", "true"}, value{"am_atomic", "false"},
        value{"am_buf_interleave_am_detach", "true"}, value{"am_buf_interleave_am_detach", "false"},
        value{"am_user_buf_0", "0"}}) {
    const hints given(each.key, each.value);
    const message_window<int> on(1, given.get());
    CHECK(value_in(on.win(), each.key) == each.value);
    // They hold for the whole life of the window, unlike others.
    const hints later(each.key, "other");
    CHECK(MPI_Win_set_info(on.win(), later.get()) == MPI_SUCCESS);
    CHECK(value_in(on.win(), each.key) == each.value);
    MPI_Win_lock_all(0, on.win());
    CHECK(send_one(on.win(), 0, op) == MPI_SUCCESS);
    MPI_Win_unlock_all(on.win());
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(*on.data() == (rank() == 0 ? size() : 0));
  }
}

int make_window(int flavor, MPI_Info info, MPI_Win* win) {
  static std::array<int, 4> memory{};
  void* base = nullptr;
  switch (flavor) {
    case MPI_WIN_FLAVOR_CREATE:
      return MPI_Win_create(memory.data(), sizeof memory, sizeof(int), info, MPI_COMM_WORLD, win);
    case MPI_WIN_FLAVOR_ALLOCATE:
      return MPI_Win_allocate(sizeof memory, sizeof(int), info, MPI_COMM_WORLD, &base, win);
    default:
      return MPI_Win_create_dynamic(info, MPI_COMM_WORLD, win);
  }
}

/// A wrong hint of one process is an error on all of them, and the next window can be made.
void wrong_values() {
  step = "wrong hints";
  struct wrong {
    std::string key;
    const char* value;
    int error_class;
  };
  const std::array all{wrong{"am_user_buf_0", "many", MPI_ERR_INFO_VALUE},
                       wrong{"am_user_buf_0", "-1", MPI_ERR_INFO_VALUE},
                       wrong{"am_user_buf_0", "99999999999999", MPI_ERR_INFO_VALUE},
                       wrong{"am_user_buf_" + std::to_string(size()), "8", MPI_ERR_INFO_KEY},
                       wrong{"am_user_buf_x", "8", MPI_ERR_INFO_KEY},
                       wrong{"am_ordering", "target", MPI_ERR_INFO_VALUE},
                       wrong{"am_concurrency", "2", MPI_ERR_INFO_VALUE},
                       wrong{"am_atomic", "no", MPI_ERR_INFO_VALUE},
                       wrong{"am_buf_interleave_am_detach", "FALSE", MPI_ERR_INFO_VALUE}};
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Win first = MPI_WIN_NULL;  // its handle serves again, also after errors
  for (const int flavor : {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_DYNAMIC}) {
    for (const wrong& each : all) {
      for (int culprit = 0; culprit < size(); ++culprit) {
        hints given;
        given.set("am_user_buf_0", "0");
        if (rank() == culprit) given.set(each.key, each.value);
        MPI_Win win = MPI_WIN_NULL;
        CHECK(class_of(make_window(flavor, given.get(), &win)) == each.error_class);
        CHECK(make_window(flavor, MPI_INFO_NULL, &win) == MPI_SUCCESS);
        if (first == MPI_WIN_NULL) first = win;
        CHECK(win == first);
        MPI_Win_fence(0, win);
        MPI_Win_fence(0, win);
        MPI_Win_free(&win);
      }
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/// A key that is misspelled has no effect. The first process warns of it, once.
void unknown_keys() {
  step = "unknown keys";
  struct row {
    const char* key;
    const char* meant;  ///< part of the warning; null: there is none
  };
  for (const row each :
       {row{"am_atomc", "did you mean 'am_atomic'?"}, row{"am_odering", "did you mean 'am_ordering'?"},
        row{"am_userbuf_3", "did you mean 'am_user_buf_0'?"}, row{"am_whatever_it_is", "the keys are "},
        row{"am_concurrency", nullptr}, row{"other_atomc", nullptr}}) {
    const hints given(each.key, "false");
    for (int round = 0; round < 2; ++round) {
      const std::string text = program::printed_by([&] { const message_window<int> on(1, given.get()); });
      const bool is_warned = round == 0 && rank() == 0 && each.meant != nullptr;
      CHECK(program::contains(text, "amity: ") == is_warned);
      const std::string unknown = "unknown info key '" + std::string(each.key) + "'; ";
      CHECK(!is_warned || program::contains(text, unknown + each.meant));
    }
  }
  const message_window<int> on(1);
  const hints later("am_atomik", "false");
  const std::string text = program::printed_by([&] { MPI_Win_set_info(on.win(), later.get()); });
  CHECK(program::contains(text, "unknown info key 'am_atomik'; did you mean 'am_atomic'?") == (rank() == 0));
}

/// Handlers and accumulates on one number.
void atomic(MPIX_Am_op op) {
  step = "handlers and accumulates";
  const message_window<int> on(1);
  constexpr int rounds = 2000;
  MPI_Win_lock_all(0, on.win());
  for (int i = 0; i < rounds; ++i) {
    const int one = 1;
    int before = 0;
    MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, on.win());
    if (i >= rounds / 2) CHECK(send_one(on.win(), 0, op) == MPI_SUCCESS);
    if (i % 100 == 0) MPI_Win_flush(0, on.win());
  }
  MPI_Win_unlock_all(on.win());
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank() == 0) CHECK(*on.data() == size() * (rounds + rounds / 2));
}

/// Without atomicity, accumulates still need nothing from the target, if it maps its memory: it is in no function of
/// MPI.
void not_atomic(MPIX_Am_op op) {
  step = "no atomicity";
  if (size() == 1) return;
  const hints given("am_atomic", "false");
  const message_window<int> on(2, given.get());
  if (rank() == 1) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, on.win());
    CHECK(send_one(on.win(), 0, op) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(0, on.win()) == MPI_SUCCESS);
    MPI_Send(nullptr, 0, MPI_INT, 0, 1, MPI_COMM_WORLD);
    const int one = 1;
    MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, on.win());
    MPI_Win_flush(0, on.win());
    MPI_Win_unlock(0, on.win());
  } else if (rank() == 0) {
    MPI_Recv(nullptr, 0, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::atomic_ref<int> sum(on.data()[1]);
    const double limit = MPI_Wtime() + 20;  // MPI_Wtime makes no progress
    while (sum.load() == 0 && MPI_Wtime() < limit) continue;
    CHECK(sum.load() == 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  program::window_bytes_min = program::bytes_min;
  program::cases cases(argc, argv);
  const bool maps_memory = !cases.leave_out("no_shared");
  const MPIX_Am_op op = program::make_operation(count_segments);
  values(op);
  wrong_values();
  unknown_keys();
  atomic(op);
  if (maps_memory) not_atomic(op);
}
