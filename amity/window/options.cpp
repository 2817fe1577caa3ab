#include "amity/window/options.hpp"

#include <charconv>
#include <string>

#include <fmt/format.h>

#include "amity/base/error.hpp"
#include "amity/base/settings.hpp"

namespace amity {

namespace {

double pack_below(const settings& config) {
  const std::string& text = config.text("AMITY_AM_PACK_BELOW");
  if (text == "auto") return 0.8;  // as in the paper
  double fraction = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), fraction);
  const bool is_number = problem == std::errc() && end == text.data() + text.size();
  if (is_number && fraction >= 0 && fraction <= 1) return fraction;
  throw error("settings", no_rank, fmt::format("AMITY_AM_PACK_BELOW is '{}'", text),
              "set it to auto or to a number from 0 to 1");
}

am_options with_settings(am_options given, const settings& config) {
  if (given.system_bytes < 0) given.system_bytes = config.integer("AMITY_AM_SYSTEM_BYTES");
  if (given.unit_bytes < 0) given.unit_bytes = config.integer("AMITY_AM_UNIT_BYTES");
  if (given.messages_max < 0) given.messages_max = config.integer("AMITY_AM_PENDING");
  if (given.pack_below < 0) given.pack_below = pack_below(config);
  given.adapts = given.adapts && config.integer("AMITY_AM_ADAPTIVE") != 0;
  given.detects_exclusive = given.detects_exclusive && config.integer("AMITY_AM_DETECT_EXCLUSIVE") != 0;
  return given;
}

}  // namespace

window_options with_settings(window_options given, const settings& config) {
  given.messages = with_settings(given.messages, config);
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
