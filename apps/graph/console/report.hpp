#pragma once

/// What a run has found out, for a person and for a program: the same figures, collected once.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "apps/graph/kernels/meter.hpp"

namespace amity::apps::graph {

class report {
 public:
  using json = nlohmann::ordered_json;

  /// `headline` is for a person: "Breadth-first search from a over a small graph".
  explicit report(std::string headline) : headline_(std::move(headline)) {}

  /// A figure: under `key` in the JSON object, and as a line "label  text". An empty label: for programs alone.
  void add(std::string_view key, json value, std::string_view label = {}, std::string text = {});
  /// Paragraphs that follow the lines, for a person alone.
  void add_text(std::string paragraph) { paragraphs_.push_back(std::move(paragraph)); }

  /// Where and how long a kernel ran; `virtual_time` says that seconds are simulated.
  void add_cost(const cost& spent, std::uint64_t repeats, bool virtual_time);

  /// Ends with a newline.
  std::string to_text() const;
  /// One JSON object, indented; ends with a newline. README.md tells what the keys mean.
  std::string to_json() const;

 private:
  struct line {
    std::string label;
    std::string text;
  };
  std::string headline_;
  std::vector<line> lines_;
  std::vector<std::string> paragraphs_;
  json object_;
};

}  // namespace amity::apps::graph
