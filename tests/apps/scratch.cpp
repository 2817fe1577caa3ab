#include "scratch.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <zlib.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>

namespace amity::apps::graph::tests {

namespace fs = std::filesystem;

scratch::scratch() {
  std::string pattern = (fs::temp_directory_path() / "amity-graph-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), pattern);
  folder_ = pattern;
}

scratch::~scratch() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

fs::path scratch::write(const std::string& name, std::string_view content) const {
  const fs::path file = folder_ / name;
  std::ofstream(file, std::ios::binary) << content;
  return file;
}

fs::path scratch::write_gzip(const std::string& name, std::string_view content, std::size_t keep) const {
  return write(name, gzip(content).substr(0, keep));
}

std::string contents(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string gzip(std::string_view content) {
  z_stream stream{};
  ::deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(::deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

edge_list read_quietly(const fs::path& file, const std::string& format, bool with_lengths, const weight_rules& rules) {
  progress quiet(progress::style::off);
  edge_list whole = read_turns(file, format, {.with_lengths = with_lengths, .rules = rules}, {}, quiet);
  if (whole.check) whole.check({whole.vertices(), whole.edges.size(), whole.listed, whole.unpaired});
  return whole;
}

std::string weight_text(const weight_list& weights, std::size_t i) {
  if (weights.empty()) return "1";
  return weights.is_real() ? fmt::format("{}", weights.at<double>(i)) : fmt::format("{}", weights.at<std::int64_t>(i));
}

std::string edges_text(const edge_list& graph) {
  std::ostringstream text;
  for (std::size_t i = 0; i < graph.edges.size(); ++i) {
    const auto [source, target] = graph.edges[i];
    text << (i > 0 ? " " : "") << graph.names.text(source) << '>' << graph.names.text(target) << ':'
         << weight_text(graph.weights, i);
  }
  return text.str();
}

}  // namespace amity::apps::graph::tests
