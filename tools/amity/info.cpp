// amity info: lists fabrics and settings.

#include <cstdio>

#include <CLI/CLI.hpp>

#include "amity/base/error.hpp"
#include "amity/base/log.hpp"
#include "amity/world/fabrics.hpp"
#include "commands.hpp"
#include "inventory.hpp"

namespace amity::tools {

std::string_view to_text(settings::origin from) {
  switch (from) {
    case settings::origin::standard:
      return "default";
    case settings::origin::environment:
      return "environment";
    case settings::origin::program:
      return "program";
  }
  return "";
}

int info(int argc, char** argv) {
  bool json = false;
  CLI::App app(
      "Lists the fabrics with their capabilities, and all settings with their values and the origin of each value.",
      "amity info");
  app.add_flag("--json", json, "Print one JSON object");
  app.footer("Settings are environment variables, for example: AMITY_SHM_BUFFERS=32 amity info");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& stop) {
    return app.exit(stop) == 0 ? 0 : usage_error;
  }
  inventory all{AMITY_VERSION, settings::from_environment(), {}, {}};
  all.fabrics = describe_fabrics(all.values);
  all.choice = explain_fabric(all.values);
  for (const auto& warning : all.values.warnings()) log_warning(no_rank, warning);
  std::fputs((json ? as_json(all) : as_table(all)).c_str(), stdout);
  return 0;
}

}  // namespace amity::tools
