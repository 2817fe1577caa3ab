#pragma once

/// The start-up of processes whose process manager speaks PMI-1 over a descriptor that they have inherited: MPICH's
/// launcher Hydra and its kin. The protocol is lines of text, "cmd=NAME key=value ...", a question and its answer.

#include <memory>

#include "amity/fabric/bootstrap.hpp"

namespace amity::detail {

/// Whether the environment says that there is such a process manager.
bool pmi1_is_there();

/// Joins its job. Throws `error` if the manager does not answer as it should.
std::unique_ptr<fabric::bootstrap> pmi1_bootstrap();

}  // namespace amity::detail
