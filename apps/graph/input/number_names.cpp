/// How ranks agree on the numbers of labels. Each label has an owner, a rank that its hash names, and a finder: the
/// rank whose block is the first that has the label. Four rounds of messages: every rank tells each of its labels to
/// the owner, with the block; owners tell finders that they are; finders number what they have found, behind what was
/// found in the blocks in front, and tell owners; owners tell everybody who has asked.

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

#include "amity/base/random.hpp"
#include "apps/graph/input/distributed_names.hpp"
#include "apps/graph/input/edge_list.hpp"
#include "apps/graph/input/input.hpp"
#include "apps/graph/input/together.hpp"

namespace amity::apps::graph {
namespace {

using seen_label = std::tuple<std::string, std::uint64_t, rank_t, vertex>;  ///< label, block, whose, its local number

/// One of the ranks that have seen a label that this rank owns.
struct asker {
  vertex owned;  ///< number of the label among those that this rank owns
  rank_t rank;
  vertex local;
};
struct finding {
  vertex local;  ///< of the finder
  vertex owned;  ///< of the owner
};
struct numbered {
  vertex which;
  vertex number;
};

std::uint64_t block_of(const edge_list& local, vertex v) {
  const auto behind = std::ranges::upper_bound(local.blocks, v, {}, &edge_list::block_start::labels);
  return std::prev(behind)->block;
}

}  // namespace

distributed_names number_names(world& w, const edge_list& local, rank_t readers, std::vector<vertex>& of_local) {
  const auto ranks = static_cast<std::uint64_t>(w.size());
  const auto owner_of = [&](const std::string& label) {
    return static_cast<rank_t>(splitmix64::mix(std::hash<std::string>{}(label)) % ranks);
  };
  std::vector<asker> askers;
  std::vector<std::uint64_t> first_block;  // of the labels that this rank owns
  {
    labels owned;
    auto seen = w.message<seen_label>(
        [&](const seen_label& s) {
          const auto& [label, block, rank, number] = s;
          const vertex which = owned.intern(label);
          if (which == first_block.size()) first_block.push_back(block);
          first_block[which] = std::min(first_block[which], block);
          askers.push_back({which, rank, number});
        },
        coalesce{});
    w.epoch([&] {
      for (vertex v = 0; v < local.names.size(); ++v) {
        const std::string label = local.names.text(v);
        seen.send(owner_of(label), {label, block_of(local, v), w.rank(), v});
      }
    });
  }

  std::vector<finding> found;
  {
    auto tell_finder = w.message<finding>([&](const finding& f) { found.push_back(f); }, coalesce{});
    w.epoch([&] {
      for (const asker& a : askers) {
        const std::uint64_t block = first_block[a.owned];
        if (static_cast<rank_t>(block % static_cast<std::uint64_t>(readers)) == a.rank) {
          tell_finder.send(a.rank, {a.local, a.owned});
        }
      }
    });
  }
  std::ranges::sort(found, {}, &finding::local);
  std::vector<block_count> counts;
  labels held;
  for (const finding& f : found) {
    const std::uint64_t block = block_of(local, f.local);
    if (counts.empty() || counts.back().block != block) counts.push_back({block, 0});
    ++counts.back().count;
    held.append(local.names.text(f.local));
  }
  const auto in_front = counts_in_front(w, counts);
  together(w, [&] {
    if (in_front.back() >= no_vertex) fail(local.title, "there are more vertices than 2^32 - 1", "split the graph");
  });

  std::vector<vertex> number(first_block.size());  // of the labels that this rank owns
  of_local.resize(local.names.size());
  {
    auto tell_owner = w.message<numbered>([&](const numbered& n) { number[n.which] = n.number; }, coalesce{});
    w.epoch([&] {
      std::size_t i = 0;
      for (const block_count& each : counts) {
        for (auto next = static_cast<vertex>(in_front[each.block]); next < in_front[each.block] + each.count; ++next) {
          const finding& f = found[i++];
          tell_owner.send(owner_of(local.names.text(f.local)), {f.owned, next});
        }
      }
    });
    auto tell_all = w.message<numbered>([&](const numbered& n) { of_local[n.which] = n.number; }, coalesce{});
    w.epoch([&] {
      for (const asker& a : askers) tell_all.send(a.rank, {a.local, number[a.owned]});
    });
  }

  std::vector<distributed_names::range> ranges;
  for (std::size_t block = 0; block + 1 < in_front.size(); ++block) {
    const auto first = static_cast<vertex>(in_front[block]), last = static_cast<vertex>(in_front[block + 1]);
    if (first < last) ranges.push_back({first, last, static_cast<rank_t>(block % static_cast<std::uint64_t>(readers))});
  }
  return {std::move(held), std::move(ranges)};
}

}  // namespace amity::apps::graph
