#pragma once

/// The info keys of windows that are about active messages. They are read when a window is made.

#include <string>
#include <string_view>
#include <vector>

#include "amity/base/types.hpp"
#include "amity/interop/mpi/drop_in/window_info.hpp"
#include "amity/window/options.hpp"

namespace amity::mpi {

struct am_hints {
  std::vector<am_guarantee> guarantees{};  ///< "am_user_buf_<rank>"
  bool may_detach = true;                  ///< "am_buf_interleave_am_detach"
  bool is_atomic = true;                   ///< "am_atomic"
};

/// The info of a window with `size` members. "am_ordering" (none, origin) and "am_concurrency" (true, false) change
/// nothing: messages of one origin are always in order, and one handler runs at a time. Throws `mpi_error` with
/// MPI_ERR_INFO_KEY or MPI_ERR_INFO_VALUE for wrong keys and values.
am_hints read_am_hints(const window_info& info, rank_t size);

/// Whether it is one of these keys.
bool is_am_hint(std::string_view key) noexcept;

/// A sentence for each key that begins with "am_" and is not one of these keys, which names the nearest one.
std::vector<std::string> warnings_of_am_hints(const window_info& info);

}  // namespace amity::mpi
