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
                      foreign_file{"a.json", "1 2\n", "JSON"}, foreign_file{"a.h5", "1 2\n", "HDF5"}));

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
        foreign_file{"a", "# a comment\nCreator \"by hand\"\nVersion 1\ngraph\n[\n  directed 1\n", "GML"}));

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
