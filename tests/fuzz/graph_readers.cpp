/// Any bytes, read as a graph in any format: a graph whose edges have both ends, or an error.
///
/// The first byte names the format, the second one how weights are read and whether --vertices limits the labels, the
/// third and fourth one how many ranks share the file, and which of them reads. The rest is the file, which may be
/// compressed with gzip.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "amity/base/assert.hpp"
#include "amity/base/file_descriptor.hpp"
#include "apps/graph/input/formats.hpp"

namespace {

using namespace amity::apps::graph;

/// By name, so that a corpus means the same when the table of formats changes.
std::string format_of(std::uint8_t first) {
  constexpr std::array<std::pair<char, const char*>, 7> formats{{{'m', "matrix-market"},
                                                                 {'p', "graph500-packed"},
                                                                 {'i', "graph500-int64"},
                                                                 {'t', "metis"},
                                                                 {'d', "dimacs"},
                                                                 {'w', "wordnet"},
                                                                 {'e', "edges"}}};
  const auto found = std::ranges::find(formats, static_cast<char>(first), &std::pair<char, const char*>::first);
  return found == formats.end() ? "" : found->second;  // the reader that recognizes the bytes
}

/// Throws as the readers do.
void read(const std::string& format_name, std::uint8_t choices, const turns& sharing, const std::string& file) {
  progress silent(progress::style::off);
  constexpr std::array<std::optional<weight_type>, 4> types{std::nullopt, weight_type::int64, weight_type::float64,
                                                            weight_type::float32};
  constexpr std::array<std::optional<std::uint64_t>, 4> vertices{std::nullopt, 8, std::uint64_t{1} << 20,
                                                                 std::uint64_t{1} << 63};
  const read_options options{.with_lengths = choices % 2 != 0,
                             .rules = {.type = types[choices / 4 % 4], .any_sign = choices % 4 >= 2},
                             .vertices = vertices[choices / 64],
                             .block_bytes = sharing.block_bytes};
  const edge_list graph = read_turns(file, format_name, options, sharing, silent);
  for (const edge_ends& each : graph.edges) {
    AMITY_ASSERT(each.source < graph.vertices() && each.target < graph.vertices(), each.source, each.target,
                 graph.vertices());
  }
  AMITY_ASSERT(graph.weights.empty() || graph.weights.size() == graph.edges.size(), graph.weights.size(),
               graph.edges.size());
  for (std::size_t i = 1; i < graph.blocks.size(); ++i) {
    AMITY_ASSERT(graph.blocks[i - 1].block < graph.blocks[i].block && graph.blocks[i].edges <= graph.edges.size(), i);
  }
  if (graph.check && sharing.ranks == 1) {
    graph.check({.vertices = graph.vertices(),
                 .edges = graph.edges.size(),
                 .listed = graph.listed,
                 .unpaired = graph.unpaired});
  }
  if (graph.vertices() > 0) static_cast<void>(graph.names.text(graph.vertices() - 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes < 4) return 0;
  const auto ranks = static_cast<amity::rank_t>(1 + data[2] % 4);
  const turns sharing{.rank = static_cast<amity::rank_t>(data[3] % ranks), .ranks = ranks, .block_bytes = 48};
  const amity::file_descriptor file(::memfd_create("graph", MFD_CLOEXEC));
  AMITY_ASSERT(::write(file.get(), data + 4, bytes - 4) == static_cast<ssize_t>(bytes - 4), bytes);
  try {
    read(format_of(data[0]), data[1], sharing, "/proc/self/fd/" + std::to_string(file.get()));
  } catch (const amity::error&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
