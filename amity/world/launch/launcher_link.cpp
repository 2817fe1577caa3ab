#include "amity/world/launch/launcher_link.hpp"

#include "amity/fabric/shm/job_memory.hpp"
#include "amity/world/bootstrap/starter.hpp"

namespace amity::detail {

using fabric::shm::job_memory;

launcher_link::launcher_link(const settings& config) {
  if (find_starter(config) != starter::own_launcher) return;
  memory_ = std::make_unique<job_memory>(job_memory::attach(static_cast<int>(config.integer("AMITY_JOB_FD")),
                                                            static_cast<rank_t>(config.integer("AMITY_RANKS"))));
  memory_->notes().api = fabric::shm::job_api::openshmem;
}

launcher_link::~launcher_link() = default;

void launcher_link::succeed() noexcept {
  if (memory_) memory_->notes().succeeded = 1;
}

}  // namespace amity::detail
