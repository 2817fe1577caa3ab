#include "amity/window/options.hpp"

#include <string>

#include "amity/base/settings.hpp"

namespace amity {

window_options with_settings(window_options given, const settings& config) {
  given.checked = given.checked || config.integer("AMITY_WINDOW_CHECKED") != 0;
  if (given.protocol != window_protocol::automatic) return given;
  const std::string& name = config.text("AMITY_WINDOW_PROTOCOL");
  given.protocol = name == "send_recv"  ? window_protocol::send_recv
                   : name == "buffered" ? window_protocol::buffered
                   : name == "rma"      ? window_protocol::rma
                                        : window_protocol::automatic;
  return given;
}

}  // namespace amity
