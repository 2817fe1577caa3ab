// amity info for programs.

#include <nlohmann/json.hpp>

#include "inventory.hpp"

namespace amity::tools {
namespace {

using json = nlohmann::ordered_json;

json to_json(const fabric::remote_capabilities& remote) {
  return {{"available", remote.available},
          {"mapped", remote.mapped},
          {"unattended", remote.unattended},
          {"puts_before_packets", remote.puts_before_packets},
          {"atomics", remote.atomics},
          {"notify_bits", remote.notify_bits},
          {"operations_max", remote.operations_max},
          {"packed_bytes_max", remote.packed_bytes_max}};
}

json to_json(const fabric::capabilities& caps) {
  if (!is_available(caps)) return {{"name", caps.name}, {"description", caps.description}, {"available", false}};
  return {{"name", caps.name},
          {"description", caps.description},
          {"available", true},
          {"packet_bytes_max", caps.packet_bytes_max},
          {"inline_bytes_max", caps.inline_bytes_max},
          {"credits_per_peer", caps.credits_per_peer},
          {"slots_per_peer", caps.slots_per_peer},
          {"bytes_per_peer", caps.bytes_per_peer},
          {"ordered", caps.ordered},
          {"virtual_time", caps.virtual_time},
          {"remote", to_json(caps.remote)},
          {"remote_on_node", caps.remote_on_node ? to_json(*caps.remote_on_node) : json()}};
}

json to_json(const setting_info& info, const settings& values) {
  json row{{"name", info.name},
           {"value", values.value(info.name)},
           {"unit", info.unit},
           {"default", info.default_value},
           {"from", to_text(values.where_from(info.name))},
           {"help", info.help},
           {"internal", info.internal}};
  if (info.type == setting_info::kind::integer) {
    row["number"] = values.integer(info.name);
    row["min"] = info.min;
    row["max"] = info.max;
  } else {
    row["choices"] = info.choices;
  }
  return row;
}

}  // namespace

std::string as_json(const inventory& all) {
  json page{{"version", all.version}, {"fabrics", json::array()}, {"choice", all.choice}, {"settings", json::array()}};
  for (const auto& caps : all.fabrics) page["fabrics"].push_back(to_json(caps));
  for (const auto& info : setting_table()) page["settings"].push_back(to_json(info, all.values));
  page["warnings"] = all.values.warnings();
  return page.dump(2) + '\n';
}

}  // namespace amity::tools
