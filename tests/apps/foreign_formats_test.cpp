// Formats that are not read are recognized by name and by content, and what is read is not taken for them.

#include <gtest/gtest.h>

#include "apps/graph/input/foreign_formats.hpp"
#include "scratch.hpp"

namespace amity::apps::graph::tests {
namespace {

using namespace std::string_literals;

struct foreign_file {
  std::string name, content, format;
};

class foreign : public ::testing::TestWithParam<foreign_file> {};

TEST_P(foreign, file_is_refused_with_remedy) {
  scratch files;
  const auto& [name, content, format] = GetParam();
  for (const bool packed : {false, true}) {
    const auto file = packed ? files.write_gzip(name + ".gz", content) : files.write(name, content);
    const std::string message = error_of([&] { read_quietly(file); });
    const std::string expected = "amity: " + file.filename().string() + ": this is " + format;
    EXPECT_TRUE(message.starts_with(expected)) << message;
    EXPECT_NE(message.find(", which is not supported; "), std::string::npos) << message;
    EXPECT_NE(message.find("; if the file has a supported format, name that by --format"), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(
    by_name, foreign,
    ::testing::Values(foreign_file{"a.xz", "1 2\n", "xz data"}, foreign_file{"a.bz2", "1 2\n", "bzip2 data"},
                      foreign_file{"a.el.zst", "1 2\n", "Zstandard data"}, foreign_file{"a.npz", "1 2\n", "NumPy data"},
                      foreign_file{"a.npy", "1 2\n", "NumPy data"}, foreign_file{"a.zip", "1 2\n", "a zip archive"},
                      foreign_file{"a.tar", "1 2\n", "a tar archive"}, foreign_file{"a.Parquet", "1 2\n", "Parquet"},
                      foreign_file{"a.graphml", "1 2\n", "GraphML"}, foreign_file{"a.GML", "1 2\n", "GML"},
                      foreign_file{"a.dot", "1 2\n", "DOT"}, foreign_file{"a.gv", "1 2\n", "DOT"},
                      foreign_file{"a.json", "1 2\n", "JSON"}, foreign_file{"a.h5", "1 2\n", "HDF5"},
                      foreign_file{"a.sif", "a pp b c\n", "SIF"}, foreign_file{"a.paj", "1 2\n", "Pajek"}));

std::string tar_archive() {
  std::string header(512, '\0');
  header.replace(0, 5, "a.mtx");
  return header.replace(257, 5, "ustar");
}

INSTANTIATE_TEST_SUITE_P(
    by_content, foreign,
    ::testing::Values(
        foreign_file{"a",
                     "\xfd"
                     "7zXZ\0\0\x04"s,
                     "xz data"},
        foreign_file{"a.el", "BZh91AY&SY\x12\x34\x56\x78"s, "bzip2 data"},
        foreign_file{"a", "BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0"s, "bzip2 data"},
        foreign_file{"a", "\x28\xb5\x2f\xfd\x04\x00"s, "Zstandard data"},
        foreign_file{"a.bin", "PK\x03\x04\x14\0\0\0"s, "a zip archive"},
        foreign_file{"a", tar_archive(), "a tar archive"}, foreign_file{"a", "PAR1\x15\x04"s, "Parquet"},
        foreign_file{"a", "\x93NUMPY\x01\0"s, "NumPy data"}, foreign_file{"a", "\x89HDF\r\n\x1a\n\0\0"s, "HDF5"},
        foreign_file{"a", "<?xml version='1.0'?>\n<graphml>\n</graphml>\n", "XML (such as GraphML)"},
        foreign_file{"a", "<graphml xmlns='x'>\n", "XML (such as GraphML)"},
        foreign_file{"a", "<?xml version='1.0'?>\n<gexf version='1.2'>\n", "GEXF"},
        foreign_file{"a", "\xef\xbb\xbf{\"nodes\": []}\n", "JSON"},
        foreign_file{"a", "\n [ [1, 2], [2, 3] ]\n", "JSON"}, foreign_file{"a", "[]", "JSON"},
        foreign_file{"a.el", "{\"source\": 1, \"target\": 2}\n", "JSON"},
        foreign_file{"a", "digraph {\n1 -> 2\n}\n", "DOT"}, foreign_file{"a", "graph g{ a -- b }\n", "DOT"},
        foreign_file{"a", "// made by hand\n/* twice */ strict Graph \"a b\"\n{\n", "DOT"},
        foreign_file{"a", "graph [\n  node [\n    id 1\n  ]\n]\n", "GML"},
        foreign_file{"a", "# a comment\nCreator \"by hand\"\nVersion 1\ngraph\n[\n  directed 1\n", "GML"},
        foreign_file{"a", "[1,2]\n[2,3]\n", "JSON"}, foreign_file{"a", "[1, 2", "JSON"},
        foreign_file{"a", "{\"a b\\\"\": [true, -1e3, {}], \"c\": null}", "JSON"},
        foreign_file{"a", "[\"" + std::string(70'000, 'x') + "\"]", "JSON"},
        foreign_file{"a", "*Vertices 2\n1 \"a\"\n2 \"b\"\n*Edges\n1 2\n", "Pajek"},
        foreign_file{"a", "% by hand\r\n*vertices 2 1\r\n*arcs\r\n1 2 1\r\n", "Pajek"},
        foreign_file{"a.net", "*Network of friends\n*Vertices 2\n1 a\n2 b\n", "Pajek"},
        foreign_file{"a.adj", "AdjacencyGraph\n2\n1\n0\n1\n1\n", "an AdjacencyGraph or EdgeArray"},
        foreign_file{"a", "WeightedAdjacencyGraph\n2\n1\n0\n1\n1\n7\n", "an AdjacencyGraph or EdgeArray"},
        foreign_file{"a", "1 pp 2\n1\tpd\t3\n", "SIF"}, foreign_file{"a", "1 -> 2\n2 -> 3\n", "SIF"},
        foreign_file{"a", "source,target\n1,2\n2,3\n", "a table with the names of its columns"},
        foreign_file{"a", "\xef\xbb\xbf# by hand\nfrom\tto\n1\t2\n", "a table with the names of its columns"},
        foreign_file{"a", "\xff\xfe\x31\0 \0\x32\0\n\0"s, "text in UTF-16"},
        foreign_file{"a", "\xfe\xff\0\x31\0 \0\x32\0\n"s, "text in UTF-16"}));

/// Printable words are no proof of a format: whatever the reader of edge lists accepts is an edge list.
TEST(foreign_formats, vertices_may_have_names_like_signatures) {
  scratch files;
  std::string tar;
  while (tar.size() < 257) tar += "vertices v\n";
  tar.replace(254, tar.size() - 254, "\nx ustar00\n");
  EXPECT_EQ(tar.substr(257, 5), "ustar");
  for (const std::string& content : {"PAR1 PAR1x\n"s,
                                     "BZh91AY&SY b\n"s,
                                     "BZh91AY&SY 1\nc 2\n"s,
                                     "7zXZ 1\n"s,
                                     "[0] [1]\n"s,
                                     "[0],[1]\n[1],[2]\n"s,
                                     "{\"a\"} {\"b\"}\n"s,
                                     "[0 [1\n[1 [2\n"s,
                                     "{} {}\n"s,
                                     "[] 1\n"s,
                                     "p sp 3\n"s,
                                     "p edge\n"s,
                                     "p sp 3\np sp 4\n"s,
                                     "graph {\n{ node\nnode }\n"s,
                                     "strict graph\ngraph {\n"s,
                                     "graph [\n[ node\n"s,
                                     "<?xml 5\nx 7\n"s,
                                     "*Vertices a\n"s,
                                     "AdjacencyGraph 3\n"s,
                                     "a pp 2\npp b 3\n"s,
                                     "pp pd\n1 2\n3 a\n"s,
                                     "libc6 7\n007 000\n"s}) {
    const auto file = files.write("a", content);
    EXPECT_EQ(error_of([&] { EXPECT_FALSE(edges_text(read_quietly(file)).empty()); }), "no error") << content;
    EXPECT_EQ(edges_text(read_quietly(file)), edges_text(read_quietly(file, "edges"))) << content;
  }
  EXPECT_EQ(edges_text(read_quietly(files.write("a", "source,target\n1,2\n"), "edges")), "source>target:1 1>2:1");
  EXPECT_FALSE(find_foreign_format("a", tar));
  for (const std::int64_t number : {0x227b, 0x7d7b, 0x315b, 0x5d5b})  // of a Graph500 edge list: {" {} [1 []
    EXPECT_FALSE(find_foreign_format("a", bytes_of(number) + bytes_of(number))) << number;
}

TEST(foreign_formats, supported_files_are_not_foreign) {
  for (const std::string content :
       {"1 2\n2 3\n", "# {\"json\": 1}\n1 2\n", "graph theory\ntheory book\n", "digraph graph\n", "{a} {b}\n",
        "[x] [y]\n", "creator god\nversion 1\ngraph x\n", "%%MatrixMarket matrix coordinate real general\n",
        "c DIMACS\np sp 2 1\n", "<http://a> <http://b>\n", "BZh9 x\n", "PK 1\n", "graph", "strict", "/* ", ""}) {
    EXPECT_FALSE(find_foreign_format("a.el", content)) << content;
  }
  for (const std::string name :
       {"json", ".json", "a.json.el", "dot", "data.noun", "a.mtx", "a.graph", "standard input"})
    EXPECT_FALSE(find_foreign_format(name, "1 2\n")) << name;
}

TEST(foreign_formats, gzip_in_gzip_is_refused) {
  scratch files;
  const auto file = files.write_gzip("a.el.gz", gzip("1 2\n"));
  EXPECT_EQ(error_of([&] { read_quietly(file); }).substr(0, 50), "amity: a.el.gz: this is gzip data inside gzip data");
}

TEST(foreign_formats, named_format_is_read) {
  scratch files;
  EXPECT_EQ(edges_text(read_quietly(files.write("a.json", "1 2\n"), "edges")), "1>2:1");
  EXPECT_EQ(edges_text(read_quietly(files.write("a.el", "digraph {\n"), "edges")), "digraph>{:1");
}

}  // namespace
}  // namespace amity::apps::graph::tests
