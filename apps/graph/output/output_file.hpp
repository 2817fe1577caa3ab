#pragma once

/// An output of the command: a file that is replaced as a whole, or a device, FIFO or open descriptor.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "apps/graph/output/temporary_file.hpp"
#include "apps/graph/owned_descriptor.hpp"

namespace amity::apps::graph {

/// Its functions throw `amity::error` with the name of the output and the text of errno. Without `commit`, an existing
/// file keeps its content, and nothing else is left of a new one.
class output_file {
 public:
  /// Opens an output by its name, as `find_destination` understands it. A FIFO waits for its reader.
  explicit output_file(const std::string& name);

  /// Writes to a descriptor that is open already, and stays open.
  output_file(int descriptor, std::string name);

  void write(std::string_view text);

  /// The output is complete.
  void commit();

 private:
  void replace(const std::filesystem::path& target);
  [[noreturn]] void fail(int code) const;

  std::string name_;
  std::optional<temporary_file> replacement_;
  owned_descriptor opened_;
  int descriptor_ = -1;
};

/// Writes a whole output; throws as above.
void write_output_file(const std::string& name, std::string_view text);

}  // namespace amity::apps::graph
