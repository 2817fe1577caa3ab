// What belongs to the handle of a window: hints, names, attributes, error handlers, the group and the conversion to
// Fortran. With the argument `native`, without the hints: MPIs differ.

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "program.hpp"

namespace {

using program::class_of;
using program::rank;
using program::size;
using program::step;

using hints = std::map<std::string, std::string>;

/// Windows of each flavor, made with one info.
struct windows {
  std::array<MPI_Win, 4> all{MPI_WIN_NULL, MPI_WIN_NULL, MPI_WIN_NULL, MPI_WIN_NULL};
  std::array<double, program::bytes_min / sizeof(double)> own{};
  std::array<void*, 4> base{};

  explicit windows(MPI_Info info = MPI_INFO_NULL) {
    MPI_Win_create(own.data(), sizeof own, 4, info, MPI_COMM_WORLD, &all[0]);
    MPI_Win_allocate(program::bytes_min, 4, info, MPI_COMM_WORLD, &base[1], &all[1]);
    MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &all[2]);
    MPI_Win_allocate_shared(program::bytes_min, 4, info, MPI_COMM_WORLD, &base[3], &all[3]);
    base[0] = own.data();
    base[2] = MPI_BOTTOM;
  }
  ~windows() {
    for (MPI_Win& each : all) MPI_Win_free(&each);
  }
  windows(const windows&) = delete;
  windows& operator=(const windows&) = delete;
};

hints hints_of(MPI_Win win) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Win_get_info(win, &info);
  hints found;
  int keys = 0;
  MPI_Info_get_nkeys(info, &keys);
  for (int i = 0; i < keys; ++i) {
    std::array<char, MPI_MAX_INFO_KEY + 1> key{};
    std::array<char, 200> value{};
    int flag = 0;
    MPI_Info_get_nthkey(info, i, key.data());
    MPI_Info_get(info, key.data(), static_cast<int>(value.size()) - 1, value.data(), &flag);
    found[key.data()] = value.data();
  }
  MPI_Info_free(&info);
  return found;
}

void check_hints(MPI_Win win, const hints& expected) {
  const hints found = hints_of(win);
  if (found == expected) return;
  for (const auto& [key, value] : found) std::fprintf(stderr, "%s=%s\n", key.c_str(), value.c_str());
  program::fail(__FILE__, __LINE__, "the hints are as expected");
}

// The answers are the same with each MPI.
void hints_of_windows() {
  step = "hints";
  const hints defaults{{"accumulate_ops", "same_op_no_op"},
                       {"accumulate_ordering", "rar,raw,war,waw"},
                       {"no_locks", "false"},
                       {"same_disp_unit", "false"},
                       {"same_size", "false"}};
  hints defaults_of_allocated = defaults;
  defaults_of_allocated["alloc_shared_noncontig"] = "false";
  {
    const windows some;
    for (const std::size_t i : {0, 2}) check_hints(some.all[i], defaults);
    for (const std::size_t i : {1, 3}) check_hints(some.all[i], defaults_of_allocated);
  }
  MPI_Info given = MPI_INFO_NULL;
  MPI_Info_create(&given);
  MPI_Info_set(given, "same_size", "true");
  MPI_Info_set(given, "accumulate_ordering", "none");
  MPI_Info_set(given, "alloc_shm", "true");
  MPI_Info_set(given, "epochs_used", "lockall");
  MPI_Info_set(given, "no_such_hint", "a value with spaces");
  const windows some(given);
  MPI_Info_free(&given);
  for (const std::size_t i : {0, 1, 2, 3}) {
    hints expected = i % 2 == 1 ? defaults_of_allocated : defaults;
    expected["same_size"] = "true";
    expected["accumulate_ordering"] = "none";
    expected["alloc_shm"] = "true";
    expected["epochs_used"] = "lockall";
    expected["no_such_hint"] = "a value with spaces";
    check_hints(some.all[i], expected);
    MPI_Info_create(&given);
    MPI_Info_set(given, "no_such_hint", "another one");
    MPI_Info_set(given, "mpi_accumulate_granularity", "8");
    CHECK(MPI_Win_set_info(some.all[i], given) == MPI_SUCCESS);
    MPI_Info_free(&given);
    expected["no_such_hint"] = "another one";
    expected["mpi_accumulate_granularity"] = "8";
    check_hints(some.all[i], expected);
  }
}

