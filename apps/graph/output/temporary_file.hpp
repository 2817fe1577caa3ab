#pragma once

/// A file under a temporary name, in the folder of the file that it replaces when it is complete.
///
/// It is removed if the object ends without `replace_target`. A helper process removes it if this process ends early:
/// launchers end ranks by SIGKILL, which a handler in this process would not see. Files without a name (O_TMPFILE)
/// would need no removal, but NFS and Lustre do not support them.

#include <sys/types.h>

#include <filesystem>

#include "apps/graph/owned_descriptor.hpp"

namespace amity::apps::graph {

/// A process that removes a file if the process that has started it ends before this object does.
class file_remover {
 public:
  /// Works without the process, which then protects nothing, if the system cannot start it.
  explicit file_remover(const std::filesystem::path& file);
  file_remover(const file_remover&) = delete;
  file_remover& operator=(const file_remover&) = delete;
  /// The file has its final name, or is removed: the process ends and leaves it alone.
  ~file_remover();

 private:
  pid_t process_ = -1;
  owned_descriptor alive_;  ///< the process waits for bytes from here
};

class temporary_file {
 public:
  /// `target` is absolute and without links. The file gets the mode, and if possible the owner, of an existing target.
  /// Throws `std::system_error`.
  explicit temporary_file(std::filesystem::path target);
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  ~temporary_file();

  /// For writing.
  int descriptor() const noexcept { return file_.get(); }

  /// Waits until the content is on the disk, and gives the file the name of the target. Throws `std::system_error`; the
  /// target is unchanged then.
  void replace_target();

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;  ///< empty once it has the name of the target
  owned_descriptor file_;
  file_remover remover_;
};

}  // namespace amity::apps::graph
