/// Breadth-first search by levels in plain MPI, as a careful programmer writes it: collective calls only.
///
/// Usage: mpirun -n RANKS mpi_bfs erdos_renyi|kronecker SCALE ROOTS
/// Vertices are dealt cyclically and numbered by falling degree within their rank. At each level a rank looks through
/// its part of the frontier, marks its own vertices, and collects for each other rank the vertices to visit, each once
/// in a search; MPI_Alltoallv takes them there. The answer is the parent and the level of each vertex.

#include <mpi.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/compare/graphs.hpp"
#include "bench/compare/rates.hpp"

namespace amity::bench::compare {
namespace {

using word = std::uint64_t;

constexpr vertex no_vertex = std::numeric_limits<vertex>::max();
constexpr std::size_t prefetch_ahead = 8;

constexpr word pair_of(vertex high, vertex low) { return word{high} << 32 | low; }
constexpr vertex high(word pair) { return static_cast<vertex>(pair >> 32); }
constexpr vertex low(word pair) { return static_cast<vertex>(pair); }

struct job {
  int me = 0;
  int ranks = 1;

  job() {
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }

  word sum(word mine) const {
    word all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
  }

  /// Takes what each rank has for each other there, and leaves `out` empty.
  void exchange(std::vector<std::vector<word>>& out, std::vector<word>& in) {
    const auto starts_of = [](const std::vector<int>& counts, std::vector<int>& starts) {
      std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
      return static_cast<std::size_t>(starts.back()) + static_cast<std::size_t>(counts.back());
    };
    std::vector<int> out_counts, out_starts(out.size()), in_counts(out.size()), in_starts(out.size());
    for (const auto& words : out) out_counts.push_back(static_cast<int>(words.size()));
    MPI_Alltoall(out_counts.data(), 1, MPI_INT, in_counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
    packed_.clear();
    packed_.reserve(starts_of(out_counts, out_starts));
    for (auto& words : out) {
      packed_.insert(packed_.end(), words.begin(), words.end());
      words.clear();
    }
    in.resize(starts_of(in_counts, in_starts));
    MPI_Alltoallv(packed_.data(), out_counts.data(), out_starts.data(), MPI_UINT64_T, in.data(), in_counts.data(),
                  in_starts.data(), MPI_UINT64_T, MPI_COMM_WORLD);
  }

 private:
  std::vector<word> packed_;
};

/// A rank's rows. A vertex is known by its place, `owner * block + row`.
struct part {
  vertex block, first_place;
  std::vector<word> first;      // of the arcs of each row, and one more
  std::vector<vertex> targets;  // places
  std::vector<vertex> ends;     // of edges at each row; sources only where edges are directed
  std::vector<vertex> roots;    // places

  bool owns(vertex place) const { return place - first_place < block; }
};

part load(job& all, const graph& g, std::size_t roots) {
  const auto ranks = static_cast<vertex>(all.ranks);
  const auto me = static_cast<vertex>(all.me);
  const vertex block = (g.vertices() + ranks - 1) / ranks;
  part made{block, me * block, std::vector<word>(block + 1), {}, std::vector<vertex>(block), {}};

  std::vector<std::vector<word>> out(ranks);
  for (word i = g.edges() * me / ranks; i < g.edges() * (me + 1) / ranks; ++i) {
    const auto [u, v, w] = g(i);
    out[u % ranks].push_back(pair_of(u, v));
    if (g.both_ways) out[v % ranks].push_back(pair_of(v, u));
  }
  std::vector<word> arcs;
  all.exchange(out, arcs);
  all = job();  // gives the memory back

  std::vector<vertex> degree(block), ends(block), order(block), row_of(block);
  for (const word a : arcs) {
    ++ends[high(a) / ranks];
    degree[high(a) / ranks] += high(a) != low(a);
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](vertex a, vertex b) { return degree[a] > degree[b]; });
  for (vertex row = 0; row < block; ++row) row_of[order[row]] = row;
  std::vector<vertex> rows_of_all(std::size_t{block} * ranks);
  MPI_Allgather(row_of.data(), static_cast<int>(block), MPI_UINT32_T, rows_of_all.data(), static_cast<int>(block),
                MPI_UINT32_T, MPI_COMM_WORLD);
  const auto place_of = [&](vertex v) {
    const vertex owner = v % ranks;
    return owner * block + rows_of_all[owner * block + v / ranks];
  };

  std::erase_if(arcs, [](word a) { return high(a) == low(a); });
  for (word& a : arcs) a = pair_of(row_of[high(a) / ranks], place_of(low(a)));
  std::sort(arcs.begin(), arcs.end());
  arcs.erase(std::unique(arcs.begin(), arcs.end()), arcs.end());
  for (const word a : arcs) {
    ++made.first[high(a) + 1];
    made.targets.push_back(low(a));
  }
  std::partial_sum(made.first.begin(), made.first.end(), made.first.begin());
  for (vertex row = 0; row < block; ++row) made.ends[row] = ends[order[row]];

