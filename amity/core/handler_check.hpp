#pragma once

/// What packets carry of their handler's name.

#include <cstdint>
#include <string_view>

namespace amity::core {

/// `packet_header::check` of the messages of a handler with this name.
std::uint16_t check_of(std::string_view name);

}  // namespace amity::core
