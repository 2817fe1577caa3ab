#pragma once

/// Faults of single ranks, as AMITY_SIM_FAULTS writes them.
///
///     slow:rank=3,factor=10             its own costs are ten times those of others
///     stop:rank=2,at=1ms,for=5ms        it does not run for that time
///     kill:rank=5,at=2ms,notice=10ms    it ends without a word; others that wait notice 10 ms later, which may be left
///                                       out
///
/// Separated by ';'. A rank is a number, or `any`: then the seed chooses.

#include <string_view>

#include "amity/base/types.hpp"
#include "amity/fabric/sim/sim.hpp"

namespace amity::fabric::sim {

/// Adds the faults that `text` names to the options, for a job of `ranks`. Throws `error` that names the fault.
void add_faults(sim_options& options, std::string_view text, rank_t ranks);

}  // namespace amity::fabric::sim
