#pragma once

/// Where an output of the command goes, and whether two names mean one file.

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace amity::apps::graph {

/// The name of an output that stands for standard output.
inline constexpr std::string_view standard_output = "-";

/// An output cannot be written there; `what()` is the reason, such as the text of errno.
class destination_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What distinguishes files, whatever their names. A file that does not exist is known by its folder and name.
struct file_identity {
  dev_t device;
  ino_t number;
  std::string name;  ///< in the folder; empty for a file that exists
  bool operator==(const file_identity&) const = default;
};

struct destination {
  enum class kind {
    descriptor,  ///< is open already: standard output, or /dev/fd/N
    direct,      ///< device or FIFO: written as it is
    file,        ///< replaced as a whole
  };
  kind what = kind::file;
  int descriptor = -1;
  std::filesystem::path path;  ///< absolute and without links; not for descriptors

  /// Empty for terminals and other devices of characters, and for sockets, which may have several uses at once.
  std::optional<file_identity> identity() const;
};

/// Follows links. Throws `destination_error` for a folder, for a file in a folder that does not exist, and for a link
/// to a file that does not exist: whether that is another output as well would depend on which is written first.
destination find_destination(const std::string& name);

/// Whether a name stands for standard output: "-", /dev/stdout, or a link there.
bool names_standard_output(const std::string& name);

/// Throws `destination_error` if the permissions do not allow the output to be written.
void check_permissions(const destination& to);

/// The file that an input is read from; standard input for the name "-". Empty as for destinations, and if there is
/// none.
std::optional<file_identity> identity_of_input(const std::filesystem::path& name);

}  // namespace amity::apps::graph
