#pragma once

/// The dependency graph of a Debian-like distribution, from the package lists that apt keeps.
///
/// What is a vertex, and what is an edge:
/// - a vertex is a package name; where lists give several versions, the newest counts, as apt would choose;
/// - there is an edge from a package to each other package, or itself, that can satisfy one of the alternatives
///   (a | b) of its Depends and Pre-Depends, at most one for each pair;
/// - a name is satisfied by the package of that name; if there is none, by every package that Provides it;
/// - version, architecture and profile qualifiers do not count; a name that nothing satisfies gives no edge.
///
/// Debian 12 has 63,666 packages and 276,340 edges by this definition. The length of an edge is the size, in MB (10^6
/// bytes), of the file that the dependency makes one download.

#include <filesystem>
#include <string>
#include <vector>

#include "apps/graph/console/progress.hpp"
#include "apps/graph/input/edge_list.hpp"
#include "apps/graph/input/input.hpp"

namespace amity::apps::graph {

/// Where apt keeps its lists.
inline constexpr const char* apt_lists_folder = "/var/lib/apt/lists";

/// The package lists in a folder, in order of their names; empty if there are none, or no such folder.
std::vector<std::filesystem::path> find_package_lists(const std::filesystem::path& folder);

/// The graph of the packages in all lists of a folder. With `reverse`, edges go from a package to those that depend on
/// it. Lists may be plain, .gz, or packed in any way that apt can unpack. Throws `amity::error` for a folder without
/// lists and for lists that are malformed.
edge_list read_packages(const std::filesystem::path& folder, bool reverse, progress& watcher);

/// What a list says about one package.
struct package {
  std::string name;
  std::string version;
  std::string depends;   ///< Depends and Pre-Depends, joined by a comma
  std::string provides;  ///< as written
  std::uint64_t bytes = 0;
};

/// Every package of a list, in the order of the list.
std::vector<package> parse_package_list(input& from);

/// The graph of the packages of all lists together. Packages may be in any order, and names may repeat.
edge_list build_package_graph(std::vector<package> packages, bool reverse);

}  // namespace amity::apps::graph
