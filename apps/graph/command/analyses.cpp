/// Kernels whose answer is about a graph as a whole: components, PageRank, triangles, a product, exploration.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "amity/base/random.hpp"
#include "apps/graph/collect.hpp"
#include "apps/graph/command/kernels.hpp"
#include "apps/graph/command/loaded_graph.hpp"
#include "apps/graph/command/output.hpp"
#include "apps/graph/command/roots.hpp"
#include "apps/graph/console/text.hpp"
#include "apps/graph/kernels/components.hpp"
#include "apps/graph/kernels/explore.hpp"
#include "apps/graph/kernels/pagerank.hpp"
#include "apps/graph/kernels/transposed_product.hpp"
#include "apps/graph/kernels/triangles.hpp"
#include "apps/graph/store/build.hpp"

namespace amity::apps::graph {
namespace {

report begin_report(session& job, const loaded_graph& input, const char* headline) {
  report result(fmt::format("{} {}", headline, input.title));
  result.add("kernel", job.wanted().kernel);
  job.add_job(result);
  input.add_to(result);
  return result;
}

int finish(session& job, const report& result) {
  job.on_first([&] { job.publish(result); });
  return 0;
}

std::string mistakes_text(std::uint64_t count) { return count == 0 ? "" : counted(count, "mistake"); }

build_options both_ways(const session& job) { return {.kind = job.wanted().owners, .undirected = true}; }

/// The vertices of greatest value, on rank 0, and their values.
struct valued {
  double value;
  vertex number;
};
std::vector<valued> greatest(world& w, const distributed_graph<vertex>& graph,
                             const std::vector<large_array<double>>& values, std::uint64_t top) {
  const auto keep_top = [&](std::vector<valued>& some) {
    const auto end = some.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(top, some.size()));
    std::ranges::partial_sort(some, end, [](const valued& a, const valued& b) {
      return a.value != b.value ? a.value > b.value : a.number < b.number;
    });
    some.erase(end, some.end());
  };
  std::vector<valued> mine;
  for (std::size_t i = 0; i < graph.parts.size(); ++i) {
    for (vertex row = 0; row < graph.parts[i].size(); ++row)
      mine.push_back({values[i][row], graph.parts[i].vertex_of[row]});
  }
  keep_top(mine);
  auto all = collect(w, mine);
  keep_top(all);
  return all;
}

}  // namespace

int run_components(session& job) {
  const loaded_graph input = load(job);
  const auto graph = build<vertex>(job, input, both_ways(job));
  components found;
  const auto runs = job.repeat(
      [&](const observer& watch) {
        found = connected_components(job.ranks(), graph, watch);
        return found.spent;
      },
      "round", input.noun);
  report result = begin_report(job, input, "Connected components of");
  result.add("components", found.count, "components", grouped(found.count));
  result.add("largest", found.largest, "largest",
             fmt::format("{} ({:.1f} %)", counted(found.largest, input.noun),
                         100 * static_cast<double>(found.largest) / static_cast<double>(input.vertices)));
  result.add("rounds", found.rounds);
  result.add_cost(runs.median, runs.count, job.simulated());
  job.verify([&] { return mistakes_text(mistakes_of(job.ranks(), graph, found)); }, result,
             "each component has one label, which comes everywhere in it");
  if (!job.wanted().output.empty()) {
    const auto first = first_of_components(job.ranks(), graph, found);
    write_output(job, input, graph, columns::other,
                 [&](std::size_t part, vertex row) { return vertex_line{.value = {}, .other = first[part][row]}; });
  }
  return finish(job, result);
}

int run_pagerank(session& job) {
  const loaded_graph input = load(job);
  const auto graph = build<vertex>(job, input, {.kind = job.wanted().owners, .undirected = input.undirected});
  const pagerank_options how{.tolerance = job.wanted().tolerance,
                             .rounds_max = static_cast<std::uint32_t>(job.wanted().iterations)};
  page_ranks found;
  const auto runs = job.repeat(
      [&](const observer& watch) {
        found = pagerank(job.ranks(), graph, how, watch);
        return found.spent;
      },
      "round", input.noun);
  report result = begin_report(job, input, "PageRank of");
  result.add("rounds", found.rounds, "rounds", grouped(found.rounds));
  const bool converged = found.change < how.tolerance;
  result.add("change", found.change, "change of the last",
             fmt::format("{:.2g}{}", found.change,
                         converged ? "" : fmt::format(", not below {:g}: --iterations has ended it", how.tolerance)));
  result.add("converged", converged);
  result.add_cost(runs.median, runs.count, job.simulated());
  job.verify(
      [&] {
        const pagerank_check check = check_pagerank(job.ranks(), graph, found, how);
        return check.right(found, how)
                   ? std::string()
                   : fmt::format("one more round would change the values by {:.3g}, and they sum to {}", check.residual,
                                 check.total);
      },
      result,
      converged ? "one more round changes nothing that matters; the values sum to 1"
                : "one more round changes no more than the last; the values sum to 1");
  write_output(job, input, graph, columns::value, [&](std::size_t part, vertex row) {
    return vertex_line{fmt::format("{:.9g}", found.parts[part][row])};
  });
  const auto top = greatest(job.ranks(), graph, found.parts, job.wanted().top);
  std::vector<vertex> wanted;
  for (const valued& v : top) wanted.push_back(v.number);
  const auto labels = input.names.texts(job.ranks(), wanted);
  report::json list = report::json::array();
  std::string text = fmt::format("  {:>12}  {}\n", "PageRank", input.noun);
  for (std::size_t i = 0; i < top.size(); ++i) {
    list.push_back({{"label", labels[i]}, {"pagerank", top[i].value}});
    text += fmt::format("  {:>12.4g}  {}\n", top[i].value, labels[i]);
  }
  result.add("highest", list);
  result.add_text(text);
  return finish(job, result);
}

