#pragma once

/// Error codes of MPI whose MPI_Error_string is the whole text of an error.

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/types.hpp"

namespace amity::mpi {

/// An MPI has a limited number of codes, and codes stay: each class has `kept_max` of them, which are used in turn.
/// This library has the texts, because MPICH has none for codes of the standard's classes. Any thread may call it.
class error_codes : private immovable {
 public:
  /// A code of this class with this text, which it keeps until so many errors of the class with other texts have
  /// followed. The class itself, if the MPI has no more codes.
  int find(int error_class, std::string_view text);
  /// The text of a code; nothing: `find` has not returned it.
  std::optional<std::string> text_of(int code);

  static constexpr std::size_t kept_max = 16;

 private:
  struct known_code {
    int code;
    std::string text;
  };
  struct codes_of_class {
    std::vector<known_code> all{};
    std::size_t oldest = 0;
  };

  std::mutex mutex_;
  std::map<int, codes_of_class> classes_;
};

}  // namespace amity::mpi
