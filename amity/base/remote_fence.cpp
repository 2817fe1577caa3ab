#include "amity/base/remote_fence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace amity {
namespace {

bool membarrier(int command) noexcept { return ::syscall(SYS_membarrier, command, 0, 0) == 0; }

}  // namespace

bool permit_remote_fences() noexcept { return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED); }

bool force_remote_fences() noexcept { return membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED); }

}  // namespace amity
