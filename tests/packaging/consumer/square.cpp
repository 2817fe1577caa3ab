#include <amity/amity.hpp>
#include <cstdint>

/// The sum of the squares of all ranks: each rank sends its own to every rank, as a function to be run there.
std::uint64_t squares_received(amity::world& w) {
  std::uint64_t received = 0;
  const amity::shared<std::uint64_t> sum = w.share(received);
  const auto rank = static_cast<std::uint64_t>(w.rank());
  w.epoch([&] {
    for (amity::rank_t dest = 0; dest < w.size(); ++dest) {
      w.async(
          dest, [](std::uint64_t& mine, std::uint64_t square) { mine += square; }, sum, rank * rank);
    }
  });
  return received;
}
