#pragma once

/// Files for one test.

#include <filesystem>
#include <string>
#include <string_view>

#include "apps/graph/input/edge_list.hpp"
#include "apps/graph/input/formats.hpp"
#include "tests/support/errors.hpp"

namespace amity::apps::graph::tests {

/// A folder that goes when the test does.
class scratch {
 public:
  scratch();
  ~scratch();
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path write(const std::string& name, std::string_view content) const;

  /// Packs `content` by gzip, and keeps only the first `keep` bytes of that.
  std::filesystem::path write_gzip(const std::string& name, std::string_view content,
                                   std::size_t keep = std::string::npos) const;

 private:
  std::filesystem::path folder_;
};

/// The bytes of a value, as binary files have them.
template <class T>
std::string bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string contents(const std::filesystem::path& file);

/// One gzip member with this content.
std::string gzip(std::string_view content);

/// Reads all of a file, as a rank does that is the only reader, without telling anybody how far it is.
edge_list read_quietly(const std::filesystem::path& file, const std::string& format = {}, bool with_lengths = true,
                       const weight_rules& rules = {});

/// "1.5": the weight of an edge; "1" if there are none.
std::string weight_text(const weight_list& weights, std::size_t i);

/// "a>b:1.5 b>c:1": the edges, by their labels.
std::string edges_text(const edge_list& graph);

using amity::testing::error_of;

}  // namespace amity::apps::graph::tests
