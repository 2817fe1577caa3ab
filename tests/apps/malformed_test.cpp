// Every malformed file gets an error with file, line or byte, and reason.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "scratch.hpp"

namespace amity::apps::graph::tests {
namespace {

struct malformed {
  std::string name, content;
  std::string reason;  ///< begins with where it is
};

class malformed_file : public ::testing::TestWithParam<malformed> {};

TEST_P(malformed_file, is_an_error_that_says_where_and_why) {
  scratch files;
  const auto& [name, content, reason] = GetParam();
  const auto file = files.write(name, content);
  const std::string message = error_of([&] { read_quietly(file); });
  EXPECT_TRUE(message.starts_with("amity: " + name + reason + "; ")) << message;
  EXPECT_GT(message.size(), name.size() + reason.size() + 12) << "a remedy follows: " << message;
}

INSTANTIATE_TEST_SUITE_P(text, malformed_file,
                         ::testing::ValuesIn(std::vector<malformed>{
                             {"a.el", "", ": the file is empty"},
                             {"a.el", "# nothing\n\n", ": there are no edges in it"},
                             {"a.el", "1 2\n3\n", ":2: vertex '3' has no target"},
                             {"a.el", "1 2 3 4\n", ":1: there are more than 3 columns"},
                             {"a.el", "1 2\n\n1 2 3\n", ":3: 3 columns, where the lines before have 2"},
                             {"a.el", "1 2\n2 -7\n", ":2: vertex -7 is negative"},
                             {"a.el", "18446744073709551616 1\n",
                              ":1: vertex 18446744073709551616 is greater than 18446744073709551615"},
                             {"a.el", "a b 1\nb c heavy\n", ":2: length 'heavy' is not a number"},
                             {"a.el", "a b 1x\n", ":1: length '1x' is not a number"},
                             {"a.el", "a b -0.5\n", ":1: length -0.5 is negative"},
                             {"a.el", "a b nan\n", ":1: length nan is not a number"},
                             {"a.el", "a b inf\n", ":1: length inf is not finite"},
                             {"a.el", "a b 1e400\n", ":1: length 1e400 is too large for double"},
                             {"a.el", "a b 1e-400\n", ":1: length 1e-400 is too small for double: it would become 0"},
                             {"a.el", "a b\n" + std::string(line_reader::line_bytes_max + 100, 'x'),
                              ":2: the line is longer than 1048576 bytes"}}));

std::string matrix(const std::string& rest) { return "%%MatrixMarket matrix coordinate real general\n" + rest; }

std::string integer_matrix(const std::string& entry) {
  return "%%MatrixMarket matrix coordinate integer general\n3 3 1\n" + entry;
}

INSTANTIATE_TEST_SUITE_P(
    matrix_market, malformed_file,
    ::testing::ValuesIn(std::vector<malformed>{
        {"a.mtx", "1 2\n", ":1: the file does not begin with %%MatrixMarket"},
        {"a.mtx", "%%MatrixMarket vector coordinate real general\n", ":1: the object 'vector' is not read"},
        {"a.mtx", "%%MatrixMarket matrix array real general\n", ":1: the layout 'array' is not read"},
        {"a.mtx", "%%MatrixMarket matrix coordinate complex general\n", ":1: the field 'complex' is not read"},
        {"a.mtx", "%%MatrixMarket matrix coordinate real hermitian\n", ":1: the symmetry 'hermitian' is not read"},
        {"a.mtx", matrix("% only comments\n"), ":2: the file ends before the line with the sizes"},
        {"a.mtx", matrix("3 3\n"), ":2: the number of entries is missing"},
        {"a.mtx", matrix("3 x 1\n"), ":2: the number of columns, 'x', is not a number that counts from 1"},
        {"a.mtx", matrix("3 99999999999999999999 1\n"),
         ":2: the number of columns, 99999999999999999999, is too large"},
        {"a.mtx", matrix("3 4 1\n1 1 1\n"),
         ":2: 3 rows and 4 columns are no square, so rows and columns are not the same vertices"},
        {"a.mtx", matrix("5000000000 5000000000 1\n"),
         ":2: 5,000,000,000 vertices are more than the 4,294,967,294 that fit"},
        {"a.mtx", matrix("400000000 400000000 1\n"), ":2: 400,000,000 vertices are not plausible for 1 edges"},
        {"a.mtx", matrix("10 10 2\n1 2 1\n12 1 1\n"), ":4: row 12 is greater than the number of rows, 10"},
        {"a.mtx", matrix("10 10 1\n1 11 1\n"), ":3: column 11 is greater than the number of columns, 10"},
        {"a.mtx", matrix("10 10 1\n0 1 1\n"), ":3: row 0, where rows count from 1"},
        {"a.mtx", matrix("10 10 1\n-1 1 1\n"), ":3: the row, '-1', is not a number that counts from 1"},
        {"a.mtx", matrix("10 10 1\n1\n"), ":3: the column is missing"},
        {"a.mtx", matrix("10 10 1\n1 2\n"), ":3: the value is missing"},
        {"a.mtx", matrix("10 10 1\n1 2 x\n"), ":3: value 'x' is not a number"},
        {"a.mtx", matrix("10 10 1\n1 2 -4\n"), ":3: value -4 is negative"},
        {"a.mtx", matrix("10 10 1\n1 2 3 4\n"), ":3: there is more on the line than one entry"},
        {"a.mtx", matrix("10 10 1 7\n1 2 3\n"), ":2: there is more on the line than the three sizes"},
        {"a.mtx", integer_matrix("1 2 7.5\n"), ":3: value '7.5' is not an integer, which the header states"},
        {"a.mtx", integer_matrix("1 2 1e3\n"), ":3: value '1e3' is not an integer, which the header states"},
        {"a.mtx", integer_matrix("1 2 +\n"), ":3: value '+' is not an integer, which the header states"},
        {"a.mtx", integer_matrix("1 2 inf\n"), ":3: value 'inf' is not an integer, which the header states"},
        {"a.mtx", integer_matrix("1 2\n"), ":3: the value is missing"},
        {"a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n1 2\n",
         ":4: entry (1, 2) is above the diagonal of a symmetric matrix"},
        {"a.mtx", matrix("10 10 3\n1 2 3\n"), ":2: the file has 1 entries, where its header says 3"},
        {"a.mtx", matrix("10 10 1\n1 2 3\n2 3 4\n"), ":2: the file has 2 entries, where its header says 1"}}));

INSTANTIATE_TEST_SUITE_P(
    metis, malformed_file,
    ::testing::ValuesIn(std::vector<malformed>{
        {"a.graph", "% nothing\n", ":1: the file ends before the line with the sizes"},
        {"a.graph", "3 x\n", ":1: the number of edges, 'x', is not a number that counts from 1"},
        {"a.graph", "3 1 12\n", ":1: the format '12' is not three digits of 0 or 1"},
        {"a.graph", "2 1 111 18446744073709551615\n1 2 1\n1 1 1\n",
         ":1: the number of weights, 18446744073709551615, is out of range"},
        {"a.graph", "2 1 10 18446744073709551615\n1 2 1\n1 1 1\n",
         ":1: the number of weights, 18446744073709551615, is out of range"},
        {"a.graph", "2 1 18446744073709551615\n2\n1\n",
         ":1: the format '18446744073709551615' is not three digits of 0 or 1"},
        {"a.graph", "18446744073709551615 1\n2\n1\n",
         ":1: 18,446,744,073,709,551,615 vertices are more than the 4,294,967,294 that fit"},
        {"a.graph", "2 1 0 1 5\n2\n1\n", ":1: there is more on the line than sizes, format and number of weights"},
        {"a.graph", "2 1\n2\n3\n", ":3: vertex 3 is greater than the number of vertices, 2"},
        {"a.graph", "2 1\n2\n2\n", ":3: vertex 2 is a neighbour of itself"},
        {"a.graph", "2 1 10\n1 2\n\n", ":3: the weight of the vertex is missing"},
        {"a.graph", "2 1 1\n2\n1 1\n", ":2: the weight is missing"},
        {"a.graph", "2 1\n2\n", ":2: the file ends after 1 of 2 vertices"},
        {"a.graph", "2 1\n2\n1\n\n1\n", ":5: there are more lines than the 2 vertices of the header"},
        {"a.graph", "3 2\n2 3\n1\n\n",
         ":1: 2 neighbours are greater than their vertex and 1 are smaller, so that some edge is "
         "listed by one end only"},
        {"a.graph", "2 2\n2\n1\n", ":1: the file has 1 edges, where its header says 2"}}));

INSTANTIATE_TEST_SUITE_P(dimacs, malformed_file,
                         ::testing::ValuesIn(std::vector<malformed>{
                             {"a.gr", "c only\n", ":1: the file ends before the line 'p sp'"},
                             {"a.gr", "a 1 2 3\n", ":1: the first line is not 'p sp'"},
                             {"a.gr", "p\n", ":1: the first line is not 'p sp'"},
                             {"a", "P SP 2 1\na 1 2 3\n", ":1: the first line is not 'p sp'"},
                             {"a", "c\np edge 2 1\ne 1 2\n", ":2: the DIMACS problem 'edge' is not read"},
                             {"a.gr", "p col 2 1\ne 1 2\n", ":1: the DIMACS problem 'col' is not read"},
                             {"a", "p\tmax 2 1\nn 1 s\n", ":1: the DIMACS problem 'max' is not read"},
                             {"a.gr", "p sp 2 1 3\na 1 2 3\n", ":1: there is more on the line than the two sizes"},
                             {"a.gr", "p sp 2 1\nb 1 2 3\n", ":2: 'b' begins neither an arc nor a comment"},
                             {"a.gr", "p sp 2 1\na 1 3 3\n", ":2: vertex 3 is greater than the number of vertices, 2"},
                             {"a.gr", "p sp 2 1\na 1 2\n", ":2: the length is missing"},
                             {"a.gr", "p sp 2 1\na 1 2 3 4\n", ":2: there is more on the line than one arc"},
                             {"a.gr", "p sp 2 2\na 1 2 3\n", ":1: the file has 1 arcs, where its header says 2"}}));

INSTANTIATE_TEST_SUITE_P(
    wordnet, malformed_file,
    ::testing::ValuesIn(std::vector<malformed>{
        {"data.noun", "1740 03 n 00 000 |\n", ":1: the offset '1740' is not 8 digits"},
        {"data.noun", "00001740 03 x 00 000 |\n", ":1: the part of speech 'x' is none of n, v, a, s and r"},
        {"data.noun", "00001740 03 n 01 entity 0 many |\n", ":1: the number of pointers, 'many', is not a number"},
        {"data.noun", "00001740 03 n 00 001 ~ 00001930 n\n", ":1: the mark of the pointer's words is missing"}}));

template <class... Words>
std::string binary(Words... words) {
  return (bytes_of(words) + ...);
}

INSTANTIATE_TEST_SUITE_P(
    graph500, malformed_file,
    ::testing::ValuesIn(std::vector<malformed>{
        {"a.packed", std::string(25, '\0'), ": 25 bytes are no multiple of 12, the size of an edge"},
        {"a.int64", std::string(17, '\0'), ": 17 bytes are no multiple of 16, the size of an edge"},
        {"a.int64", binary(std::int64_t{1}, std::int64_t{2}, std::int64_t{-5}, std::int64_t{0}),
         ": byte 16: vertex -5 is negative"},
        {"a.int64", binary(std::int64_t{1}, std::int64_t{1} << 40),
         ": byte 0: vertex 1099511627776 is greater than 4294967293"},
        {"a.packed", binary(std::uint32_t{0}, std::uint32_t{0}, std::uint16_t{0x8000}, std::uint16_t{0}),
         ": byte 0: vertex -140737488355328 is negative"},
        {"a.packed", binary(std::uint32_t{0}, std::uint32_t{0}, std::uint16_t{0}, std::uint16_t{1}),
         ": byte 0: vertex 4294967296 is greater than 4294967293"},
        {"a.packed", binary(std::uint32_t{4000000000}, std::uint32_t{0}, std::uint32_t{0}),
         ": 4,000,000,001 vertices are not plausible for 1 edges"},
        {"a.int64", binary(std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{10'000'000}),
         ": 10,000,001 vertices are not plausible for 2 edges"},
        {"a", std::string(1 << 20, '\0'), ": byte 16384: the 16384 bytes before are zeros"},
        {"a.packed", std::string(1200 * 12, '\0'), ": byte 12288: the 12288 bytes before are zeros"},
        {"a.int64", binary(std::int64_t{1}, std::int64_t{2}) + std::string(20'000, '\0'),
         ": byte 16400: the 16384 bytes before are zeros"},
        {"a.int64", std::string(160, '\0'), ": all 10 edges lead from vertex 0 to itself"}}));

TEST(malformed_input, gigabyte_of_zeros_fails_soon) {
  scratch files;
  const auto file = files.write("zeros", "");
  std::filesystem::resize_file(file, std::size_t{1} << 30);
  progress quiet(progress::style::off);
  edge_list graph;
  input from(file, quiet);
  EXPECT_NE(error_of([&] { read_graph500_int64(from, {}, graph); }), "no error");
  EXPECT_LT(from.bytes_returned(), std::size_t{1} << 20);
}

TEST(malformed_input, third_column_is_a_number_even_if_lengths_are_not_used) {
  scratch files;
  const auto without_data = files.write("networkx", "0 1 {}\n1 2 {}\n");
  read_quietly(without_data, {}, false);
  EXPECT_NE(error_of([&] { read_quietly(without_data, {}, true); }).find(":1: length '{}' "), std::string::npos);
  for (const auto& [content, why] : std::vector<std::array<std::string, 2>>{
           {"YMR056C pp YOL081W\n",
            ":1: length 'YOL081W' is not a number; write 'source target' or 'source target "
            "length' on each line; in a CSV file, remove the line with names of columns, and in "
            "a SIF file the column of interactions"},
           {"source,target,weight\n1,2,5\n", ":1: length 'weight' is not a number; "},
           {"# \n1 2 5\n2 3 x\n", ":3: length 'x' is not a number; "},
           {"a;b;1.5.2\n", ":1: length '1.5.2' is not a number; "},
           {"a b 0x10\n", ":1: length '0x10' is not a number; "},
           {"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 x\n", ":3: value 'x' is not a number; "},
           {"p sp 2 1\na 1 2 x\n", ":2: length 'x' is not a number; "}}) {
    const auto file = files.write("a", content);
    for (const bool with_lengths : {false, true}) {
      const std::string message = error_of([&] { read_quietly(file, {}, with_lengths); });
      EXPECT_TRUE(message.starts_with("amity: a" + why)) << message;
    }
  }
}

TEST(malformed_input, text_with_a_nul_byte) {
  scratch files;
  const auto file = files.write("a.el", std::string("1 2\n1\0 3\n", 9));
  EXPECT_EQ(error_of([&] { read_quietly(file, "edges"); }),
            "amity: a.el:2: there is a NUL byte: this is not text; see --format");
}

TEST(malformed_input, gzip_that_ends_early) {
  scratch files;
  std::string content;
  for (int i = 0; i < 20000; ++i) content += std::to_string(i * 7919 % 20011) + " " + std::to_string(i) + "\n";
  const auto file = files.write_gzip("a.el.gz", content, 1000);
  EXPECT_EQ(error_of([&] { read_quietly(file); }),
            "amity: a.el.gz: byte 1000: the gzip stream ends before its end mark; fetch or write the file again");
}

TEST(malformed_input, damaged_gzip) {
  scratch files;
  auto file = files.write_gzip("a.el.gz", std::string(5000, 'x') + "1 2\n");
  std::string bytes = std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10) + std::string(40, '\xff');
  file = files.write("b.el.gz", bytes);
  const std::string message = error_of([&] { read_quietly(file); });
  EXPECT_TRUE(message.starts_with("amity: b.el.gz: byte ")) << message;
  EXPECT_NE(message.find("the gzip stream is damaged (invalid "), std::string::npos) << message;
}

TEST(malformed_input, trailing_bytes_after_gzip_fail) {
  scratch files;
  const std::string packed = gzip("1 2\n");
  for (const std::string& rest : {std::string("garbage"), std::string("x"), std::string(512, '\0'),
                                  std::string("\x1f\x8b\x07"), std::string("1 2\n")}) {
    const auto file = files.write("a.el.gz", packed + rest);
    EXPECT_EQ(
        error_of([&] { read_quietly(file); }),
        fmt::format("amity: a.el.gz: byte {}: bytes follow the end of the gzip data; fetch or write the file again",
                    packed.size()));
  }
}

TEST(malformed_input, every_truncated_gzip_fails) {
  scratch files;
  const std::string packed = gzip("1 2\n") + gzip("3 4\n");
  const std::size_t first_member = gzip("1 2\n").size();
  for (std::size_t kept = 4; kept < packed.size(); ++kept) {
    const std::string message = error_of([&] { read_quietly(files.write("a.el.gz", packed.substr(0, kept))); });
    if (kept == first_member) {
      EXPECT_EQ(message, "no error");
    } else if (kept > first_member && kept < first_member + 4) {
      EXPECT_NE(message.find("bytes follow the end of the gzip data"), std::string::npos) << kept << message;
    } else {
      EXPECT_NE(message.find("the gzip stream ends before its end mark"), std::string::npos) << kept << message;
    }
  }
}

TEST(malformed_input, wrong_gzip_checksum_fails) {
  scratch files;
  std::string packed = gzip("1 2\n");
  packed[packed.size() - 8] ^= 1;
  EXPECT_NE(error_of([&] { read_quietly(files.write("a.el.gz", packed)); }).find("incorrect data check"),
            std::string::npos);
}

TEST(malformed_input, missing_file_and_folder) {
  scratch files;
  EXPECT_EQ(error_of([&] { read_quietly(files.folder() / "none.el"); }),
            "amity: " + (files.folder() / "none.el").string() +
                ": No such file or directory; check the name and the permissions of the file");
  EXPECT_EQ(error_of([&] { read_quietly(files.folder()); }),
            "amity: " + files.folder().string() + ": this is a directory; name a file in it");
}

}  // namespace
}  // namespace amity::apps::graph::tests
