#include "apps/graph/command/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "amity/base/error.hpp"
#include "apps/graph/command/gather.hpp"
#include "apps/graph/command/report.hpp"
#include "apps/graph/console/text.hpp"
#include "apps/graph/kernels/bfs.hpp"
#include "apps/graph/kernels/search.hpp"
#include "apps/graph/store/build.hpp"
#include "apps/graph/verify/verify.hpp"

namespace amity::apps::graph {
namespace {

progress::style style_for(const world& w, const options& wanted) {
  if (w.rank() != 0 || !wanted.progress) return progress::style::off;
  return progress::style_for(stderr);
}

[[noreturn]] void fail_to_write(const std::string& file) {
  throw error("--json", no_rank, fmt::format("{}: {}", file, std::strerror(errno)), "name a file that can be written");
}

void write_file(const std::string& file, const std::string& text) {
  std::FILE* const out = std::fopen(file.c_str(), "w");
  if (out == nullptr) fail_to_write(file);
  const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size();
  if (std::fclose(out) != 0 || !written) fail_to_write(file);
}

/// The costs of the search with the median time: the first is cold, the fastest is luck.
cost median(std::vector<cost> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
  std::ranges::nth_element(all, middle, {}, &cost::ns);
  return *middle;
}

/// The state of one rank. Members whose comment says so are empty on all ranks but 0.
class job {
 public:
  job(world& w, const options& wanted) : world_(w), wanted_(wanted), watcher_(style_for(w, wanted)) {}

  int run() {
    const bool loaded = on_rank_0([&] {
      whole_ = load(wanted_, watcher_);
      return true;
    });
    if (!loaded) return 1;
    const layout where = place();
    if (wanted_.search == options::algorithm::bfs) return search_breadth_first();
    const auto part = prepare_stepping(world_, hand_out<arc>(where), wanted_.delta);
    return search<weight>([&](const observer& watch) { return sssp(world_, part, root_place_, watch); },
                          [&](const found<weight>& last) { return gather(world_, part.own, last.mine, place_of_); });
  }

 private:
  /// Collective: rank 0 works while the others wait. Gives all ranks what `work` returns: whether it went well. It did
  /// not if it throws. In both cases somebody has said why.
  template <class Work>
  bool on_rank_0(Work work) {
    bool well = false;
    if (world_.rank() == 0) {
      try {
        well = work();
      } catch (const error& mistake) {
        fmt::print(stderr, "{}\n", mistake.what());
      } catch (const std::bad_alloc&) {
        fmt::print(stderr, "amity: graph: the graph does not fit into memory; take a smaller one\n");
      }
    }
    broadcast(world_, well);
    return well;
  }

  /// Collective: gives all vertices their places.
  layout place() {
    vertex vertices = whole_.about.vertices();
    broadcast(world_, vertices);
    const layout where(vertices, world_.size());
    if (world_.rank() == 0) {
      place_of_ = deal(whole_.rows, where);
      root_place_ = place_of_[whole_.root];
    }
    broadcast(world_, root_place_);
    return where;
  }

  /// Collective: every rank's part of the graph.
  template <class Arc>
  partition<Arc> hand_out(const layout& where) {
    watcher_.begin("handing out", 0, false, "arc");
    auto part = distribute<Arc>(world_, where, whole_.rows, place_of_);
    watcher_.finish(fmt::format("{} to {}", counted(whole_.rows.arcs().size(), "arc"),
                                counted(static_cast<std::uint64_t>(world_.size()), "rank")));
    return part;
  }

  int search_breadth_first() {
    bool undirected = whole_.about.undirected;
    broadcast(world_, undirected);
    vertex vertices = whole_.about.vertices();
    broadcast(world_, vertices);
    vertex root = whole_.root;
    broadcast(world_, root);
    const auto graph = build_graph<vertex>(world_, vertices, source_of(whole_.about.edges), {.undirected = undirected});
    breadth_first_search searches(world_, graph, {.from_below = undirected});
    const vertex root_place = find_place(world_, graph, root);
    return search<level>([&](const observer& watch) { return searches.run(root_place, watch); },
                         [&](const answer<level>& last) { return gather(world_, graph, last); });
  }

  /// Collective: searches as often as was asked for, checks, reports. The exit status.
  template <class Distance, class Kernel, class Gather>
  int search(Kernel kernel, Gather gather_all) {
    const std::string round = std::is_same_v<Distance, level> ? "level" : "bucket";
    watcher_.begin("searching", 0, false, whole_.about.noun);
    const observer watch = [&](std::uint32_t number, std::uint64_t vertices) {
      if (watcher_.due()) watcher_.show(vertices, fmt::format("{} {}", round, number));
    };
    auto last = kernel(watch);
    std::vector<cost> costs{last.spent};
    while (again(costs)) {
      last = kernel(watch);
      costs.push_back(last.spent);
    }
    watcher_.finish(counted(last.rounds, round));

    const paths<Distance> answer = gather_all(last);
    const bool reported = on_rank_0([&] {
      if (wanted_.verify && !check(answer)) return false;
      report result = summarise(whole_, answer, wanted_.top);
      result.ranks = world_.size();
      result.fabric = fabric();
      result.virtual_time = simulated();
      result.rounds = last.rounds;
      result.repeats = costs.size();
      result.spent = median(costs);
      result.verified = wanted_.verify;
      publish(result);
      return true;
    });
    return reported ? 0 : 1;
  }

  /// Whether to search once more. All ranks know the same costs, and agree.
  bool again(const std::vector<cost>& costs) const {
    if (wanted_.repeat > 0) return costs.size() < static_cast<std::size_t>(wanted_.repeat);
    if (simulated()) return false;  // it would take the same time
    constexpr std::size_t searches_max = 25;
    constexpr std::uint64_t ns_max = 250'000'000;
    std::uint64_t spent_ns = 0;
    for (const cost& each : costs) spent_ns += each.ns;
    return costs.size() < searches_max && spent_ns + spent_ns / costs.size() < ns_max;
  }

  const std::string& fabric() const { return world_.config().text("AMITY_FABRIC"); }
  bool simulated() const { return fabric() == "sim"; }

  /// Whether the answer is right. If not, says what is wrong.
  template <class Distance>
  bool check(const paths<Distance>& answer) {
    watcher_.begin("checking", 0, false, whole_.about.noun);
    const std::string mistake = find_mistake(whole_.rows, whole_.about.names, whole_.root, answer);
    if (!mistake.empty()) {
      fmt::print(stderr, "amity: graph: the answer is wrong: {}\n", mistake);
      return false;
    }
    watcher_.finish("equal to the sequential answer");
    return true;
  }

  /// The person's report goes to standard output, unless the program's does.
  void publish(const report& result) {
    if (wanted_.json == "-") {
      std::fputs(to_json(result).c_str(), stdout);
    } else {
      std::fputs(to_text(result).c_str(), stdout);
      if (!wanted_.json.empty()) write_file(wanted_.json, to_json(result));
    }
    std::fflush(stdout);
  }

  world& world_;
  const options& wanted_;
  progress watcher_;
  whole_graph whole_;             // rank 0
  std::vector<vertex> place_of_;  // rank 0
  vertex root_place_ = no_vertex;
};

}  // namespace

int run_job(world& w, const options& wanted) { return job(w, wanted).run(); }

}  // namespace amity::apps::graph
