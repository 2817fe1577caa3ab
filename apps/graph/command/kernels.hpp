#pragma once

/// The kernels of the command: a table with one row each.
///
/// To add one, write its function (run_NAME in a file of this folder), and its row in kernels.cpp. A kernel that wants
/// options of its own names their group, which command.cpp fills.

#include <span>
#include <string_view>

#include "apps/graph/command/session.hpp"

namespace amity::apps::graph {

/// Groups of options that kernels take.
struct takes {
  bool graph = true;  ///< FILE, generators and distribution
  bool root = false;
  bool direction = false;  ///< searches that can look from below
  bool top = false;        ///< reports that list the first of many
  bool lengths = false;
  bool entries = false;     ///< weights are entries of a matrix: of any sign, and double
  bool per_vertex = true;   ///< with --output
  bool iterations = false;  ///< of an iterative method
  bool benchmark = false;   ///< Graph500's scale and edge factor
  bool table = false;       ///< sizes of a distributed table, in place of a graph
};

struct kernel {
  std::string_view name;
  std::string_view help;  ///< one line
  takes options;
  int (*run)(session& job);  ///< collective; the exit status
};

std::span<const kernel> kernel_table();

}  // namespace amity::apps::graph
