#pragma once

/// Checks the outputs of a command line before any work is done.

#include <filesystem>
#include <vector>

#include "apps/graph/command/options.hpp"

namespace amity::apps::graph {

/// Throws `error` if an output cannot be written, or if it is the same file as an input, the other output, or standard
/// output, under whatever name: the command would destroy what it reads, or overwrite what it has written.
void check_outputs(const options& wanted, const std::vector<std::filesystem::path>& inputs);

}  // namespace amity::apps::graph