int run_triangles(session& job) {
  const loaded_graph input = load(job);
  const auto graph = build<vertex>(job, input, both_ways(job));
  triangles found;
  const auto runs = job.repeat(
      [&](const observer& watch) {
        found = count_triangles(job.ranks(), graph, watch);
        return found.spent;
      },
      "round", input.noun);
  report result = begin_report(job, input, "Triangles of");
  const double closed =
      found.wedges == 0 ? 0 : 3 * static_cast<double>(found.count) / static_cast<double>(found.wedges);
  result.add("triangles", found.count, "triangles", grouped(found.count));
  result.add("clustering", closed, "clustering", fmt::format("{:.4f} of the pairs of neighbours are joined", closed));
  result.add_cost(runs.median, runs.count, job.simulated());
  job.verify(
      [&] {
        const std::uint64_t again = count_closed_wedges(job.ranks(), graph);
        return again == found.count ? "" : fmt::format("{} by another way of counting", grouped(again));
      },
      result, "as many by another way of counting");
  return finish(job, result);
}

int run_spmv(session& job) {
  const loaded_graph input = load(job);
  // A matrix keeps its diagonal, and what it says twice counts twice.
  const auto matrix =
      build<matrix_entry>(job, input, {.kind = job.wanted().owners, .undirected = input.undirected, .simple = false});
  distributed_vector x(matrix.parts.size()), y(matrix.parts.size());
  for (std::size_t i = 0; i < matrix.parts.size(); ++i) {
    x[i].resize(matrix.parts[i].size());
    y[i].resize(matrix.parts[i].size());
    for (vertex row = 0; row < matrix.parts[i].size(); ++row)
      x[i][row] = 1 + static_cast<double>(splitmix64::mix(matrix.parts[i].vertex_of[row]) >> 40) * 0x1p-24;
  }
  transposed_product product(job.ranks(), matrix);
  const auto runs = job.repeat([&](const observer&) { return product.run(x, y); }, "product", input.noun);
  report result = begin_report(job, input, "Product of a vector and the transposed matrix of");
  const double rate =
      runs.median.ns == 0 ? 0 : static_cast<double>(matrix.arcs) * 1e9 / static_cast<double>(runs.median.ns);
  result.add("entries", matrix.arcs, "entries", grouped(matrix.arcs));
  result.add_cost(runs.median, runs.count, job.simulated());
  result.add("entries_per_second", rate, "entries/s", rate_text(rate));
  write_output(job, input, matrix, columns::value,
               [&](std::size_t part, vertex row) { return vertex_line{fmt::format("{:.9g}", y[part][row])}; });
  job.verify(
      [&] {
        const double off = product_error(job.ranks(), matrix, x, y);
        return off < 1e-9 ? "" : fmt::format("it is off by {:.3g} of the sum of its products", off);
      },
      result, "right, by a random combination of its rows");
  return finish(job, result);
}

int run_explore(session& job) {
  const loaded_graph input = load(job);
  const auto graph = build<vertex>(job, input, {.kind = job.wanted().owners, .undirected = input.undirected});
  const vertex root = named_root(job, input, graph).value_or(largest_vertices(job.ranks(), graph, 1).at(0));
  exploration found;
  const auto runs = job.repeat(
      [&](const observer&) {
        found = explore_nested(job.ranks(), graph, root);
        return found.spent;
      },
      "exploration", input.noun);
  report result = begin_report(job, input, "Exploration of");
  result.add("root", label_at(job.ranks(), input, graph, root), "root", label_at(job.ranks(), input, graph, root));
  result.add("reached", found.count, "reached",
             fmt::format("{} ({:.1f} %)", grouped(found.count),
                         100 * static_cast<double>(found.count) / static_cast<double>(input.vertices)));
  result.add_cost(runs.median, runs.count, job.simulated());
  job.verify([&] { return mistakes_text(mistakes_of(job.ranks(), graph, root, found)); }, result,
             "a breadth-first search reaches the same");
  write_output(job, input, graph, columns::value, [&](std::size_t part, vertex row) {
    return found.parts[part].contains(row) ? std::optional(vertex_line{"1"}) : std::nullopt;
  });
  return finish(job, result);
}

}  // namespace amity::apps::graph
