// Windows with thousands of hints: their creation reads each hint once. info_tool.c counts what the library reads.

#include <dlfcn.h>

#include <array>
#include <string>

#include "program.hpp"

namespace {

using program::step;

constexpr int keys = 4'096;
/// A key by its number, and its value. The library may read further hints, as long as they are few.
constexpr long reads_max = 2L * keys + 16;

std::string key_of(int number) { return "key_" + std::to_string(number); }
std::string value_of(int number) {
  return number == 1 ? std::string(MPI_MAX_INFO_VAL - 1, 'v') : "value of " + key_of(number);
}

/// How often the library has read from an info object since the last call.
long reads() {
  auto* const take = reinterpret_cast<long (*)()>(::dlsym(RTLD_DEFAULT, "take_info_reads"));
  CHECK(take != nullptr);
  return take();
}

/// An operation that takes the hints reads them once.
template <class Call>
void reads_once(const char* name, Call call) {
  step = name;
  reads();
  CHECK(call() == MPI_SUCCESS);
  const long count = reads();
  CHECK(count >= 2L * keys && count <= reads_max);
}

void check_hints(MPI_Win win) {
  step = "MPI_Win_get_info";
  MPI_Info has = MPI_INFO_NULL;
  reads();
  MPI_Win_get_info(win, &has);
  CHECK(reads() == 0);
  for (const int number : {0, 1, 2, keys / 2, keys - 1}) {
    std::array<char, MPI_MAX_INFO_VAL + 1> value{};
    int found = 0;
    MPI_Info_get(has, key_of(number).c_str(), MPI_MAX_INFO_VAL, value.data(), &found);
    CHECK(found != 0 && value_of(number) == value.data());
  }
  MPI_Info_free(&has);
}

}  // namespace

int main(int argc, char** argv) {
  const program::session running(argc, argv, 60);
  MPI_Info hints = MPI_INFO_NULL;
  MPI_Info_create(&hints);
  for (int number = 0; number < keys; ++number) MPI_Info_set(hints, key_of(number).c_str(), value_of(number).c_str());
  int memory = 0;
  void* base = nullptr;
  std::array<MPI_Win, 4> all{};
  reads_once("MPI_Win_create",
             [&] { return MPI_Win_create(&memory, sizeof memory, 1, hints, MPI_COMM_WORLD, &all[0]); });
  reads_once("MPI_Win_allocate", [&] { return MPI_Win_allocate(8, 1, hints, MPI_COMM_WORLD, &base, &all[1]); });
  reads_once("MPI_Win_create_dynamic", [&] { return MPI_Win_create_dynamic(hints, MPI_COMM_WORLD, &all[2]); });
  reads_once("MPI_Win_allocate_shared",
             [&] { return MPI_Win_allocate_shared(8, 1, hints, MPI_COMM_WORLD, &base, &all[3]); });
  for (MPI_Win& each : all) {
    check_hints(each);
    reads_once("MPI_Win_set_info", [&] { return MPI_Win_set_info(each, hints); });
    step = "MPI_Win_free";
    reads();
    MPI_Win_free(&each);
    CHECK(reads() == 0);
  }
  MPI_Info_free(&hints);
}
