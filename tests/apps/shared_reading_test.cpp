// A file gives the same graph, and the same errors, to any number of ranks.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "apps/graph/input/graph_share.hpp"
#include "apps/graph/input/lengths.hpp"
#include "apps/graph/input/packages.hpp"
#include "apps/graph/input/write_values.hpp"
#include "graph_jobs.hpp"
#include "scratch.hpp"

namespace amity::apps::graph::tests {
namespace {

using testing::random_graph;

/// So small that every rank has turns in a small file.
constexpr read_options finely{.with_lengths = true, .block_bytes = 48};

graph_share read_finely(world& w, const std::filesystem::path& file, const std::string& format = {}) {
  progress quiet(progress::style::off);
  return read_graph(w, file, format, finely, quiet);
}

/// "place source>target:length" of each edge, as one number: which edge of the input it is, and in vertices' numbers.
std::uint64_t print_of(std::uint64_t place, const edge_ends& e, const std::string& weight) {
  const std::string text = fmt::format("{} {}>{}:{}", place, e.source, e.target, weight);
  return std::hash<std::string>{}(text);
}

std::uint64_t print_of(const edge_list& graph) {
  std::uint64_t print = 0;
  for (std::size_t i = 0; i < graph.edges.size(); ++i)
    print += print_of(i, graph.edges[i], weight_text(graph.weights, i));
  return print;
}

/// Of this rank's edges.
std::uint64_t print_of(const graph_share& graph) {
  std::uint64_t print = 0;
  for (std::size_t run = 0; run < graph.runs.size(); ++run) {
    const auto [first, begin] = graph.runs[run];
    const std::uint64_t end = run + 1 < graph.runs.size() ? graph.runs[run + 1].begin : graph.mine.size();
    for (std::uint64_t i = begin; i < end; ++i)
      print += print_of(first + i - begin, graph.mine[i], weight_text(graph.weights, i));
  }
  return print;
}

/// Collective: the shares together are this graph. Each rank asks for the names of some vertices.
void expect_same(world& w, const graph_share& share, const edge_list& whole) {
  EXPECT_EQ(share.vertices, whole.vertices()) << whole.title;
  EXPECT_EQ(share.edges, whole.edges.size()) << whole.title;
  EXPECT_EQ(w.sum(print_of(share)), print_of(whole)) << whole.title;
  EXPECT_EQ(share.title, whole.title);
  EXPECT_EQ(share.noun, whole.noun);
  EXPECT_EQ(share.unit, whole.unit);
  EXPECT_EQ(share.has_lengths, whole.has_lengths);
  EXPECT_EQ(share.undirected, whole.undirected);
  EXPECT_EQ(share.default_root, whole.default_root);
  std::vector<vertex> wanted;
  for (auto v = static_cast<vertex>(w.rank()); v < whole.vertices(); v += 2) wanted.push_back(v);
  const auto texts = share.names.texts(w, wanted);
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(texts[i], whole.names.text(wanted[i])) << whole.title;
}

std::string text_edges() {
  std::string text = "# a comment that is longer than several of the blocks that ranks take turns at, and so on\n";
  for (const edge& e : random_graph{.vertices = 60, .edges = 150, .seed = 3}.all()) {
    text += fmt::format("vertex-{} {} {}\n", e.source, e.target, e.length);
    if (e.source % 7 == 0) text += "\n# " + std::string(e.target, 'x') + "\r\n";
  }
  return text;
}

std::string matrix(std::size_t entries, std::size_t written) {
  std::string text = fmt::format("%%MatrixMarket matrix coordinate real general\n% by hand\n100 100 {}\n", entries);
  for (std::size_t i = 0; i < written; ++i) text += fmt::format("{} {} {}\n", i % 100 + 1, i * i % 100 + 1, i);
  return text;
}

std::string metis_ring(int vertices) {
  std::string text = fmt::format("% a ring\n{} {} 011 1\n", vertices, vertices);
  for (int v = 0; v < vertices; ++v) {
    const int before = (v + vertices - 1) % vertices, behind = (v + 1) % vertices;
    text += fmt::format("7 {} {} {} {}\n", before + 1, std::max(v, before), behind + 1, std::max(v, behind));
    if (v % 3 == 0) text += "% a comment\n";
  }
  return text;
}

class shared_reading : public testing::on_shapes {};
INSTANTIATE_TEST_SUITE_P(on, shared_reading, ::testing::ValuesIn(testing::job_shapes()), testing::shape_name);

TEST_P(shared_reading, gives_the_graph_that_one_reader_sees) {
  scratch files;
  std::string records, dimacs = "c roads\np sp 40 100\n";
  for (const edge& e : random_graph{.vertices = 40, .edges = 100, .seed = 4}.all()) {
    records += bytes_of(std::int64_t{e.source}) + bytes_of(std::int64_t{e.target});
    dimacs += fmt::format("a {} {} {}\n{}", e.source + 1, e.target + 1, e.target * 3, e.source % 5 ? "" : "c\n");
  }
  const std::vector all{files.write("a.el", text_edges()),       files.write_gzip("b.el.gz", text_edges()),
                        files.write("a.mtx", matrix(100, 100)),  files.write("a.int64", records),
                        files.write("a.graph", metis_ring(30)),  files.write("a.gr", dimacs),
                        files.write("tiny.el", "first second\n")};
  run([&](world& w) {
    for (const auto& file : all) expect_same(w, read_finely(w, file), read_quietly(file));
  });
}

/// The same on all ranks, or the ranks that differ would wait for others.
std::string error_for(world& w, const std::filesystem::path& file) {
  return error_of([&] { read_finely(w, file); });
}

TEST_P(shared_reading, tells_all_ranks_the_first_error_of_the_input) {
  scratch files;
  std::string lines;
  for (int i = 1; i <= 60; ++i) lines += i == 37 ? "a -7\n" : i == 38 || i == 55 ? "b\n" : "first second\n";
  std::string lengths;
  for (int i = 1; i <= 60; ++i) lengths += i > 41 ? "a b 2\n" : "first second\n";
  std::string records;
  for (std::int64_t i = 0; i < 60; ++i) records += bytes_of(std::int64_t{i == 30 || i == 50 ? -i : i}) + bytes_of(i);
  const auto first = files.write("first.el", lines);
  const auto columns = files.write("columns.el", lengths);
  const auto empty = files.write("empty.el", "# " + std::string(500, '\n'));
  const auto few = files.write("few.mtx", matrix(100, 99));
  const auto none = files.write("none.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
  const auto negative = files.write("negative.int64", records);
  const auto cut = files.write_gzip("cut.el.gz", text_edges(), 200);
  run([&](world& w) {
    EXPECT_EQ(error_for(w, first), "amity: first.el:37: vertex -7 is negative; number vertices from 0");
    EXPECT_EQ(error_for(w, columns).substr(0, 62), "amity: columns.el:42: 3 columns, where the lines before have 2");
    EXPECT_EQ(error_for(w, empty).substr(0, 44), "amity: empty.el: there are no edges in it; w");
    EXPECT_EQ(error_for(w, few).substr(0, 71),
              "amity: few.mtx:3: the file has 99 entries, where its header says 100; w");
    EXPECT_EQ(error_for(w, none).substr(0, 44), "amity: none.mtx: there are no vertices in it");
    EXPECT_EQ(error_for(w, negative).substr(0, 55), "amity: negative.int64: byte 480: vertex -30 is negative");
    EXPECT_EQ(error_for(w, cut).substr(0, 72),
              "amity: cut.el.gz: byte 200: the gzip stream ends before its end mark; fe");
    EXPECT_EQ(error_for(w, "/none.el").substr(0, 43), "amity: /none.el: No such file or directory;");
  });
}

TEST_P(shared_reading, finds_labels_wherever_they_lie) {
  scratch files;
  const auto file = files.write("a.el", text_edges());
  const auto numbered = files.write("a.mtx", matrix(10, 10));
  run([&](world& w) {
    const edge_list whole = read_quietly(file);
    const distributed_names names = read_finely(w, file).names;
    for (const char* label : {"vertex-7", "59", "none"}) EXPECT_EQ(names.find(w, label), whole.names.find(label));
    EXPECT_EQ(names.nearest(w, "vertex-", 2).size(), 2u);
    EXPECT_EQ(names.nearest(w, "vertx-17", 1), std::vector<std::string>{"vertex-17"});
    const distributed_names numbers = read_finely(w, numbered).names;
    EXPECT_EQ(numbers.find(w, "100"), 99u);
    EXPECT_EQ(numbers.nearest(w, "200", 2), (std::vector<std::string>{"1", "100"}));
  });
}

TEST_P(shared_reading, sets_the_lengths_that_one_rank_sets) {
  scratch files;
  const auto file = files.write("a.el", text_edges());
  std::string floats;
  for (int i = 0; i < 150; ++i) floats += bytes_of(static_cast<float>(i) / 4);
  const auto weights = files.write("weights", floats).string();
  const auto negative = files.write("negative", floats.substr(0, 300) + bytes_of(-1.0f) + floats.substr(304)).string();
  const auto longer = files.write("longer", floats + floats).string();
  // What is said of each choice, and the edges that have come of it.
  const auto outcomes = [&](world& w) {
    progress quiet(progress::style::off);
    graph_share share = read_finely(w, file);
    std::vector<std::pair<std::string, std::uint64_t>> seen;
    for (const std::string& choice : {std::string("input"), std::string("uniform"), std::string("integer"), weights}) {
      const std::string said = set_lengths(w, share, choice, 5, quiet);
      seen.emplace_back(said, w.sum(print_of(share)));
    }
    for (const std::string& choice : {negative, longer})
      seen.emplace_back(error_of([&] { set_lengths(w, share, choice, 5, quiet); }), 0);
    return seen;
  };
  std::vector<std::pair<std::string, std::uint64_t>> alone;
  amity::testing::run_job(amity::testing::shape("sim", 1, 1), [&](world& w) { alone = outcomes(w); });
  ASSERT_EQ(alone.size(), 6u);
  EXPECT_EQ(alone[4].first.substr(0, 43), "amity: negative: byte 300: length -1 is neg");
  EXPECT_EQ(alone[5].first.substr(0, 48), "amity: longer: 1200 bytes, where 150 edges want ");
  run([&](world& w) { EXPECT_EQ(outcomes(w), alone); });
}

TEST_P(shared_reading, takes_packages_from_rank_0) {
  scratch files;
  files.write("a_Packages",
              "Package: a\nDepends: b\nSize: 3000000\n\nPackage: b\nSize: 1000000\nDepends: c\n\nPackage: c");
  run([&](world& w) {
    progress quiet(progress::style::off);
    expect_same(w, read_package_graph(w, files.folder(), false, quiet), read_packages(files.folder(), false, quiet));
    EXPECT_NE(error_of([&] { read_package_graph(w, files.folder() / "none", false, quiet); }), "no error");
  });
}

TEST_P(shared_reading, values_are_written_in_the_order_of_the_vertices) {
  scratch files;
  const auto file = files.write("a.el", "a b\nb c\nc d\nd e\ne f\nf g\ng h\nh i\ni j\nj k\nk l\n");
  const auto out = files.write("values", std::string(1000, 'x'));
  run([&](world& w) {
    const graph_share graph = read_finely(w, file);
    const auto say_mine = [&](const value_taker& say) {
      for (auto v = static_cast<vertex>(w.size() - w.rank() - 1); v < graph.vertices;
           v += static_cast<vertex>(w.size())) {
        if (v != 7) say(v, std::to_string(v * 10), v == 0 ? no_vertex : v - 1);
      }
    };
    write_values(w, out, graph.names, {.shown = columns::value_and_other, .mine = say_mine});
    write_values(w, files.folder() / "short", graph.names, {.mine = say_mine});
    EXPECT_EQ(error_of([&] { write_values(w, "/none/x", graph.names, {.mine = say_mine}); }).substr(0, 41),
              "amity: /none/x: No such file or directory");
    EXPECT_NE(error_of([&] { write_values(w, "/dev/full", graph.names, {.mine = say_mine}); }), "no error");
  });
  EXPECT_EQ(contents(out), "a 0 -\nb 10 a\nc 20 b\nd 30 c\ne 40 d\nf 50 e\ng 60 f\ni 80 h\nj 90 i\nk 100 j\nl 110 k\n");
  EXPECT_EQ(contents(files.folder() / "short").substr(0, 15), "a 0\nb 10\nc 20\nd");
}

TEST(write_values, text_beyond_window_is_complete) {
  scratch files;
  const auto out = files.folder() / "values";
  constexpr vertex vertices = 300'000;  // more text than rank 0 collects at once
  amity::testing::run_job(amity::testing::shape("threads", 3, 1), [&](world& w) {
    const auto say_mine = [&](const value_taker& say) {
      for (auto v = static_cast<vertex>(w.rank()); v < vertices; v += 3)
        if (v % 7 != 0) say(v, fmt::format("{:031}", v), no_vertex);
    };
    write_values(w, out, distributed_names::numbered(vertices, 1), {.mine = say_mine});
  });
  std::ifstream in(out);
  std::string label, value;
  vertex lines = 0;
  for (vertex v = 0; v < vertices; ++v) {
    if (v % 7 == 0) continue;
    ASSERT_TRUE(in >> label >> value);
    ASSERT_EQ(label + " " + value, fmt::format("{} {:031}", v + 1, v));
    ++lines;
  }
  EXPECT_GT(std::filesystem::file_size(out), std::uintmax_t{1} << 23);
  EXPECT_FALSE(in >> label) << lines;
}

TEST(shared_reading_of_a_pipe, is_left_to_rank_0) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string text = text_edges();
  ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  amity::testing::run_job(amity::testing::shape("threads", 3, 1), [&](world& w) {
    const graph_share share = read_finely(w, "/dev/fd/" + std::to_string(ends[0]));
    EXPECT_EQ(share.edges, 150u);
    EXPECT_EQ(share.mine.size(), w.rank() == 0 ? 150u : 0u);
    EXPECT_TRUE(share.has_lengths) << "rank 0 tells it the others";
    EXPECT_EQ(share.names.texts(w, std::vector<vertex>{0})[0].substr(0, 7), "vertex-");
  });
  ::close(ends[0]);
}

TEST_P(shared_reading, weights_of_both_kinds_are_double) {
  scratch files;
  std::string text;
  for (int i = 0; i < 60; ++i) text += fmt::format("vertex-{} vertex-{} {}\n", i, i + 1, i == 57 ? "0.5" : "16777217");
  const auto mixed = files.write("mixed.el", text);
  const auto inexact = files.write("inexact.el", "a b 1\na b 9007199254740993\na b 9007199254740995\n" + text);
  run([&](world& w) {
    progress quiet(progress::style::off);
    graph_share share = read_finely(w, mixed);
    set_lengths(w, share, "input", 1, quiet);
    EXPECT_EQ(share.type, weight_type::float64);
    double sum = 0;
    for (std::size_t i = 0; i < share.mine.size(); ++i) sum += share.weights.at<double>(i);
    EXPECT_EQ(w.sum(sum), 59 * 16777217.0 + 0.5);
    graph_share wrong = read_finely(w, inexact);
    EXPECT_EQ(error_of([&] { set_lengths(w, wrong, "input", 1, quiet); }).substr(0, 64),
              "amity: inexact.el:2: weight 9007199254740993 is not exact in dou");
  });
}

/// Files that packages of the system bring.
TEST(graphs_of_the_system, have_the_sizes_that_are_known) {
  const std::filesystem::path metis = "/usr/share/doc/libmetis-dev/examples/graphs/mdual.graph";
  const std::filesystem::path wordnet = "/usr/share/wordnet";
  ASSERT_TRUE(std::filesystem::exists(metis) && std::filesystem::exists(wordnet / "data.noun"))
      << "`scripts/setup test` installs libmetis-doc and wordnet-base";
  amity::testing::run_job(amity::testing::shape("threads", 2, 1), [&](world& w) {
    progress quiet(progress::style::off);
    const graph_share mesh = read_graph(w, metis, {}, {}, quiet);
    EXPECT_EQ(mesh.vertices, 258569u);
    EXPECT_EQ(mesh.edges, 513132u);
    const graph_share words = read_graph(w, wordnet, {}, {}, quiet);
    EXPECT_EQ(words.vertices, 117659u);
    EXPECT_EQ(words.edges, 377592u);
    EXPECT_TRUE(words.names.find(w, "n00001740"));
  });
}

}  // namespace
}  // namespace amity::apps::graph::tests
