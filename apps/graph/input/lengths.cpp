#include "apps/graph/input/lengths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstring>
#include <span>
#include <type_traits>
#include <variant>

#include "amity/base/random.hpp"
#include "apps/graph/console/text.hpp"
#include "apps/graph/input/formats.hpp"
#include "apps/graph/input/together.hpp"

namespace amity::apps::graph {
namespace {

constexpr std::uint64_t integer_max = 255;

/// Uniform in [0, 1): as many bits as a float holds.
float uniform(std::uint64_t bits) { return static_cast<float>(bits >> 40) * 0x1p-24f; }

/// Edges of an input, and where they lie in it.
struct placed_edges {
  std::span<const edge_run> runs;
  std::uint64_t mine;   ///< of this rank
  std::uint64_t edges;  ///< of the whole input

  /// How many edges the input has up to the end of a run.
  std::uint64_t end(std::size_t run) const {
    const std::uint64_t end = run + 1 < runs.size() ? runs[run + 1].begin : mine;
    return runs[run].first + (end - runs[run].begin);
  }
};

/// `weight(i)` is that of the edge that is the i-th of the input, from 0.
template <class Make>
weight_list made_weights(const placed_edges& graph, Make weight) {
  weight_list result;
  result.reserve(graph.mine);
  for (std::size_t run = 0; run < graph.runs.size(); ++run) {
    for (std::uint64_t i = graph.runs[run].first; i < graph.end(run); ++i) result.add(weight(i));
  }
  return result;
}

weight_list read_lengths(const placed_edges& graph, const std::string& file, progress& watcher,
                         const weight_rules& rules) {
  input from(file, watcher);
  watcher.begin("reading " + from.name(), from.file_bytes(), true);
  weight_list result;
  result.reserve(graph.mine);
  std::uint64_t first = 0;  // of the block
  std::size_t run = 0;
  for (auto block = from.next_block(); !block.empty(); block = from.next_block()) {
    const std::uint64_t last = first + block.size() / sizeof(float);
    for (; run < graph.runs.size() && graph.runs[run].first < last; ++run) {
      for (std::uint64_t i = std::max(first, graph.runs[run].first); i < std::min(last, graph.end(run)); ++i) {
        float length = 0;
        std::memcpy(&length, block.data() + (i - first) * sizeof length, sizeof length);
        weight_value value;
        const weight_problem problem = check_weight(static_cast<double>(length), rules, value);
        if (!problem.reason.empty()) {
          fail(fmt::format("{}: byte {}", from.name(), i * sizeof length),
               fmt::format("length {} {}", length, problem.reason), problem.remedy, i);
        }
        std::visit([&](auto each) { result.add(each); }, value);
      }
      if (graph.end(run) > last) break;
    }
    first = last;
  }
  const std::uint64_t wanted = graph.edges * sizeof(float);
  if (from.bytes_returned() != wanted) {
    fail(from.name(),
         fmt::format("{} bytes, where {} edges want {}", from.bytes_returned(), grouped(graph.edges), wanted),
         "write one float32 for each edge, in the order of the edges");
  }
  watcher.finish(counted(graph.edges, "length"));
  return result;
}

bool is_random(const std::string& choice) { return choice == "uniform" || choice == "integer"; }

template <weight Weight>
weight_list random_weights(const placed_edges& graph, const std::string& choice, std::uint64_t seed) {
  const auto random = [&](std::uint64_t i) { return splitmix64::mix(splitmix64::mix(seed) + i); };
  using stored = std::conditional_t<std::integral<Weight>, std::int64_t, double>;
  return made_weights(graph, [&](std::uint64_t i) {
    return choice == "integer" ? static_cast<stored>(1 + random(i) % integer_max)
                               : static_cast<stored>(uniform(random(i)));
  });
}

/// Collective: the type of the weights that were read.
weight_type decide_type(world& w, graph_share& graph, const weight_rules& rules) {
  const weight_type other = rules.any_sign ? weight_type::float64 : weight_type::int64;
  const bool real =
      rules.type.value_or(other) != weight_type::int64 || w.max(std::uint64_t{graph.weights.is_real()}) > 0;
  if (!real) return weight_type::int64;
  if (rules.type == weight_type::int64) {  // readers of text have reported the place
    fail("--weight-type int64", fmt::format("the weights of {} are not integers", graph.title),
         "use --weight-type double");
  }
  together(w, [&] { graph.weights.make_real(); });
  return rules.type.value_or(weight_type::float64);
}

}  // namespace

template <weight Weight>
Weight length_of(const std::string& choice, float uniform) {
  if (choice == "unit") return 1;
  return static_cast<Weight>(choice == "integer" ? 1 + std::floor(uniform * integer_max) : uniform);
}

template float length_of(const std::string&, float);
template double length_of(const std::string&, float);
template std::int64_t length_of(const std::string&, float);

std::string described_lengths(const std::string& choice, std::uint64_t seed) {
  if (choice == "unit") return "1 each";
  if (choice == "integer") return fmt::format("integers from 1 to {}, seed {}", integer_max, seed);
  return fmt::format("uniform in [0, 1), seed {}", seed);
}

weight_type type_of_choice(const std::string& choice, const weight_rules& rules) {
  if (choice != "input" && choice != "unit" && !is_random(choice)) {
    fail("--weights " + choice, "a generated graph has no file of weights", "use unit, uniform or integer");
  }
  const bool integers = choice == "unit" || choice == "integer";
  if (!integers && rules.type == weight_type::int64) {
    fail("--weight-type int64", "weights that are uniform in [0, 1) are not integers",
         "use --weights integer, or --weight-type double");
  }
  return rules.type.value_or(integers && !rules.any_sign ? weight_type::int64 : weight_type::float64);
}

std::string set_lengths(world& w, graph_share& graph, const std::string& choice, std::uint64_t seed, progress& watcher,
                        const weight_rules& rules) {
  if (choice == "input" && graph.has_lengths) {
    graph.type = decide_type(w, graph, rules);
    return "from the input";
  }
  graph.unit.clear();
  graph.weights = {};
  const placed_edges placed{graph.runs, graph.mine.size(), graph.edges};
  if (choice == "unit" || choice == "input") {
    graph.type = type_of_choice("unit", rules);
    return choice == "unit" ? "1 each" : "1 each, as the input has none";
  }
  if (is_random(choice)) {
    graph.type = type_of_choice(choice, rules);
    graph.weights =
        with_weight_type(graph.type, [&]<class Weight>() { return random_weights<Weight>(placed, choice, seed); });
    return described_lengths(choice, seed);
  }
  if (!all_can_read(w, choice)) {
    together(w, [&] {
      fail(choice, "it is not the same file on all ranks, each of which reads its weights by itself",
           "name a file that all can open, no pipe, or use one rank");
    });
  }
  together(w, [&] {
    if (!graph.mine.empty()) graph.weights = read_lengths(placed, choice, watcher, rules);
  });
  graph.type = rules.type.value_or(weight_type::float64);
  return fmt::format("from {}", choice);
}

}  // namespace amity::apps::graph