void names_and_groups() {
  step = "names and groups";
  const windows some;
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (const MPI_Win each : some.all) {
    std::array<char, MPI_MAX_OBJECT_NAME> name{'x'};
    int length = -1;
    MPI_Win_get_name(each, name.data(), &length);
    CHECK(length == 0 && name[0] == '\0');
    const std::string longest(MPI_MAX_OBJECT_NAME - 1, 'n');
    MPI_Win_set_name(each, longest.c_str());
    MPI_Win_get_name(each, name.data(), &length);
    CHECK(static_cast<std::size_t>(length) == longest.size() && name.data() == longest);

    MPI_Group group = MPI_GROUP_NULL;
    int relation = MPI_UNEQUAL;
    MPI_Win_get_group(each, &group);
    MPI_Group_compare(group, world, &relation);
    CHECK(relation == MPI_IDENT);
    MPI_Group_free(&group);
    CHECK(MPI_Win_f2c(MPI_Win_c2f(each)) == each);
  }
  MPI_Group_free(&world);
}

void predefined_attributes() {
  step = "predefined attributes";
  const windows some;
  const std::array<int, 4> flavors{MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE, MPI_WIN_FLAVOR_DYNAMIC,
                                   MPI_WIN_FLAVOR_SHARED};
  for (std::size_t i = 0; i < some.all.size(); ++i) {
    const auto read = [&](int key) {
      void* value = nullptr;
      int found = 0;
      CHECK(MPI_Win_get_attr(some.all[i], key, &value, &found) == MPI_SUCCESS && found != 0);
      return value;
    };
    const bool is_dynamic = i == 2;
    CHECK(read(MPI_WIN_BASE) == some.base[i]);
    CHECK(*static_cast<MPI_Aint*>(read(MPI_WIN_SIZE)) == (is_dynamic ? 0 : program::bytes_min));
    CHECK(*static_cast<int*>(read(MPI_WIN_DISP_UNIT)) == (is_dynamic ? 1 : 4));
    CHECK(*static_cast<int*>(read(MPI_WIN_CREATE_FLAVOR)) == flavors[i]);
    CHECK(*static_cast<int*>(read(MPI_WIN_MODEL)) == MPI_WIN_UNIFIED);
  }
}

void own_attributes() {
  step = "attributes of the program";
  struct deletions {
    std::vector<int> values{};
    static int note(MPI_Win, int, void* value, void* state) {
      static_cast<deletions*>(state)->values.push_back(*static_cast<int*>(value));
      return MPI_SUCCESS;
    }
  } deleted;
  int first_key = MPI_KEYVAL_INVALID, second_key = MPI_KEYVAL_INVALID;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, deletions::note, &first_key, &deleted);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, deletions::note, &second_key, &deleted);
  std::array<int, 3> values{1, 2, 3};
  int freed_key = MPI_KEYVAL_INVALID;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &freed_key, nullptr);
  {
    const windows some;
    for (const MPI_Win each : some.all) {
      MPI_Win_set_attr(each, freed_key, &values[0]);
      MPI_Win_delete_attr(each, freed_key);
    }
    MPI_Win_free_keyval(&freed_key);  // before the windows end
    for (const MPI_Win each : some.all) {
      void* seen = nullptr;
      int found = 1;
      MPI_Win_get_attr(each, first_key, &seen, &found);
      CHECK(found == 0);
      MPI_Win_set_attr(each, first_key, &values[0]);
      MPI_Win_set_attr(each, first_key, &values[1]);
      MPI_Win_set_attr(each, second_key, &values[2]);
      CHECK(deleted.values == std::vector<int>{1});
      MPI_Win_get_attr(each, first_key, &seen, &found);
      CHECK(found != 0 && seen == &values[1]);
      MPI_Win_delete_attr(each, first_key);
      CHECK((deleted.values == std::vector<int>{1, 2}));
      deleted.values.clear();
    }
  }
  CHECK((deleted.values == std::vector<int>{3, 3, 3, 3}));  // as the windows end
  MPI_Win_free_keyval(&first_key);
  MPI_Win_free_keyval(&second_key);
}

