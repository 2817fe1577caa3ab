#pragma once

/// The report of a simulation, rank by rank: a table of the extremes for people, all ranks for programs.

#include <span>
#include <string>

#include "amity/fabric/sim/figures.hpp"

namespace amity::fabric::sim {

/// The means of all ranks, and for each figure the ranks with the least and the most of it.
std::string extremes_table(std::span<const rank_figures> ranks);

/// A heading, then a line a rank; times in nanoseconds.
std::string as_csv(std::span<const rank_figures> ranks);

/// An array of objects with the names of the CSV's heading.
std::string as_json(std::span<const rank_figures> ranks);

/// Does what AMITY_SIM_REPORT asks for: "table", or a file whose name ends in .csv or .json. Throws `error` if the file
/// cannot be written.
void write_report(const std::string& where, std::span<const rank_figures> ranks);

/// Throws `error` unless `where` is empty or something that `write_report` understands.
void check_report(const std::string& where);

}  // namespace amity::fabric::sim
