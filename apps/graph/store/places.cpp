#include "apps/graph/store/places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace amity::apps::graph {

places::places(vertex rows, rank_t ranks, rank_t threads)
    : ranks_(ranks),
      threads_(threads),
      row_bits_(std::bit_width(std::max<vertex>(rows, 64) - 1)),
      rank_shift_(row_bits_ + std::bit_width(static_cast<std::uint32_t>(threads) - 1)),
      row_mask_((vertex{1} << row_bits_) - 1),
      thread_mask_((std::uint32_t{1} << (rank_shift_ - row_bits_)) - 1) {
  if (row_bits_ < 32 && rank_shift_ < 32 && count() <= std::uint64_t{1} << 31) return;
  throw error("graph", no_rank, fmt::format("{} vertices a thread, on {} ranks x {} threads", rows, ranks, threads),
              "vertices have 32-bit numbers: take a smaller graph, or fewer threads");
}

}  // namespace amity::apps::graph
