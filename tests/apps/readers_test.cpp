// What each format means, and how files are told apart.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "amity/base/random.hpp"
#include "scratch.hpp"

namespace amity::apps::graph::tests {
namespace {

/// The graph in a file of this name and content.
edge_list graph_in(const std::string& name, const std::string& content, const std::string& format = {},
                   bool with_lengths = true) {
  scratch files;
  return read_quietly(files.write(name, content), format, with_lengths);
}

TEST(read_text_edges, takes_blanks_tabs_commas_and_comments) {
  const auto graph = graph_in("a.el", "# a comment\n% another\n\n1 2\n2\t3\r\n  3 , 1\n1;4");
  EXPECT_EQ(edges_text(graph), "1>2:1 2>3:1 3>1:1 1>4:1");
  EXPECT_EQ(graph.vertices(), 4u);
  EXPECT_FALSE(graph.has_lengths);
  EXPECT_FALSE(graph.undirected);
}

TEST(read_text_edges, labels_are_names_or_numbers) {
  const auto graph = graph_in("a.el", "libc6 7\n007 000\nlibc6:any 18446744073709551615\n");
  EXPECT_EQ(edges_text(graph), "libc6>7:1 7>0:1 libc6:any>18446744073709551615:1");
}

TEST(read_text_edges, reads_lengths_when_they_are_wanted) {
  scratch files;
  const auto file = files.write("a.csv", "a,b,0.5\nb,c,1e-3\nc,a,+2\n");
  EXPECT_EQ(edges_text(read_quietly(file)), "a>b:0.5 b>c:0.001 c>a:2");
  EXPECT_TRUE(read_quietly(file).has_lengths);
  EXPECT_EQ(edges_text(read_quietly(file, {}, false)), "a>b:1 b>c:1 c>a:1");
}

TEST(read_text_edges, ignores_unusable_lengths_when_lengths_are_not_wanted) {
  EXPECT_EQ(edges_text(graph_in("a.el", "a b -1\nb c nan\n", {}, false)), "a>b:1 b>c:1");
}

TEST(read_text_edges, a_line_may_straddle_blocks) {
  std::string content, expected;
  while (content.size() < 3 * input::buffer_bytes)
    content += "#" + std::string(1000, 'x') + "\nfirst_vertex second_vertex\n";
  const auto graph = graph_in("a.el", content);
  EXPECT_EQ(graph.vertices(), 2u);
  EXPECT_EQ(graph.edges.size(), content.size() / 1029);
}

TEST(read_turns, unpacks_gzip) {
  scratch files;
  EXPECT_EQ(edges_text(read_quietly(files.write_gzip("a.el.gz", "1 2\n2 3\n"))), "1>2:1 2>3:1");
  EXPECT_EQ(read_quietly(files.write_gzip("b.el.gz", "1 2\n")).title, "b.el.gz");
}

TEST(read_turns, gzip_members_join) {
  // The members meet at every place of a line, and beyond the first buffer.
  EXPECT_EQ(edges_text(graph_in("a.el.gz", gzip("1 2\n2") + gzip("") + gzip(" 3\n3 1\n"))), "1>2:1 2>3:1 3>1:1");
  splitmix64 random(5);
  std::string content, packed;
  while (packed.size() < 3 << 18) {  // several times what is read at once
    std::string part;
    for (int i = 0; i < 5000; ++i) part += fmt::format("{} {}\n", random() >> 40, random() >> 40);
    content += part;
    packed += gzip(part);
  }
  EXPECT_EQ(edges_text(graph_in("b.el.gz", packed)), edges_text(graph_in("b.el", content)));
}

TEST(read_turns, binary_like_gzip_stays_plain) {
  scratch files;
  const auto file = files.write("a.int64", bytes_of(std::int64_t{0x8b1f}) + bytes_of(std::int64_t{1}));
  EXPECT_EQ(edges_text(read_quietly(file)), "35615>1:1");
}

TEST(read_bytes, memory_reads_like_file) {
  progress quiet(progress::style::off);
  const auto read = [&](const std::string& bytes, const std::string& format = {}) {
    return read_bytes(bytes, "buffer", format, {.with_lengths = true}, quiet);
  };
  EXPECT_EQ(edges_text(read("a b 2\nb c 3\n")), "a>b:2 b>c:3");
  EXPECT_EQ(edges_text(read(gzip("1 2\n"))), "1>2:1");
  EXPECT_EQ(read("%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 3\n").title, "buffer");
  EXPECT_EQ(error_of([&] { read("", "metis"); }), "amity: buffer: the file is empty; name a file with a graph");
  EXPECT_EQ(error_of([&] { read("2 2\n2\n1\n", "metis"); }).substr(0, 40), "amity: buffer:1: the file has 1 edges, w");
}

/// The edges that a pipe with this content gives, or the error.
std::string piped(const std::string& content) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  EXPECT_EQ(::write(ends[1], content.data(), content.size()), static_cast<ssize_t>(content.size()));
  ::close(ends[1]);
  std::string edges;
  const std::string failed = error_of([&] { edges = edges_text(read_quietly("/dev/fd/" + std::to_string(ends[0]))); });
  ::close(ends[0]);
  return failed == "no error" ? edges : failed;
}

TEST(read_turns, takes_a_pipe) { EXPECT_EQ(piped("1 2\n2 3\n"), "1>2:1 2>3:1"); }

const std::string byte_order_mark = "\xef\xbb\xbf";

/// The edges of a file in each text format, in every form that its reader accepts.
TEST(text_formats, name_pipe_and_byte_order_mark_change_nothing) {
  const std::string real = " matrix coordinate real general\n% by hand\n3 3 1\n1 3 5\n";
  const std::string synset = "00001740 03 n 01 entity 0 001 ~ 00001930 n 0000 | that which is\n";
  for (const auto& [name, content, edges] : std::vector<std::array<std::string, 3>>{
           {"a.mtx", "%%MatrixMarket" + real, "1>3:5"},
           {"a.MTX", "%%matrixmarket" + real, "1>3:5"},
           {"a.mtx", " \t%%MATRIXMARKET\tMatrix\tCoordinate Integer GENERAL \r\n3 3 1\r\n1 3 5\r\n", "1>3:5"},
           {"a.gr", "p sp 2 1\na 1 2 3\n", "1>2:3"},
           {"a.GR", "c\n\nc roads\n\tp\tsp\t2\t1\r\na\t1\t2\t3\r\n", "1>2:3"},
           {"a.gr", "cities\n  p  sp 2 1 \na 1 2 3\n", "1>2:3"},
           {"a.graph", "3 2\n2\n1 3\n2\n", "1>2:1 2>3:1"},
           {"a.GRAPH", "% a ring, whose lines have two columns\n4 4\n2 4\n1 3\n2 4\n1 3\n", "1>2:1 1>4:1 2>3:1 3>4:1"},
           {"a.metis", "4 2 011\n9 2 0.5\n9 1 0.5\n9 4 7\n9 3 7\n", "1>2:0.5 3>4:7"},
           {"data.noun", "  1 A license  \n" + synset, "n00001740>n00001930:1"},
           {"data.noun", synset, "n00001740>n00001930:1"},
           {"a.csv", "a,b,0.5\n", "a>b:0.5"}}) {
    for (const std::string& mark : {std::string(), byte_order_mark}) {
      EXPECT_EQ(edges_text(graph_in(name, mark + content)), edges) << name << ": " << content;
      EXPECT_EQ(edges_text(graph_in("A.GZ", gzip(mark + content))), edges) << content;
      EXPECT_EQ(piped(mark + content), edges) << content;
    }
  }
}

TEST(text_formats, nothing_but_a_byte_order_mark_is_no_graph) {
  EXPECT_NE(piped(byte_order_mark).find("there are no edges in it"), std::string::npos);
  std::string records;
  for (int i = 0; i < 50'000; ++i) records += bytes_of(std::int64_t{0xbfbbef}) + bytes_of(std::int64_t{1});
  EXPECT_EQ(records.substr(0, 3), byte_order_mark);
  EXPECT_EQ(graph_in("a", records).vertices(), 0xbfbbf0u) << "a number may begin like it";
}

TEST(read_matrix_market, damaged_banner_is_refused) {
  const std::string rest = " matrix coordinate real general\n9 9 2\n1 2 5\n2 3 7\n";
  for (const std::string begin :
       {"%MatrixMarket", "%matrixmarket", "%% MatrixMarket", "%%MatrixMarkt", "%%MatrixMarket:", "%%Matrix Market",
        "%%Matrix_Market", "#MatrixMarket", "%%%MatrixMarket", "%%", "%%MM", "\n%%MatrixMarket", "%\n%%MatrixMarket"}) {
    for (const std::string& mark : {std::string(), byte_order_mark}) {
      const std::string why = ":1: the file does not begin with %%MatrixMarket; write that in place of '";
      EXPECT_NE(piped(mark + begin + rest).find(why), std::string::npos) << begin << ": " << piped(mark + begin + rest);
      EXPECT_NE(error_of([&] { graph_in("a", mark + begin + rest); }).find(why), std::string::npos) << begin;
    }
  }
  for (const std::string comment :
       {"% made of a Matrix Market file", "# a sparse matrix in coordinate form", "%matrix", "# market",
        "% sym unweighted", "%%", "# matrix array", "# MatrixMarket file as edges", "% sparse matrix coordinate list"})
    EXPECT_EQ(piped(comment + "\n9 9 2\n"), "9>9:2") << comment;
}

TEST(read_metis, edge_lists_are_not_taken_for_it) {
  EXPECT_EQ(piped("4 4\n2 4\n1 3\n2 4\n1 2\n"), "4>4:1 2>4:1 1>3:1 2>4:1 1>2:1") << "3 does not list 2";
  EXPECT_EQ(piped("3 3\n2 3\n1 3\n"), "3>3:1 2>3:1 1>3:1") << "a line is missing";
  EXPECT_EQ(piped("2 2\n2 2\n1 1\n"), "2>2:1 2>2:1 1>1:1") << "neighbors differ";
  EXPECT_EQ(piped("1 2\n2 1\n"), "1>2:1 2>1:1");
  EXPECT_EQ(piped("3 0\n"), "3>0:1");
}

TEST(read_metis, long_ring_is_recognized) {
  constexpr int vertices = 100'000;  // more text than one buffer
  const auto ring = [&](int last) {
    std::string text = fmt::format("{0} {0}\n", vertices);
    for (int v = 0; v < vertices; ++v)
      text += fmt::format("{} {}\n", (v + vertices - 1) % vertices + 1, v + 1 == last ? 1 : (v + 1) % vertices + 1);
    return graph_in("a", text);
  };
  EXPECT_TRUE(ring(0).undirected);
  EXPECT_FALSE(ring(50).undirected) << "50 does not list 51";
}

TEST(read_matrix_market, pattern_general) {
  const auto graph =
      graph_in("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n% by hand\n\n4 4 2\n1 2\n% more\n2 1\n");
  EXPECT_EQ(edges_text(graph), "1>2:1 2>1:1");
  EXPECT_EQ(graph.vertices(), 4u) << "vertices exist without edges";
  EXPECT_FALSE(graph.has_lengths);
  EXPECT_FALSE(graph.undirected);
}

TEST(read_matrix_market, real_and_integer_symmetric) {
  const auto real = graph_in("a.mtx", "%%MatrixMarket Matrix Coordinate Real Symmetric\n2 2 2\n1 1 0.25\n2 1 4\n");
  EXPECT_EQ(edges_text(real), "1>1:0.25 2>1:4");
  EXPECT_TRUE(real.has_lengths);
  EXPECT_TRUE(real.undirected);
  const auto integer =
      graph_in("b.mtx", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 -3\n", {}, false);
  EXPECT_EQ(edges_text(integer), "1>2:1") << "a length that is not wanted may be anything";
}

TEST(read_matrix_market, is_recognised_by_its_content) {
  scratch files;
  const auto file = files.write_gzip("graph.gz", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 3\n");
  EXPECT_EQ(read_quietly(file).vertices(), 3u);
}

/// As the Graph500 reference code packs an edge: low words, then high half-words.
std::string packed_edge(std::uint64_t source, std::uint64_t target) {
  return bytes_of(static_cast<std::uint32_t>(source)) + bytes_of(static_cast<std::uint32_t>(target)) +
         bytes_of(static_cast<std::uint16_t>(source >> 32)) + bytes_of(static_cast<std::uint16_t>(target >> 32));
}

std::string int64_edge(std::int64_t source, std::int64_t target) { return bytes_of(source) + bytes_of(target); }

TEST(read_graph500, both_layouts_by_extension_and_by_content) {
  scratch files;
  const std::string packed = packed_edge(3, 1) + packed_edge(70000, 2);
  const std::string int64 = int64_edge(3, 1) + int64_edge(70000, 2);
  for (const char* name : {"a.packed", "a.graph500", "a.bin", "a", "a.gz"}) {
    EXPECT_EQ(edges_text(graph_in(name, packed)), "3>1:1 70000>2:1") << name;
  }
  for (const char* name : {"b.int64", "b.g500", "b.bin", "b"}) {
    EXPECT_EQ(edges_text(graph_in(name, int64)), "3>1:1 70000>2:1") << name;
  }
  const auto graph = read_quietly(files.write_gzip("c.graph500.gz", packed));
  EXPECT_EQ(graph.vertices(), 70001u);
  EXPECT_TRUE(graph.undirected);
}

/// What reading the file by a user gives who states a number of vertices.
std::string vertices_with(const std::filesystem::path& file, std::uint64_t stated) {
  progress quiet(progress::style::off);
  std::string result;
  const std::string message = error_of([&] {
    const edge_list graph = read_turns(file, {}, {.vertices = stated}, {}, quiet);
    graph.check({graph.vertices(), graph.edges.size(), graph.listed, graph.unpaired});
    result = std::to_string(graph.vertices());
  });
  return result.empty() ? message : result;
}

TEST(read_graph500, stated_vertices_override_plausibility) {
  scratch files;
  const auto file = files.write("a.int64", int64_edge(3, 1) + int64_edge(10'000'000, 2));
  EXPECT_EQ(vertices_with(file, 20'000'000), "20000000");
  EXPECT_EQ(vertices_with(file, 10'000'001), "10000001");
  EXPECT_EQ(vertices_with(file, 10'000'000),
            "amity: a.int64: byte 16: vertex 10000000 is out of range: --vertices is 10000000; correct or omit "
            "--vertices, or check the format (see --format)");
}

TEST(read_turns, stated_vertices_must_match_header) {
  scratch files;
  const auto matrix =
      files.write("a.mtx", "%%MatrixMarket matrix coordinate pattern general\n2000000 2000000 1\n1 2\n");
  EXPECT_EQ(vertices_with(matrix, 2'000'000), "2000000");
  EXPECT_EQ(vertices_with(matrix, 3),
            "amity: a.mtx:2: the file has 2,000,000 vertices, and --vertices is 3; correct or omit --vertices");
  EXPECT_NE(error_of([&] { read_quietly(matrix); }).find("or confirm the number by --vertices 2000000"),
            std::string::npos);
  EXPECT_EQ(vertices_with(files.write("a.graph", "2 1\n2\n1\n"), 2), "2");
  EXPECT_EQ(vertices_with(files.write("a.gr", "p sp 2 1\na 1 2 3\n"), 2), "2");
  EXPECT_EQ(vertices_with(files.write("a.el", "1 2\n"), 3),
            "amity: a.el: the format 'edges' has labels, not numbers of vertices; omit --vertices, or name another "
            "format by --format");
}

TEST(read_graph500, records_continue_across_blocks) {
  std::string content;
  constexpr std::uint64_t edges = input::buffer_bytes / 12 + 100;
  for (std::uint64_t i = 0; i < edges; ++i) content += packed_edge(i, i + 1);
  const auto graph = graph_in("a.packed", content);
  ASSERT_EQ(graph.edges.size(), edges);
  for (std::uint64_t i = 0; i < edges; ++i) ASSERT_EQ(graph.edges[i].target, i + 1);
}

TEST(read_metis, keeps_each_edge_once) {
  const auto graph = graph_in("a.graph", "% four vertices\n4 3\n2 4\n1 3\n% the last but one\n2\n1\n");
  EXPECT_EQ(edges_text(graph), "1>2:1 1>4:1 2>3:1");
  EXPECT_EQ(graph.vertices(), 4u);
  EXPECT_TRUE(graph.undirected);
  EXPECT_FALSE(graph.has_lengths);
}

TEST(read_metis, takes_lengths_and_skips_weights_of_vertices) {
  const auto graph = graph_in("a.metis", "3 1 111 2\n9 8 7 3 5\n9 8 7\n9 8 7 1 5\n\n");
  EXPECT_EQ(edges_text(graph), "1>3:5");
  EXPECT_TRUE(graph.has_lengths);
  EXPECT_EQ(edges_text(graph_in("b.metis", "2 1 1\n2 0.5\n1 0.5\n")), "1>2:0.5");
  EXPECT_EQ(graph_in("c.metis", "3 1\n2\n1\n\n").vertices(), 3u) << "the third has no neighbours";
}

TEST(read_metis, both_ends_list_an_edge_alike) {
  const std::string problem = "some edge is listed by one of its ends only, or its ends give it different weights";
  const auto why = [&](const std::string& content, bool with_lengths) {
    return error_of([&] { graph_in("a.graph", content, "", with_lengths); });
  };
  EXPECT_NE(why("4 2\n2\n3\n1\n1\n", false).find(problem), std::string::npos);
  EXPECT_NE(why("3 2 001\n2 5\n1 7 3 1\n2 1\n", true).find(problem), std::string::npos);
  EXPECT_EQ(why("3 2 001\n2 5\n1 5 3 1\n2 1\n", true), "no error");
}

TEST(read_metis, a_vertex_may_have_very_many_neighbours) {
  constexpr int leaves = 200'000;
  std::string content = fmt::format("{} {}\n", leaves + 1, leaves);
  for (int i = 2; i <= leaves + 1; ++i) content += fmt::format("{} ", i);
  for (int i = 0; i < leaves; ++i) content += "\n1";
  EXPECT_EQ(graph_in("star.graph", content).edges.size(), std::size_t{leaves});
}

TEST(read_text_edges, refuses_empty_columns_and_ends_of_lines_of_old) {
  const auto why = [&](const std::string& content) { return error_of([&] { graph_in("a", content); }); };
  EXPECT_NE(why("1,,2.5\n").find("a:1: a column is empty"), std::string::npos);
  EXPECT_NE(why(",1,2\n").find("a:1: a column is empty"), std::string::npos);
  EXPECT_EQ(why("1, 2\n3 ; 4;\n"), "no error");
  EXPECT_NE(why("1 2\r2 3\r").find("a:1: there is a carriage return inside a line"), std::string::npos);
}

TEST(read_dimacs, arcs_lead_one_way) {
  const std::string content = "c roads\np sp 4 2\nc two arcs\na 1 2 17\na 2 1 2.5\n";
  for (const char* name : {"a.gr", "a"}) {
    const auto graph = graph_in(name, content);
    EXPECT_EQ(edges_text(graph), "1>2:17 2>1:2.5");
    EXPECT_EQ(graph.vertices(), 4u);
    EXPECT_TRUE(graph.has_lengths);
    EXPECT_FALSE(graph.undirected);
  }
}

TEST(read_wordnet, a_synset_points_to_others) {
  scratch files;
  const auto noun = files.write("data.noun",
                                "  1 A licence\n"
                                "00001740 03 n 01 entity 0 001 ~ 00001930 n 0000 | that which is  \n"
                                "00001930 03 n 02 being 0 thing 1 002 @ 00001740 n 0000 + 00000023 s 0101 | is\n");
  EXPECT_EQ(edges_text(read_quietly(noun)), "n00001740>n00001930:1 n00001930>n00001740:1 n00001930>a00000023:1");
  files.write("data.verb", "00000001 29 v 0a a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 000 01 + 02 00 | ten words\n");
  files.write("data.adj", "00000023 00 s 01 real 0 001 & 00000099 a 0000 | as a satellite\n");
  files.write("data.adv", "00000042 02 r 01 really 0 000 | and no pointer\n");
  const auto all = read_quietly(files.folder());
  EXPECT_EQ(all.title, "WordNet");
  EXPECT_EQ(all.vertices(), 6u);
  EXPECT_EQ(all.edges.size(), 4u);
  EXPECT_TRUE(all.names.find("r00000042"));
}

TEST(read_turns, obeys_a_forced_format) {
  scratch files;
  const auto file = files.write("a.mtx", "1 2\n2 3\n");
  EXPECT_EQ(edges_text(read_quietly(file, "edges")), "1>2:1 2>3:1");
  EXPECT_EQ(format_problem("edges"), "");
  EXPECT_EQ(format_problem("csv"), "there is no format 'csv'; see amity graph --help");
  EXPECT_EQ(format_problem("matrxi-market"), "there is no format 'matrxi-market'; did you mean matrix-market?");
}

}  // namespace
}  // namespace amity::apps::graph::tests
