#pragma once

/// What every kernel of the command shares: the rank's world, what the user asked for, progress, and the way in which
/// results and mistakes reach the user.

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "amity/amity.hpp"
#include "apps/graph/command/options.hpp"
#include "apps/graph/console/progress.hpp"
#include "apps/graph/console/report.hpp"
#include "apps/graph/input/weight_text.hpp"
#include "apps/graph/kernels/answer.hpp"

namespace amity::apps::graph {

class session {
 public:
  /// `any_sign`: lengths are entries of a matrix, which may be negative.
  session(world& w, const options& wanted, bool uses_lengths, bool any_sign);

  world& ranks() { return world_; }
  const options& wanted() const { return wanted_; }
  progress& watcher() { return watcher_; }
  bool simulated() const;
  /// Whether the kernel looks at lengths of edges.
  bool uses_lengths() const { return uses_lengths_; }
  /// Which weights the kernel takes.
  weight_rules rules() const { return {.type = wanted_.weights, .any_sign = any_sign_}; }

  /// Rank 0 works while the others wait. Collective. Throws `answered` on all ranks if `work` throws, which rank 0 has
  /// then explained on standard error.
  void on_first(const std::function<void()>& work);

  /// Reports at the beginning, not after hours, that an output of the command cannot be written or would replace an
  /// input or the other output. Collective, like `on_first`.
  void check_files(const std::vector<std::filesystem::path>& inputs);

  /// Does a collective step that throws the same `error` on all ranks if it fails; throws `answered` then, and rank 0
  /// has explained it.
  void explained(const std::function<void()>& step);

  /// Ends the command: rank 0 says why before any rank leaves. Collective.
  [[noreturn]] void give_up(const std::string& why);

  /// Runs a kernel as often as the user wants, or as long as that takes little time. Collective. `run(watch)` gives the
  /// cost of one run; `round` names what it counts rounds by. The costs of the run with the median time.
  struct runs {
    cost median;
    std::uint64_t count;
  };
  runs repeat(const std::function<cost(const observer&)>& run, const std::string& round, const std::string& noun);

  /// Says whether an answer is right, if the user wants to know. Collective. `find_mistake()` gives what is wrong, the
  /// same on all ranks, or nothing; a mistake ends the command. `proof` is what was found to hold.
  void verify(const std::function<std::string()>& find_mistake, report& into, const std::string& proof);

  /// Adds where the job runs.
  void add_job(report& into) const;
  /// Writes the JSON, and prints the human-readable report: to standard output, to standard error if `--output` uses
  /// standard output, or not at all if the JSON does. Throws `error`. On rank 0.
  void publish(const report& result);
  /// Publishes a result with a text of another form.
  void publish(const std::string& text, const report& result);

 private:
  bool again(const std::vector<cost>& costs) const;

  world& world_;
  const options& wanted_;
  bool uses_lengths_;
  bool any_sign_;
  progress watcher_;
};

/// Ends the command on all ranks: rank 0 has said why.
class answered : public std::runtime_error {
 public:
  answered() : std::runtime_error("the command cannot go on") {}
};

}  // namespace amity::apps::graph
