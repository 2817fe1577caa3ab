/// The program that scripts/hot_lines steps through: a token passes all simulated ranks. Two of them, far from each
/// other, mark the call that handles the packet and the call that sends the next one.

#include "tests/core/hot_lines.hpp"

#include <array>
#include <cstdio>

#include "amity/amity.hpp"
#include "amity/core/endpoint.hpp"
#include "amity/fabric/sim/port.hpp"

namespace {

constexpr std::uint64_t warm_up_laps = 5;  // no vector of a rank grows in the lap after them
constexpr int polls_between_tokens = 4;

struct marks {
  std::uint64_t rank;
  std::array<hot_lines_object, 2> objects;

  void begin(const char* part) const { hot_lines_begin(part, rank, objects.data(), objects.size()); }
};

/// Two tokens arrive shortly after each other. This rank sleeps until it has handled the first, so that no marked call
/// sleeps. Returns false if both were handled at once.
bool handle_marked(amity::core::endpoint& endpoint, const marks& here, const std::uint64_t& tokens) {
  const std::uint64_t before = tokens;
  endpoint.wait_until("the first token", [&] { return tokens > before; });
  if (tokens != before + 1) return false;
  while (tokens == before + 1) {
    here.begin("packet in");
    endpoint.progress();
    hot_lines_end(tokens == before + 2);
  }
  return true;
}

bool pass_tokens(amity::world& w) {
  auto& endpoint = w.endpoint();
  const amity::rank_t next = (w.rank() + 1) % w.size();
  const bool marked = w.rank() == w.size() / 4 || w.rank() == w.size() / 2;
  const marks here{static_cast<std::uint64_t>(w.rank()),
                   {{{"core::endpoint", &endpoint, sizeof(endpoint)},
                     {"sim::port", &endpoint.transport(), sizeof(amity::fabric::sim::port)}}}};
  std::uint64_t tokens = 0;
  const auto token = endpoint.add_handler("token", [&](amity::core::request&) { ++tokens; });
  bool one_by_one = true;
  for (std::uint64_t lap = 0; lap <= warm_up_laps; ++lap) {
    const bool marks_lap = marked && lap == warm_up_laps;
    w.barrier();
    if (w.rank() != 0) {
      if (marks_lap) one_by_one = handle_marked(endpoint, here, tokens);
      endpoint.wait_until("both tokens", [&] { return tokens == 2 * lap + 2; });
    }
    if (marks_lap) here.begin("packet out");
    endpoint.request_short(next, token);
    if (marks_lap) hot_lines_end(true);
    for (int i = 0; i < polls_between_tokens; ++i) endpoint.progress();  // takes virtual time
    endpoint.request_short(next, token);
    if (w.rank() == 0) endpoint.wait_until("both tokens", [&] { return tokens == 2 * lap + 2; });
  }
  w.barrier();
  endpoint.remove_handler(token);
  return one_by_one;
}

}  // namespace

int main(int argc, char** argv) {
  return amity::run(argc, argv, [](amity::world& w) {
    if (w.config().text("AMITY_FABRIC") != "sim" || w.size() < 8) {
      if (w.rank() == 0) std::fprintf(stderr, "hot_lines_ranks: set AMITY_FABRIC=sim and AMITY_RANKS to at least 8\n");
      return 2;
    }
    if (pass_tokens(w)) return 0;
    std::fprintf(stderr, "hot_lines_ranks: both tokens were handled in one call; send the second one later\n");
    return 1;
  });
}
