#include "apps/graph/input/together.hpp"

#include <algorithm>
#include <new>
#include <numeric>
#include <string>
#include <utility>

#include "apps/graph/collect.hpp"
#include "apps/graph/input/input.hpp"

namespace amity::apps::graph {
namespace {

/// An error of another rank, word by word.
class told_error : public error {
 public:
  explicit told_error(std::string text) : error("graph", no_rank, "", ""), text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

}  // namespace

void together(world& w, const std::function<void()>& work) {
  constexpr std::uint64_t nowhere = ~std::uint64_t{0};
  std::uint64_t place = nowhere;
  std::string text;
  try {
    work();
  } catch (const input_error& mistake) {
    place = std::min(mistake.place(), nowhere - 1);
    text = mistake.what();
  } catch (const error& mistake) {
    place = 0;
    text = mistake.what();
  } catch (const std::bad_alloc&) {
    place = 0;
    text = "amity: graph: the graph does not fit into memory; take a smaller one";
  }
  const std::uint64_t least = w.min(place);
  if (least == nowhere) return;
  const auto ranks = static_cast<std::uint64_t>(w.size());
  const std::uint64_t first = w.min(place == least ? static_cast<std::uint64_t>(w.rank()) : ranks);
  broadcast(w, text, static_cast<rank_t>(first));
  throw told_error(text);
}

std::vector<std::uint64_t> counts_in_front(world& w, std::span<const block_count> mine) {
  std::vector<std::uint64_t> counts;
  auto tell = w.message<block_count>(
      [&](const block_count& of) {
        if (of.block >= counts.size()) counts.resize(of.block + 1);
        counts[of.block] += of.count;
      },
      coalesce{});
  w.epoch([&] {
    for (const block_count& of : mine) {
      for (rank_t r = 0; r < w.size(); ++r) tell.send(r, of);
    }
  });
  counts.push_back(0);
  std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), std::uint64_t{0});
  return counts;
}

}  // namespace amity::apps::graph
