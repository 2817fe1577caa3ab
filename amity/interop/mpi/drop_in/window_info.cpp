#include "amity/interop/mpi/drop_in/window_info.hpp"

#include <array>

#include "amity/interop/mpi/drop_in/mpi_error.hpp"
#include "amity/interop/mpi/drop_in/native.hpp"

namespace amity::mpi {

window_info::window_info(int flavor)
    : values_{{"accumulate_ops", "same_op_no_op"},
              {"accumulate_ordering", "rar,raw,war,waw"},
              {"no_locks", "false"},
              {"same_disp_unit", "false"},
              {"same_size", "false"}} {
  if (flavor == MPI_WIN_FLAVOR_ALLOCATE || flavor == MPI_WIN_FLAVOR_SHARED) set("alloc_shared_noncontig", "false");
}

void window_info::merge(MPI_Info info, bool (*is_fixed)(std::string_view key) noexcept) {
  if (info == MPI_INFO_NULL) return;
  int keys = 0;
  check_native(native::info_get_nkeys(info, &keys), "MPI_Info_get_nkeys");
  std::array<char, MPI_MAX_INFO_KEY + 1> key{};
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  // In each MPI, a call searches all keys. So none asks for the length of a value, which has a bound.
  for (int index = 0; index < keys; ++index) {
    check_native(native::info_get_nthkey(info, index, key.data()), "MPI_Info_get_nthkey");
    if (is_fixed != nullptr && is_fixed(key.data())) continue;
    int found = 0;
    check_native(native::info_get(info, key.data(), MPI_MAX_INFO_VAL, value.data(), &found), "MPI_Info_get");
    if (found != 0) set(key.data(), value.data());
  }
}

bool window_info::says(std::string_view key) const {
  const auto found = values_.find(key);
  return found != values_.end() && found->second == "true";
}

bool window_info::denies(std::string_view key) const {
  const auto found = values_.find(key);
  return found != values_.end() && found->second == "false";
}

std::string_view window_info::value_of(std::string_view key, std::string_view absent) const {
  const auto found = values_.find(key);
  return found == values_.end() ? absent : std::string_view(found->second);
}

MPI_Info window_info::copy() const {
  MPI_Info made = MPI_INFO_NULL;
  check_native(native::info_create(&made), "MPI_Info_create");
  for (const auto& [key, value] : values_) {
    check_native(native::info_set(made, key.c_str(), value.c_str()), "MPI_Info_set");
  }
  return made;
}

}  // namespace amity::mpi