  for (word k = 0; made.roots.size() < roots; ++k) {
    const vertex place = place_of(g.root(k));
    const vertex row = place - made.first_place;
    if (all.sum(made.owns(place) ? made.first[row + 1] - made.first[row] : 0) > 0) made.roots.push_back(place);
  }
  return made;
}

class search {
 public:
  search(job& all, const part& mine)
      : all_(all), mine_(mine), parent(mine.block), level(mine.block), out_(static_cast<std::size_t>(all.ranks)) {}

  void operator()(vertex root) {
    std::fill(parent.begin(), parent.end(), no_vertex);
    known_.assign(std::size_t{mine_.block} * static_cast<std::size_t>(all_.ranks) / 64 + 1, 0);
    next_.clear();
    if (first_time(root) && mine_.owns(root)) reach(root - mine_.first_place, root);
    for (vertex depth = 0; all_.sum(next_.size()) > 0; ++depth) {
      for (const vertex row : next_) level[row] = depth;
      frontier_.swap(next_);
      next_.clear();
      look();
      all_.exchange(out_, in_);
      for (const word visit : in_) {
        if (first_time(mine_.first_place + high(visit))) reach(high(visit), low(visit));
      }
    }
  }

  /// Whether levels are what a search by levels finds, given that the root's is 0: no arc leads down by more than one.
  void check(vertex root) const {
    auto mine = level;
    for (vertex row = 0; row < mine_.block; ++row) {
      if (parent[row] == no_vertex) mine[row] = no_vertex;
    }
    std::vector<vertex> levels(std::size_t{mine_.block} * static_cast<std::size_t>(all_.ranks));
    MPI_Allgather(mine.data(), static_cast<int>(mine_.block), MPI_UINT32_T, levels.data(),
                  static_cast<int>(mine_.block), MPI_UINT32_T, MPI_COMM_WORLD);
    bool right = levels[root] == 0;
    for (vertex row = 0; row < mine_.block; ++row) {
      if (mine[row] == no_vertex) continue;
      right = right && (mine_.first_place + row == root || levels[parent[row]] + 1 == mine[row]);
      for (word i = mine_.first[row]; i < mine_.first[row + 1]; ++i) {
        right = right && levels[mine_.targets[i]] != no_vertex && levels[mine_.targets[i]] <= mine[row] + 1;
      }
    }
    if (!right) throw std::runtime_error("wrong answer: these are not the levels of a breadth-first search");
  }

  word edges_of_reached() const {
    word sum = 0;
    for (vertex row = 0; row < mine_.block; ++row) sum += parent[row] == no_vertex ? 0 : mine_.ends[row];
    return sum;
  }

 private:
  /// Marks a place: one's own has been visited, another's has been asked for.
  bool first_time(vertex place) {
    const word bit = word{1} << place % 64;
    if ((known_[place / 64] & bit) != 0) return false;
    known_[place / 64] |= bit;
    return true;
  }

  void reach(vertex row, vertex from) {
    parent[row] = from;
    next_.push_back(row);
  }

  void look() {
    for (std::size_t i = 0; i < frontier_.size(); ++i) {
      if (i + 2 * prefetch_ahead < frontier_.size())
        __builtin_prefetch(&mine_.first[frontier_[i + 2 * prefetch_ahead]]);
      if (i + prefetch_ahead < frontier_.size()) {
        __builtin_prefetch(&mine_.targets[mine_.first[frontier_[i + prefetch_ahead]]]);
      }
      const vertex source = mine_.first_place + frontier_[i];
      for (word k = mine_.first[frontier_[i]]; k < mine_.first[frontier_[i] + 1]; ++k) {
        const vertex target = mine_.targets[k];
        if (!first_time(target)) continue;
        if (mine_.owns(target)) {
          reach(target - mine_.first_place, source);
        } else {
          out_[target / mine_.block].push_back(pair_of(target % mine_.block, source));
        }
      }
    }
  }

  job& all_;
  const part& mine_;
  std::vector<vertex> parent, level;  // of rows; a level counts where there is a parent
  std::vector<word> known_;           // a bit for each place
  std::vector<vertex> frontier_, next_;
  std::vector<std::vector<word>> out_;
  std::vector<word> in_;
};

void measure(int argc, char** argv) {
  if (argc < 4) throw std::invalid_argument("usage: " + std::string(argv[0]) + " erdos_renyi|kronecker SCALE ROOTS");
  job all;
  const graph g(argv[1], std::atoi(argv[2]));
  const part mine = load(all, g, static_cast<std::size_t>(std::atoi(argv[3])));
  search bfs(all, mine);
  bfs(mine.roots.front());
  bfs.check(mine.roots.front());
  rates found;
  for (const vertex root : mine.roots) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    bfs(root);
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - begin;
    found.add(all.sum(bfs.edges_of_reached()) / (g.both_ways ? 2 : 1), seconds);
  }
  if (all.me > 0) return;
  std::printf("{");
  found.print("", "}\n");
}

}  // namespace
}  // namespace amity::bench::compare

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  try {
    amity::bench::compare::measure(argc, argv);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
