#include "apps/graph/command/session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "amity/base/error.hpp"
#include "apps/graph/collect.hpp"
#include "apps/graph/command/check_outputs.hpp"
#include "apps/graph/console/console.hpp"
#include "apps/graph/console/text.hpp"
#include "apps/graph/output/destination.hpp"
#include "apps/graph/output/output_file.hpp"

namespace amity::apps::graph {
namespace {

progress::style style_for(const world& w, const options& wanted) {
  if (w.rank() != 0 || !wanted.progress) return progress::style::off;
  return progress::style_for(stderr);
}

/// The costs of the run with the median time: the first is cold, the fastest is luck.
cost median(std::vector<cost> all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>((all.size() - 1) / 2);
  std::ranges::nth_element(all, middle, {}, &cost::ns);
  return *middle;
}

}  // namespace

session::session(world& w, const options& wanted, bool uses_lengths, bool any_sign)
    : world_(w), wanted_(wanted), uses_lengths_(uses_lengths), any_sign_(any_sign), watcher_(style_for(w, wanted)) {}

bool session::simulated() const { return world_.config().text("AMITY_FABRIC") == "sim"; }

void session::on_first(const std::function<void()>& work) {
  bool well = world_.rank() != 0;
  if (world_.rank() == 0) {
    try {
      work();
      well = true;
    } catch (const error& mistake) {
      complain(mistake.what());
    } catch (const std::bad_alloc&) {
      complain("amity: graph: there is not enough memory; take a smaller graph");
    }
  }
  broadcast(world_, well);
  if (!well) throw answered();
}

void session::check_files(const std::vector<std::filesystem::path>& inputs) {
  on_first([&] { check_outputs(wanted_, inputs); });
}

void session::explained(const std::function<void()>& step) {
  try {
    step();
  } catch (const error& mistake) {
    // Not what one rank alone has met in the middle of an epoch, nor what ends the job.
    world_.endpoint().own_engine().failure().rethrow();
    if (world_.endpoint().epoch_open()) throw;
    give_up(mistake.what());
  }
}

void session::give_up(const std::string& why) {
  if (world_.rank() == 0) complain(why);
  world_.barrier();
  throw answered();
}

session::runs session::repeat(const std::function<cost(const observer&)>& run, const std::string& round,
                              const std::string& noun) {
  watcher_.begin(wanted_.kernel, 0, false, noun);
  std::uint32_t rounds = 0;
  const observer watch = [&](std::uint32_t number, std::uint64_t done) {
    rounds = number + 1;
    if (watcher_.due()) watcher_.show(done, fmt::format("{} {}", round, number));
  };
  std::vector<cost> costs{run(watch)};
  while (again(costs)) costs.push_back(run(watch));
  watcher_.finish(counted(rounds, round));
  return {median(costs), costs.size()};
}

/// All ranks know the same costs, and agree.
bool session::again(const std::vector<cost>& costs) const {
  if (wanted_.repeat > 0) return costs.size() < static_cast<std::size_t>(wanted_.repeat);
  if (simulated()) return false;  // it would take the same time
  constexpr std::size_t runs_max = 25;
  constexpr std::uint64_t ns_max = 250'000'000;
  std::uint64_t spent_ns = 0;
  for (const cost& each : costs) spent_ns += each.ns;
  return costs.size() < runs_max && spent_ns + spent_ns / costs.size() < ns_max;
}

void session::verify(const std::function<std::string()>& find_mistake, report& into, const std::string& proof) {
  if (wanted_.verify) {
    watcher_.begin("checking", 0, false);
    const std::string mistake = find_mistake();
    if (!mistake.empty()) give_up("amity: graph: the answer is wrong: " + mistake);
    watcher_.finish(proof);
  }
  into.add("verified", wanted_.verify, "checked", wanted_.verify ? proof : "no");
}

void session::add_job(report& into) const {
  const std::string& fabric = world_.config().text("AMITY_FABRIC");
  into.add("ranks", world_.size(), "ranks",
           world_.threads() > 1 ? fmt::format("{} x {} threads on fabric {}", world_.size(), world_.threads(), fabric)
                                : fmt::format("{} on fabric {}", world_.size(), fabric));
  into.add("threads", world_.threads());
  into.add("fabric", fabric);
}

void session::publish(const report& result) { publish(result.to_text(), result); }

void session::publish(const std::string& text, const report& result) {
  if (!wanted_.json.empty()) write_output_file(wanted_.json, result.to_json());
  if (!names_standard_output(wanted_.json)) print_text(text, names_standard_output(wanted_.output));
}

}  // namespace amity::apps::graph
