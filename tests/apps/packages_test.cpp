#include "apps/graph/input/packages.hpp"

#include <gtest/gtest.h>

#include "apps/graph/input/debian_version.hpp"
#include "scratch.hpp"

namespace amity::apps::graph::tests {
namespace {

constexpr std::string_view lists = R"(Package: editor
Version: 2.0-1
Depends: libc6 (>= 2.36), libgui | libtui:any,
 terminal [linux-any] <!nocheck>, missing
Pre-Depends: base
Description: Depends: nothing that is written here
 Provides: nor here
Size: 2500000

Package: libc6
Version: 2.36
Size: 1000000

Package: libgui
Version: 1:1.0
Provides: libui (= 1.0), gui-abi-4
Depends: libc6, libui
Size: 500000

Package: libtui
Version: 3
Provides: libui
Depends: libc6

Package: xterm
Provides: terminal
Version: 9
Size: 250000

Package: kterm
Provides: terminal, editor
Version: 9
Size: 750000
Pre-Depends: editor

Package: base
Version: 1
)";

constexpr std::string_view updates = R"(
Package: libtui
Version: 3+u1
Provides: libui
Depends: base

Package: editor
Version: 1.9-5
Depends: base
)";

edge_list read_folder(const std::filesystem::path& folder, bool reverse = false) {
  progress quiet(progress::style::off);
  return read_packages(folder, reverse, quiet);
}

TEST(packages, edges_go_to_all_that_can_satisfy_a_dependency) {
  scratch files;
  files.write("deb.example_dists_stable_main_binary-amd64_Packages", lists);
  files.write("deb.example_dists_stable_InRelease", "Package: not-a-list\n");
  const edge_list graph = read_folder(files.folder());
  EXPECT_EQ(graph.vertices(), 7u);
  EXPECT_EQ(edges_text(graph),
            "editor>libc6:1 editor>libgui:0.5 editor>libtui:0 editor>xterm:0.25 editor>kterm:0.75 editor>base:0 "
            "libgui>libc6:1 libgui>libgui:0.5 libgui>libtui:0 "
            "libtui>libc6:1 "
            "kterm>editor:2.5")
      << "a real package hides those that provide its name; what nothing satisfies gives no edge";
}

TEST(packages, reverse_edges_cost_what_they_lead_to) {
  scratch files;
  files.write("a_Packages", "Package: a\nDepends: b\nSize: 3000000\n\nPackage: b\nSize: 1000000\n");
  EXPECT_EQ(edges_text(read_folder(files.folder())), "a>b:1");
  EXPECT_EQ(edges_text(read_folder(files.folder(), true)), "b>a:3");
}

TEST(packages, the_newest_version_counts_whatever_the_order_of_lists) {
  for (const bool updates_first : {false, true}) {
    scratch files;
    files.write(updates_first ? "b_Packages" : "a_Packages", lists);
    files.write_gzip(updates_first ? "a_Packages.gz" : "b_Packages.gz", updates);
    const edge_list graph = read_folder(files.folder());
    EXPECT_EQ(graph.vertices(), 7u);
    const std::string edges = edges_text(graph);
    EXPECT_NE(edges.find("libtui>base"), std::string::npos) << edges;
    EXPECT_EQ(edges.find("libtui>libc6"), std::string::npos) << edges;
    EXPECT_NE(edges.find("editor>libc6"), std::string::npos) << edges;
  }
}

TEST(packages, no_lists_and_how_to_get_them) {
  scratch files;
  EXPECT_EQ(error_of([&] { read_folder(files.folder()); }),
            "amity: " + files.folder().string() +
                ": there are no package lists; run apt-get update, or name a file with a graph");
  EXPECT_TRUE(find_package_lists(files.folder() / "none").empty());
}

TEST(packages, malformed_lists) {
  const auto error_for = [](std::string_view list) {
    scratch files;
    files.write("x_Packages", list);
    return error_of([&] { read_folder(files.folder()); });
  };
  EXPECT_EQ(error_for("Package: a\nnonsense\n"),
            "amity: x_Packages:2: there is no 'Field:' on the line; run apt-get update");
  EXPECT_EQ(error_for("Version: 1\n\nPackage: a\n"),
            "amity: x_Packages:2: the stanza that ends here names no Package; run apt-get update");
  EXPECT_EQ(error_for("Package: a\nSize: big\n"),
            "amity: x_Packages:2: the size 'big' is not a number of bytes; run apt-get update");
  EXPECT_NE(error_for("\n\n").find("the package lists are empty; run apt-get update"), std::string::npos);
}

/// Reads all that a command prints.
std::string output_of(const std::vector<std::string>& command) {
  progress quiet(progress::style::off);
  input from(command, "list", quiet);
  std::string all;
  for (auto block = from.next_block(); !block.empty(); block = from.next_block())
    all.append(block.data(), block.size());
  return all;
}

TEST(input, reads_what_a_command_prints) {
  EXPECT_EQ(output_of({"/bin/echo", "Package: a"}), "Package: a\n");
  EXPECT_EQ(error_of([] { output_of({"/bin/false"}); }),
            "amity: list: the command that unpacks it failed with wait status 256; run apt-get update");
  EXPECT_EQ(error_of([] { output_of({"/no/such/command"}); }),
            "amity: list: cannot run /no/such/command: No such file or directory; install the package that has it");
}

TEST(input, may_be_left_before_the_command_has_printed_all) {
  progress quiet(progress::style::off);
  input from({"/bin/sh", "-c", "while echo something; do :; done"}, "list", quiet);
  EXPECT_EQ(from.next_block().size(), turns().block_bytes);
}

TEST(compare_versions, follows_the_policy_manual) {
  const char* rising[] = {"1.0~~",    "1.0~~a",  "1.0~",  "1.0~rc1", "1.0",      "1.0-0+b1", "1.0-1",
                          "1.0-1+b1", "1.0-1.1", "1.0-2", "1.0-10",  "1.0a",     "1.0+dfsg", "1.0.1",
                          "1.2",      "1.10",    "1:0.1", "1:0.1-1", "2:0.0.9a", "2:0.0.9.1"};
  for (std::size_t i = 0; i < std::size(rising); ++i) {
    for (std::size_t j = 0; j < std::size(rising); ++j) {
      const int order = compare_versions(rising[i], rising[j]);
      EXPECT_EQ(order < 0, i < j) << rising[i] << ' ' << rising[j];
      EXPECT_EQ(order > 0, i > j) << rising[i] << ' ' << rising[j];
    }
  }
  EXPECT_EQ(compare_versions("1.0", "0:1.0-0"), 0);
  EXPECT_EQ(compare_versions("1.00", "1.0"), 0);
}

}  // namespace
}  // namespace amity::apps::graph::tests
