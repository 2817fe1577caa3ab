#pragma once

/// Formats of graphs and archives that are recognized but not read.
///
/// Without this check their bytes would be taken for a text or binary edge list, and give a graph of the wrong data.

#include <optional>
#include <string>
#include <string_view>

namespace amity::apps::graph {

struct foreign_format {
  std::string_view name;    ///< "GraphML"
  std::string_view remedy;  ///< an imperative: how to get a file that can be read
};

/// The foreign format of a file, by its name (without ".gz") or by the bytes at its beginning, unpacked; empty if the
/// format is not known.
std::optional<foreign_format> find_foreign_format(std::string_view file_name, std::string_view head);

}  // namespace amity::apps::graph
