#pragma once

/// What handling takes on simulated ranks, by the name of the message type (AMITY_SIM_HANDLERS_NS and _BYTE_PS).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "amity/base/settings.hpp"
#include "amity/fabric/sim/sim.hpp"

namespace amity {

class handler_costs {
 public:
  /// What a name has no figure for takes what it takes for all. Throws `error` for text that is no list of costs.
  handler_costs(const settings& config, const fabric::sim::handling& for_all);

  bool empty() const noexcept { return all_.empty(); }

  /// Of a packet with this header; null: nothing of its own. Two names of which packets carry the same bits are
  /// taken for one another.
  const fabric::sim::handling* of(std::uint64_t header) noexcept;

  /// Those of which no packet has come: misspelt, most likely.
  std::vector<std::string> unmet() const;

 private:
  struct named {
    std::string name;
    std::uint16_t check;
    fabric::sim::handling takes;
    bool met = false;
  };

  named& entry_of(std::string_view name, const fabric::sim::handling& for_all);

  std::vector<named> all_;
};

}  // namespace amity
