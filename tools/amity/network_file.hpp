#pragma once

/// Network files: the costs of a network that `amity sim` simulates.
///
///     # What follows a '#' is a comment: whose figures these are.
///     latency_ns = 1300
///     byte_ps = 80
///
/// A line names a setting AMITY_SIM_* of the network, in small letters without what all of them begin with; `amity
/// info` tells what each means. What a file does not name keeps its default.

#include <string>
#include <vector>

#include "amity/base/settings.hpp"

namespace amity::tools {

/// The file of a network that comes with amity, or `network` itself if it has a '/' or a '.'. Throws `error` that lists
/// the names if there is none of that name.
std::string find_network(const std::string& network);

/// The names of the networks that come with amity, sorted.
std::vector<std::string> network_names();

/// Gives `values` what the file says, but for settings that the environment has: whoever runs a program may change one
/// figure of a network. Throws `error` that names file, line, value and remedy.
void read_network(const std::string& file, settings& values);

}  // namespace amity::tools
