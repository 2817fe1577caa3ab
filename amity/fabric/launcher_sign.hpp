#pragma once

/// What a launcher leaves in the environment of the processes that it starts, whether they can join it or not.

#include <optional>
#include <string_view>

namespace amity::fabric {

struct launcher_sign {
  const char* variable;
  std::string_view launcher;
  long processes;
  bool is_srun;
};

/// The sign that this process is one of several; nothing if there is none.
std::optional<launcher_sign> find_launcher_sign();

}  // namespace amity::fabric
