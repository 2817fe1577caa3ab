#pragma once

/// What the machine can do at best, without a library between: see each file.

#include "bench/harness.hpp"

namespace amity::bench {

extern const raw_limit line_handover;
extern const raw_limit copy_in_out;
extern const raw_limit shared_buffers;
extern const raw_limit single_copy;
extern const raw_limit tcp_ping_pong;
extern const raw_limit fiber_letters;

}  // namespace amity::bench
