#pragma once

/// The settings of Long messages.

#include <cstddef>
#include <cstdint>
#include <string>

#include "amity/base/settings.hpp"

namespace amity::core {

struct long_options {
  explicit long_options(const settings& config)
      : protocol(config.text("AMITY_LONG_PROTOCOL")),
        pending_max(static_cast<std::size_t>(config.integer("AMITY_LONG_PENDING"))),
        slots(static_cast<std::uint32_t>(config.integer("AMITY_LONG_SLOTS"))) {}

  std::string protocol;     ///< the name of one, or "auto"
  std::size_t pending_max;  ///< operations that wait
  std::uint32_t slots;      ///< lent to each source
};

}  // namespace amity::core
