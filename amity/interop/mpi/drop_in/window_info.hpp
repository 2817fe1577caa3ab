#pragma once

/// The hints of a window. Unknown keys are kept, with every MPI. (MPI-3.1, section 11.2.7.)

#include <map>
#include <string>
#include <string_view>

#include <mpi.h>

namespace amity::mpi {

class window_info {
 public:
  /// The hints that the standard defines for a window of this flavor, with their defaults.
  explicit window_info(int flavor);
  /// Adds what `info` has, which may be MPI_INFO_NULL, except keys that `is_fixed` returns true for. Throws
  /// `mpi_error`.
  void merge(MPI_Info info, bool (*is_fixed)(std::string_view key) noexcept = nullptr);
  void set(std::string_view key, std::string_view value) { values_[std::string(key)] = value; }
  /// "true": yes; anything else, or no such key: no.
  bool says(std::string_view key) const;
  /// "false": yes; anything else, or no such key: no.
  bool denies(std::string_view key) const;
  /// The value of a key, or `absent` if there is no such key.
  std::string_view value_of(std::string_view key, std::string_view absent) const;
  /// Calls `visit(key, value)` for each key that begins with `prefix`.
  template <class Visit>
  void for_each(std::string_view prefix, Visit visit) const {
    for (auto each = values_.lower_bound(prefix); each != values_.end() && each->first.starts_with(prefix); ++each)
      visit(each->first, each->second);
  }
  /// A new info object with all of them, that the caller frees. Throws `mpi_error`.
  MPI_Info copy() const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace amity::mpi
