// The smallest whole program in two translation units, both of which include all of amity: each rank sends a number to
// every rank; square.cpp has the other half. Fails unless it runs on as many ranks as its argument says.

#include <amity/amity.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

std::uint64_t squares_received(amity::world& w);

int main(int argc, char** argv) {
  return amity::run(argc, argv, [&](amity::world& w) {
    std::uint64_t received = 0;
    auto add = w.message<std::uint64_t>([&](std::uint64_t value) { received += value; }, amity::coalesce{});
    w.epoch([&] {
      for (amity::rank_t dest = 0; dest < w.size(); ++dest) add.send(dest, 100);
    });

    const std::uint64_t total = w.sum(received) + w.sum(squares_received(w));
    const auto ranks = static_cast<std::uint64_t>(w.size());
    const std::uint64_t squares = (ranks - 1) * ranks * (2 * ranks - 1) / 6;
    if (w.rank() == 0) std::printf("%d ranks: %llu\n", w.size(), static_cast<unsigned long long>(total));
    return argc > 1 && w.size() == std::atoi(argv[1]) && total == ranks * ranks * 100 + ranks * squares ? 0 : 1;
  });
}
