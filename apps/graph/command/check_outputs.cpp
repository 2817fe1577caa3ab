#include "apps/graph/command/check_outputs.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "amity/base/error.hpp"
#include "apps/graph/output/destination.hpp"

namespace amity::apps::graph {
namespace {

namespace fs = std::filesystem;

/// An output as the command line names it.
struct named_output {
  std::string option;
  std::string file;
  destination to;
};

[[noreturn]] void refuse(const named_output& output, const std::string& reason, const std::string& remedy) {
  throw error(output.option, no_rank, fmt::format("{}: {}", output.file, reason), remedy);
}

std::optional<named_output> output_of(const std::string& option, const std::string& file) {
  if (file.empty()) return {};
  try {
    named_output result{option, file, find_destination(file)};
    check_permissions(result.to);
    return result;
  } catch (const destination_error& wrong) {
    throw error(option, no_rank, fmt::format("{}: {}", file, wrong.what()), "name a file that can be written");
  }
}

bool same_file(const std::optional<file_identity>& a, const std::optional<file_identity>& b) { return a && a == b; }

void refuse_inputs(const named_output& output, const std::vector<fs::path>& inputs) {
  const auto written = output.to.identity();
  for (const fs::path& input : inputs) {
    if (!same_file(written, identity_of_input(input))) continue;
    refuse(output, fmt::format("this is the same file as the input {}", input.string()),
           output.to.descriptor == STDOUT_FILENO ? "redirect standard output to another file" : "name another file");
  }
}

/// The report, or the shell, would write to a file that is replaced.
void refuse_standard_output(const named_output& output) {
  if (output.to.descriptor == STDOUT_FILENO) return;
  if (!same_file(output.to.identity(), find_destination(std::string(standard_output)).identity())) return;
  refuse(output, "this is the same file as standard output", fmt::format("use {} -", output.option));
}

}  // namespace

void check_outputs(const options& wanted, const std::vector<fs::path>& inputs) {
  const auto output = output_of("--output", wanted.output);
  const auto json = output_of("--json", wanted.json);
  for (const auto& each : {output, json}) {
    if (!each) continue;
    refuse_inputs(*each, inputs);
    refuse_standard_output(*each);
  }
  const bool same_descriptor = output && json && output->to.what == destination::kind::descriptor &&
                               json->to.what == destination::kind::descriptor &&
                               output->to.descriptor == json->to.descriptor;
  if (output && json && (same_descriptor || same_file(output->to.identity(), json->to.identity()))) {
    refuse(*json, fmt::format("this is the same file as --output {}", wanted.output), "name another file");
  }
  const auto replaces_report = [](const std::optional<named_output>& each) {
    return each && each->to.descriptor == STDOUT_FILENO;
  };
  if (!replaces_report(output) && !replaces_report(json)) {
    refuse_inputs({"standard output", "-", find_destination(std::string(standard_output))}, inputs);
  }
}

}  // namespace amity::apps::graph