/// What the last error handler has been called with. An error handler has no state.
MPI_Win failed_window = MPI_WIN_NULL;
int failed_class = MPI_SUCCESS;
int handled = 0;

void note_error(MPI_Win* win, int* code, ...) {
  failed_window = *win;
  failed_class = class_of(*code);
  ++handled;
}

void error_handlers() {
  step = "error handlers";
  const windows some;
  MPI_Errhandler own = MPI_ERRHANDLER_NULL, found = MPI_ERRHANDLER_NULL;
  MPI_Win_create_errhandler(note_error, &own);
  for (const MPI_Win each : some.all) {
    MPI_Win_get_errhandler(each, &found);
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&found);
    MPI_Win_set_errhandler(each, own);
    handled = 0;
    const int value = 0;
    const int code = MPI_Put(&value, 1, MPI_INT, size(), 0, 1, MPI_INT, each);  // no such rank, and no epoch
    CHECK(code != MPI_SUCCESS);
    CHECK(handled == 1 && failed_window == each && failed_class == class_of(code));
    CHECK(class_of(MPI_Win_unlock_all(each)) == MPI_ERR_RMA_SYNC);
    CHECK(handled == 2 && failed_window == each && failed_class == MPI_ERR_RMA_SYNC);
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    CHECK(MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS && length > 0);
    MPI_Win_call_errhandler(each, MPI_ERR_OTHER);
    CHECK(handled == 3 && failed_class == MPI_ERR_OTHER);

    MPI_Win_get_errhandler(each, &found);
    CHECK(found == own);
    MPI_Errhandler_free(&found);
    MPI_Win_set_errhandler(each, MPI_ERRORS_RETURN);
    CHECK(class_of(MPI_Win_unlock_all(each)) == MPI_ERR_RMA_SYNC && handled == 3);
  }
  MPI_Errhandler_free(&own);
}

int deleted = 0;
int count_deletion(MPI_Win, int, void*, void*) {
  ++deleted;
  return MPI_SUCCESS;
}

// The library may give a new window the handle of an earlier one.
void nothing_of_earlier_windows() {
  step = "a window after others";
  MPI_Comm half = MPI_COMM_NULL, same = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, 0, &half);
  MPI_Comm_dup(MPI_COMM_WORLD, &same);
  int key = MPI_KEYVAL_INVALID, value = 0;
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, count_deletion, &key, nullptr);
  deleted = 0;
  int ended = 0;
  for (const MPI_Comm comm : {MPI_COMM_WORLD, half, same, MPI_COMM_SELF, MPI_COMM_WORLD, half}) {
    for (int round = 0; round < 3; ++round, ended += 3) {
      std::array<MPI_Win, 3> all{};
      for (MPI_Win& win : all) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
        std::array<char, MPI_MAX_OBJECT_NAME> name{'x'};
        int length = -1, is_set = 1;
        void* found = nullptr;
        MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
        MPI_Win_get_name(win, name.data(), &length);
        MPI_Win_get_attr(win, key, static_cast<void*>(&found), &is_set);
        MPI_Win_get_errhandler(win, &handler);
        CHECK(length == 0 && is_set == 0 && handler == MPI_ERRORS_ARE_FATAL);
        MPI_Group members = MPI_GROUP_NULL, expected = MPI_GROUP_NULL;
        int relation = MPI_UNEQUAL;
        MPI_Win_get_group(win, &members);
        MPI_Comm_group(comm, &expected);
        MPI_Group_compare(members, expected, &relation);
        CHECK(relation == MPI_IDENT);
        MPI_Group_free(&members);
        MPI_Group_free(&expected);
        MPI_Win_set_name(win, "earlier");
        // On one process of the window alone.
        if (rank() < 2) MPI_Win_set_attr(win, key, &value);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        CHECK(deleted == (rank() < 2 ? ended : 0));
      }
      for (MPI_Win& win : all) MPI_Win_free(&win);
      CHECK(deleted == (rank() < 2 ? ended + 3 : 0));
    }
  }
  MPI_Win_free_keyval(&key);
  MPI_Comm_free(&same);
  MPI_Comm_free(&half);
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv);
  if (argc < 2) hints_of_windows();
  names_and_groups();
  predefined_attributes();
  own_attributes();
  error_handlers();
  nothing_of_earlier_windows();
}
