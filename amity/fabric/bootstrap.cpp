#include "amity/fabric/bootstrap.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include "amity/base/error.hpp"

namespace amity::fabric {

bool is_left_by(pid_t starter) noexcept { return starter != 0 && ::getppid() != starter; }

void throw_left(std::string_view fabric, rank_t own, pid_t starter) {
  throw error(fabric, own, fmt::format("process {}, which has started this rank, has ended", starter),
              "see what it has printed; it must live as long as the job");
}

}  // namespace amity::fabric
