// `amity graph` as a user drives it: through the command, on shared memory unless said otherwise.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "amity/base/random.hpp"
#include "scratch.hpp"
#include "tests/tools/child.hpp"

namespace amity::apps::graph::tests {
namespace {

using amity::tests::child;
using amity::tests::contains;
using amity::tests::expect_failure;
using amity::tests::outcome;

outcome graph(std::vector<std::string> arguments, amity::tests::child_options options = {}) {
  arguments.insert(arguments.begin(), "graph");
  return child(amity::tests::amity_command(std::move(arguments)), options).finish();
}

/// `amity graph ARGUMENTS` as words of a shell command.
std::string graph_line(const std::string& arguments) { return fmt::format("{} graph {}", AMITY_COMMAND, arguments); }

outcome shell(const std::string& line) { return child({"sh", "-c", line}).finish(); }

/// What a command that succeeds prints.
nlohmann::json json_of(const outcome& ended) {
  EXPECT_EQ(ended.status, 0) << ended.errors;
  return nlohmann::json::parse(ended.output);
}

nlohmann::json result_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--json", "-", "--no-progress"});
  const outcome ended = graph(arguments);
  EXPECT_EQ(ended.errors, "");
  return json_of(ended);
}

/// Standard error begins with this.
void expect_message(const outcome& ended, const std::string& beginning, int status = 1) {
  EXPECT_EQ(ended.status, status) << beginning;
  EXPECT_TRUE(ended.errors.starts_with(beginning)) << "'" << beginning << "' does not begin: " << ended.errors;
}

/// An undirected random graph as text.
std::string random_edges(std::uint64_t seed) {
  splitmix64 random(seed);
  std::string text;
  for (int i = 0; i < 6000; ++i) {
    text += fmt::format("v{} v{}\n", random.below(2000), random.below(2000));
  }
  return text;
}

/// What must not depend on ranks and fabrics.
nlohmann::json answer_in(nlohmann::json result) {
  for (const char* key : {"ranks", "fabric", "virtual_time", "repeats", "seconds", "edges_per_second", "messages",
                          "packets", "bytes", "messages_per_packet", "threads", "buckets"}) {
    result.erase(key);
  }
  for (auto& far : result["farthest"]) far.erase("path");  // there may be several that are as short
  return result;
}

TEST(graph_command, answers_the_same_on_any_number_of_ranks_and_every_fabric) {
  scratch files;
  const auto file = files.write("random.el", random_edges(1)).string();
  for (const std::string search : {"bfs", "sssp"}) {
    const auto one = result_of({search, file, "--root", "v7", "--undirected"});
    EXPECT_TRUE(one["verified"]);
    EXPECT_EQ(one["messages"], 0);
    EXPECT_GT(one["reached"], 1900);
    for (const std::string fabric : {"shm", "threads", "sim"}) {
      for (const std::string ranks : {"2", "3", "4", "8"}) {
        const auto several = result_of({search, file, "--root", "v7", "--undirected", "-n", ranks, "--fabric", fabric});
        EXPECT_EQ(answer_in(several), answer_in(one)) << search << ' ' << fabric << ' ' << ranks;
        EXPECT_EQ(several["ranks"], std::stoi(ranks));
        EXPECT_EQ(several["fabric"], fabric);
        EXPECT_EQ(several["virtual_time"], fabric == "sim");
        EXPECT_GT(several["messages"], 0);
        EXPECT_GE(several["messages_per_packet"], 1);
      }
    }
  }
}

TEST(graph_command, runs_every_kernel_on_ranks_with_threads) {
  scratch files;
  const auto file = files.write("random.el", random_edges(5)).string();
  for (const std::string kernel : {"bfs", "sssp", "components", "pagerank", "triangles", "spmv", "explore"}) {
    const auto one = result_of({kernel, file, "--undirected", "--seed", "3"});
    EXPECT_EQ(one["verified"], true) << kernel;
    for (const std::string fabric : {"shm", "threads", "sim"}) {
      const auto several = result_of({kernel, file, "--undirected", "--seed", "3", "-n", "3", "-t", "2", "--fabric",
                                      fabric, "--distribution", "hash"});
      EXPECT_EQ(several["verified"], true) << kernel << ' ' << fabric;
      EXPECT_EQ(several["threads"], 2);
      for (const char* same : {"reached", "components", "largest", "triangles", "entries"}) {
        if (one.contains(same)) {
          EXPECT_EQ(several[same], one[same]) << kernel << ' ' << same;
        }
      }
    }
  }
  for (const std::string kernel : {"histogram", "gather"}) {
    EXPECT_EQ(result_of({kernel, "-n", "3", "-t", "2", "--slots", "1000", "--updates", "5000"})["verified"], true);
  }
}

TEST(graph_command, answers_are_right_on_graphs_that_people_have_made) {
  for (const std::string file : {"/usr/share/doc/libmetis-dev/examples/graphs/mdual.graph", "/usr/share/wordnet"}) {
    ASSERT_TRUE(std::filesystem::exists(file)) << "`scripts/setup test` installs libmetis-doc and wordnet-base";
    for (const std::string kernel : {"bfs", "sssp", "components", "triangles"}) {
      EXPECT_EQ(result_of({kernel, file, "-n", "2", "--repeat", "1"})["verified"], true) << kernel << ' ' << file;
    }
  }
}

TEST(graph_command, graph500_counts_roots_in_small_components) {
  scratch files;
  const auto json = (files.folder() / "out.json").string();
  const outcome ended =
      graph({"graph500", "--scale", "9", "--edge-factor", "1", "-n", "2", "--no-progress", "--json", json});
  EXPECT_EQ(ended.status, 0) << ended.errors;
  const auto result = nlohmann::json::parse(contents(json));
  const auto small = result["small_component_roots"].get<int>();
  EXPECT_GT(small, 0);
  EXPECT_LT(small, 64);
  EXPECT_PRED2(contains, ended.output, fmt::format("small_component_roots:          {}\n", small));
  for (const std::string part : {"SCALE:                          9\n", "sssp weight_type:               float32\n",
                                 "bfs  harmonic_mean_TEPS:     !  ", "sssp max_validate:"}) {
    EXPECT_PRED2(contains, ended.output, part);
  }
  EXPECT_EQ(result["searches"].size(), 64u);
  EXPECT_EQ(std::ranges::count_if(result["searches"], [](const auto& each) { return bool{each["small_component"]}; }),
            small);
  for (const char* kernel : {"bfs", "sssp"}) {
    EXPECT_GT(result[kernel]["harmonic_mean_teps_without_small"], 0) << kernel;
    EXPECT_GT(result[kernel]["harmonic_mean_teps"], 0) << kernel;
  }
  EXPECT_EQ(result["sssp"]["weight_type"], "float32");
  const auto four = json_of(graph({"graph500", "--scale", "8", "--repeat", "4", "--json", "-", "--no-progress"}));
  EXPECT_EQ(four["searches"].size(), 4u);
}

TEST(graph_command, names_components_alike_on_any_number_of_ranks) {
  scratch files;
  std::string text = random_edges(2);
  text.resize(text.find('\n', text.size() / 8) + 1);  // so that there are many
  const auto file = files.write("random.el", text).string();
  const auto found = files.folder() / "found";
  result_of({"components", file, "--output", found.string()});
  const std::string one = contents(found);
  for (const std::string owners : {"block", "cyclic", "hash"}) {
    result_of({"components", file, "-n", "3", "-t", "2", "--distribution", owners, "--output", found.string()});
    EXPECT_EQ(contents(found), one) << owners;
  }
}

TEST(graph_command, writes_what_it_has_found_about_each_vertex) {
  scratch files;
  const auto file = files.write("a.el", "a b\nb c\nd e\n").string();
  const auto found = files.folder() / "found";
  const auto written_by = [&](const std::string& kernel) {
    result_of({kernel, file, "-n", "2", "--output", found.string()});
    return contents(found);
  };
  result_of({"bfs", file, "--root", "a", "-n", "3", "--output", found.string()});
  EXPECT_EQ(contents(found), "a 0 a\nb 1 a\nc 2 b\n");
  EXPECT_EQ(written_by("components"), "a a\nb a\nc a\nd d\ne d\n");
  EXPECT_EQ(std::ranges::count(written_by("pagerank"), '\n'), 5);
  EXPECT_EQ(std::ranges::count(written_by("spmv"), '\n'), 5);
  expect_failure(graph({"bfs", file, "-n", "2", "--output", "/nowhere/found", "--no-progress"}), "/nowhere/found");
}

TEST(graph_command, joins_a_job_that_runs_already) {
  scratch files;
  const auto file = files.write("random.el", random_edges(2)).string();
  auto command = amity::tests::amity_command({"run", "-n", "3"});
  for (const auto& word :
       amity::tests::amity_command({"graph", "bfs", file, "-n", "8", "--json", "-", "--no-progress"})) {
    command.push_back(word);
  }
  EXPECT_EQ(json_of(child(command).finish())["ranks"], 3);
}

TEST(graph_command, takes_ranks_and_fabric_from_the_environment) {
  scratch files;
  const auto file = files.write("a.el", "1 2\n").string();
  const auto result =
      json_of(graph({"bfs", file, "--json", "-"}, {.environment = {"AMITY_RANKS=2", "AMITY_FABRIC=threads"}}));
  EXPECT_EQ(result["ranks"], 2);
  EXPECT_EQ(result["fabric"], "threads");
}

TEST(graph_command, prints_a_report_and_writes_json_beside_it) {
  scratch files;
  const auto file = files.write("chain.csv", "a,b,2\nb,c,3\n").string();
  const auto json = files.folder() / "out.json";
  const outcome ended = graph({"sssp", file, "--root", "a", "-n", "2", "--json", json.string()});
  EXPECT_EQ(ended.status, 0);
  EXPECT_PRED2(contains, ended.output, "Shortest paths from a over chain.csv\n");
  EXPECT_PRED2(contains, ended.output, "  checked               distances and paths are right, by Graph500's rules\n");
  EXPECT_PRED2(contains, ended.output, "a -> b -> c\n");
  EXPECT_TRUE(std::filesystem::file_size(json) > 100);
  EXPECT_PRED2(contains, ended.errors, "reading chain.csv: 3 vertices, 2 edges (");
  EXPECT_PRED2(contains, ended.errors, "checking: distances and paths are right, by Graph500's rules (");
  EXPECT_EQ(ended.errors.find('\r'), std::string::npos) << "no terminal, no bar";
}

TEST(graph_command, draws_a_bar_on_a_terminal) {
  scratch files;
  const auto file = files.write("random.el", random_edges(3)).string();
  const outcome ended = graph({"bfs", file, "-n", "2"}, {.environment = {"TERM=xterm"}, .terminal = true});
  EXPECT_NE(ended.output.find("\r\x1b[Kreading random.el: [####"), std::string::npos) << ended.output;
  const outcome dumb = graph({"bfs", file, "-n", "2"}, {.environment = {"TERM=dumb"}, .terminal = true});
  EXPECT_EQ(dumb.output.find("\x1b["), std::string::npos) << dumb.output;
}

TEST(graph_command, lengths_of_every_choice_are_verified) {
  scratch files;
  const auto file = files.write("random.el", random_edges(4)).string();
  std::string floats;
  for (int i = 0; i < 6000; ++i) floats += bytes_of(static_cast<float>(i % 17) / 4);
  const auto weights = files.write("weights", floats).string();
  for (const std::string choice : {"unit", "uniform", "integer", "input", weights.c_str()}) {
    const auto result = result_of({"sssp", file, "-n", "2", "--weights", choice, "--seed", "9"});
    EXPECT_TRUE(result["verified"]) << choice;
  }
  const auto hops = result_of({"sssp", file, "--root", "v1", "--weights", "unit", "--top", "1"});
  const auto levels = result_of({"bfs", file, "--root", "v1", "--top", "1"});
  EXPECT_EQ(hops["farthest"][0]["distance"], levels["farthest"][0]["distance"]);
}

TEST(graph_command, walks_edges_backwards_and_both_ways) {
  scratch files;
  const auto file = files.write("a.el", "a b\nc b\n").string();
  EXPECT_EQ(result_of({"bfs", file, "--root", "a"})["reached"], 2);
  EXPECT_EQ(result_of({"bfs", file, "--root", "b"})["reached"], 1);
  EXPECT_EQ(result_of({"bfs", file, "--root", "b", "--reverse"})["reached"], 3);
  EXPECT_EQ(result_of({"bfs", file, "--root", "a", "--undirected"})["reached"], 3);
}

TEST(graph_command, chooses_a_root_that_reaches_far) {
  scratch files;
  const auto file =
      files.write("a.el", "dead-end x1\ndead-end x2\ndead-end x3\nstart s1\nstart s2\ns1 t1\nt1 u1\nu1 w1\n");
  EXPECT_EQ(result_of({"bfs", file.string()})["root"], "start");
}

TEST(graph_command, searches_the_packages_of_a_folder_of_lists) {
  scratch files;
  files.write("x_Packages",
              "Package: gnome\nDepends: shell\n\nPackage: shell\nDepends: libc\nSize: 2000000\n\n"
              "Package: libc\nSize: 500000\n");
  const auto lists = files.folder().string();
  const auto bfs = result_of({"bfs", "--packages", "--lists", lists, "-n", "2"});
  EXPECT_EQ(bfs["root"], "gnome") << "a package that is known to reach far";
  EXPECT_EQ(bfs["farthest"][0]["path"], (nlohmann::json{"gnome", "shell", "libc"}));
  const auto sssp = result_of({"sssp", "--lists", lists});
  EXPECT_EQ(sssp["farthest"][0]["distance"], 2.5);
  EXPECT_EQ(sssp["unit"], "MB");
  const auto reverse = result_of({"bfs", "--lists", lists, "--reverse", "--root", "libc"});
  EXPECT_EQ(reverse["farthest"][0]["path"], (nlohmann::json{"libc", "shell", "gnome"}));
}

TEST(graph_command, a_graph_of_our_own_stands_in_where_there_are_no_lists) {
  scratch files;
  const outcome ended = graph({"sssp", "--lists", files.folder().string(), "-n", "2", "--json", "-"});
  EXPECT_PRED2(contains, ended.errors,
               "there are no package lists in " + files.folder().string() + " (apt-get update fetches them)");
  const auto result = json_of(ended);
  EXPECT_EQ(result["root"], "boost/beast.hpp");
  EXPECT_EQ(result["vertices"], 1534);
  EXPECT_EQ(result["edges"], 7011);
  EXPECT_EQ(result["reached"], 1534);
  EXPECT_EQ(result["unit"], "kB");
  EXPECT_TRUE(result["verified"]);
  expect_message(graph({"bfs", "--packages", "--lists", files.folder().string()}),
                 "amity: " + files.folder().string() + ": there are no package lists; run apt-get update");
}

TEST(graph_command, mistakes_are_explained_once_and_end_all_ranks) {
  scratch files;
  const auto file = files.write("a.el", "gnome b\nb gnote\n").string();
  const outcome root = graph({"bfs", file, "--root", "gnmoe", "-n", "3", "--no-progress"});
  EXPECT_EQ(root.status, 1);
  EXPECT_TRUE(root.errors.starts_with("amity: --root: there is no vertex 'gnmoe'; did you mean gnome, gnote?\n"))
      << root.errors;
  EXPECT_EQ(root.errors.find("--root"), root.errors.rfind("--root")) << "one rank says it: " << root.errors;
  const auto broken = files.write("broken.mtx", "%%MatrixMarket matrix coordinate pattern general\n10 10 1\n12 1\n");
  expect_message(graph({"bfs", broken.string(), "-n", "2"}),
                 "amity: broken.mtx:3: row 12 is greater than the number of rows, 10; write the file again, ");
}

TEST(graph_command, looks_at_the_files_that_it_will_write_before_it_reads_a_graph) {
  for (const std::string option : {"--json", "--output"}) {
    expect_message(graph({"bfs", "no_such_graph", option, "/none/x", "-n", "2"}),
                   "amity: " + option + ": /none/x: No such file or directory; name a file that can be written\n");
  }
}

TEST(graph_command, output_onto_input_is_refused) {
  scratch files;
  const auto& folder = files.folder();
  const std::string text = "a b\nb c\n";
  const auto file = files.write("a.el", text);
  std::filesystem::create_symlink("a.el", folder / "link");
  std::filesystem::create_hard_link(file, folder / "hard");
  std::filesystem::create_directory_symlink(".", folder / "here");
  for (const std::string option : {"--output", "--json"}) {
    for (const std::string name : {"a.el", "./a.el", "link", "hard", "here/link"}) {
      const std::string to = (folder / name).string();
      expect_message(graph({"bfs", file.string(), option, to, "-n", name == "link" ? "2" : "1"}),
                     "amity: " + option + ": " + to + ": this is the same file as the input " + file.string() +
                         "; name another file\n");
    }
    EXPECT_EQ(graph({"bfs", (folder / "link").string(), option, file.string()}).status, 1);
    expect_failure(shell(graph_line(fmt::format("bfs - {} {} < {}", option, file.string(), file.string()))),
                   "this is the same file as the input -; name another file");
  }
  for (const std::string options : {"", "--output out", "--json out"}) {
    const auto line = fmt::format("bfs {} {} >> {}", file.string(), options, file.string());
    expect_failure(shell(fmt::format("cd {} && {}", folder.string(), graph_line(line))),
                   "redirect standard output to another file");
  }
  EXPECT_EQ(contents(file), text);
}

TEST(graph_command, output_onto_other_inputs_is_refused) {
  scratch files;
  const auto file = files.write("a.el", "a b\n").string();
  const auto weights = files.write("weights", bytes_of(1.5f)).string();
  const auto list = files.write("x_Packages", "Package: gnome\n").string();
  const auto lists = files.folder().string();
  for (const auto& name : {"data.noun", "data.verb", "data.adj", "data.adv"}) files.write(name, "");
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"sssp", file, "--weights", weights, "--json", weights},
                                             {"spmv", file, "--weights", weights, "--output", weights},
                                             {"bfs", "--lists", lists, "--output", list},
                                             {"bfs", lists, "--output", lists + "/data.adj"},
                                             {"bfs", lists, "--json", lists + "/data.noun"}}) {
    expect_failure(graph(line), line.back() + ": this is the same file as the input ");
  }
  EXPECT_EQ(contents(weights), bytes_of(1.5f));
  EXPECT_EQ(graph({"bfs", file, "--root", "a", "--output", weights}).status, 0) << "bfs does not read lengths";
}

TEST(graph_command, outputs_onto_one_file_are_refused) {
  scratch files;
  const auto& folder = files.folder();
  const auto file = files.write("a.el", "a b\n").string();
  const auto old = files.write("old", "old");
  std::filesystem::create_symlink("old", folder / "link");
  std::filesystem::create_hard_link(old, folder / "hard");
  std::filesystem::create_directory_symlink(".", folder / "here");
  std::filesystem::create_symlink("new", folder / "dangling");
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  const auto at = [&](const std::string& name) { return name[0] == '/' ? name : (folder / name).string(); };
  for (const auto& [output, json] :
       {std::pair("old", "old"), std::pair("old", "link"), std::pair("hard", "old"), std::pair("new", "new"),
        std::pair("new", "here/new"), std::pair("fifo", "fifo"), std::pair("/dev/stdout", "/dev/fd/1")}) {
    const outcome ended = graph({"bfs", file, "--output", at(output), "--json", at(json)});
    EXPECT_EQ(ended.status, 1) << output << ' ' << json;
    EXPECT_EQ(ended.errors, fmt::format("amity: --json: {}: this is the same file as --output {}; name another file\n",
                                        at(json), at(output)));
  }
  for (const auto& [output, json] : {std::pair("dangling", "dangling"), std::pair("new", "dangling")}) {
    expect_failure(graph({"bfs", file, "--output", at(output), "--json", at(json)}), "dangling: the link leads to ");
  }
  expect_message(graph({"bfs", file, "--output", "-", "--json", "-"}),
                 "amity graph: --output - and --json - both use standard output; name a file for one of them\n", 2);
  for (const std::string option : {"--output", "--json"}) {
    expect_failure(shell(graph_line(fmt::format("bfs {} {} {} > {}", file, option, at("new"), at("new")))),
                   "this is the same file as standard output; use " + option + " -");
  }
  EXPECT_EQ(contents(old), "old");
  EXPECT_EQ(graph({"bfs", file, "--output", "/dev/null", "--json", "/dev/null"}).status, 0);
}

TEST(graph_command, dash_writes_standard_output) {
  scratch files;
  const auto file = files.write("random.el", random_edges(1)).string();
  const auto found = files.write("found", "").string(), json = files.write("json", "").string();
  result_of({"components", file, "--output", found});
  for (const std::string name : {"-", "/dev/stdout"}) {
    for (const std::string fabric : {"shm", "threads", "sim"}) {
      const outcome ended = graph({"components", file, "--output", name, "-n", "3", "--fabric", fabric});
      EXPECT_EQ(ended.status, 0) << ended.errors;
      EXPECT_EQ(ended.output, contents(found)) << name << fabric;
      EXPECT_PRED2(contains, ended.errors, "components of random.el\n") << "the report";
    }
  }
  EXPECT_EQ(graph({"components", file, "--output", "-", "--json", json}).output, contents(found));
  EXPECT_EQ(nlohmann::json::parse(contents(json))["kernel"], "components");
  const outcome both =
      shell(graph_line(fmt::format("components {} --output /dev/fd/3 --no-progress -n 2 --json - 3> {}", file, json)));
  EXPECT_EQ(nlohmann::json::parse(both.output)["kernel"], "components");
  EXPECT_EQ(contents(json), contents(found));
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST(graph_command, fifo_takes_output_of_several_ranks) {
  scratch files;
  const auto fifo = (files.folder() / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const auto file = files.write("a.el", "a b\nb c\n").string();
  for (const std::string ranks : {"1", "3"}) {
    const outcome ended =
        shell(fmt::format("{} >&2 & cat {}; wait $!",
                          graph_line(fmt::format("bfs {} --root a --output {} -n {}", file, fifo, ranks)), fifo));
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_EQ(ended.output, "a 0 a\nb 1 a\nc 2 b\n");
  }
}

TEST(graph_command, failed_outputs_are_errors) {
  scratch files;
  const auto file = files.write("a.el", "a b\n").string();
  const auto found = files.write("found", "old").string();
  for (const std::string ranks : {"1", "2"}) {
    const std::string search = graph_line(fmt::format("bfs {} --root a --no-progress -n {} ", file, ranks));
    for (const auto& [rest, where] :
         {std::pair("--output - > /dev/full", "standard output"), std::pair("--output /dev/full", "/dev/full"),
          std::pair("--json /dev/full", "/dev/full"), std::pair("--json - > /dev/full", "standard output"),
          std::pair("> /dev/full", "standard output")}) {
      expect_message(shell(search + rest), fmt::format("amity: {}: No space left on device; ", where));
    }
    EXPECT_EQ(shell(search + ">&-").status, 1);
    EXPECT_EQ(shell(search + "--output - >/dev/null 2>/dev/full").status, 1) << "the report is lost";
  }
  const outcome full = shell(graph_line(fmt::format("bfs {} --root a -n 2 --output {} 2>/dev/full", file, found)));
  EXPECT_EQ(full.status, 1) << "lines of progress are lost";
  EXPECT_EQ(contents(found), "a 0 a\nb 1 a\n") << "but not the output";
  EXPECT_EQ(shell(graph_line(fmt::format("bfs {} --root a 2>&-", file))).status, 0) << "progress is not shown";
}

TEST(graph_command, made_graphs_have_the_lengths_and_directions_that_are_asked_for) {
  const auto unit = result_of({"sssp", "--erdos-renyi", "6", "--root", "3", "--weights", "unit", "--top", "1"});
  const auto hops = result_of({"bfs", "--erdos-renyi", "6", "--root", "3", "--top", "1"});
  EXPECT_EQ(unit["farthest"][0]["distance"], hops["farthest"][0]["distance"]);
  const auto whole = result_of({"sssp", "--kronecker", "6", "--weights", "integer", "--top", "1"});
  EXPECT_EQ(whole["weights"], "integers from 1 to 255, seed 1");
  EXPECT_EQ(std::fmod(whole["farthest"][0]["distance"].get<double>(), 1), 0);
  EXPECT_GE(whole["farthest"][0]["distance"], 1);
  EXPECT_PRED2(contains, graph({"sssp", "--kronecker", "6", "--weights", "/nowhere"}).errors,
               "--weights /nowhere: a generated graph has no file of weights");
  scratch files;
  const auto levels = [&](std::vector<std::string> more) {
    const auto file = files.write("levels", "").string();
    more.insert(more.begin(), {"bfs", "--erdos-renyi", "4", "--edge-factor", "1", "--root", "0", "--output", file});
    result_of(more);
    return contents(file);
  };
  EXPECT_NE(levels({"--reverse"}), levels({}));
}

TEST(graph_command, a_symmetric_matrix_has_its_diagonal_once_and_entries_any_sign) {
  scratch files;
  const auto product = [&](const std::string& matrix) {
    const auto to = files.write("y", "").string();
    const auto result = result_of({"spmv", files.write("a.mtx", matrix).string(), "-n", "2", "--output", to});
    EXPECT_EQ(result["weight_type"], "double");
    return std::pair(result["entries"].get<int>(), contents(to));
  };
  const auto half = product("%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 10\n2 1 -2\n2 2 5\n3 3 7\n");
  EXPECT_EQ(half.first, 5);
  EXPECT_EQ(half,
            product("%%MatrixMarket matrix coordinate real general\n3 3 5\n1 1 10\n2 1 -2\n1 2 -2\n2 2 5\n3 3 7\n"));
  const auto file = files.write("b.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 -2\n").string();
  EXPECT_PRED2(contains, graph({"sssp", file}).errors, "value -2 is negative");
}

TEST(graph_command, every_kernel_checks_the_third_column) {
  scratch files;
  const auto file = files.write("a.el", "YMR056C pp YOL081W\n").string();
  for (const std::string kernel : {"bfs", "sssp", "components", "pagerank", "triangles", "spmv", "explore"})
    expect_message(graph({kernel, file, "-n", "2"}), "amity: a.el:1: length 'YOL081W' is not a number; write 'source ");
  expect_message(graph({"sssp", file, "--weights", "unit"}), "amity: a.el:1: length 'YOL081W' is not a number; ");
}

TEST(graph_command, pagerank_names_its_column) {
  scratch files;
  const auto file = files.write("a.el", "a b\nb a\n").string();
  EXPECT_PRED2(contains, graph({"pagerank", file, "--no-progress"}).output,
               "      PageRank  vertex\n           0.5  a\n");
  EXPECT_EQ(result_of({"pagerank", file})["highest"][0], (nlohmann::json{{"label", "a"}, {"pagerank", 0.5}}));
}

TEST(graph_command, says_whether_pagerank_has_converged) {
  scratch files;
  std::string path;
  for (int i = 0; i < 1000; ++i) path += fmt::format("{} {}\n", i, i + 1);
  const auto file = files.write("path.el", path).string();
  EXPECT_TRUE(result_of({"pagerank", file})["converged"]);
  EXPECT_FALSE(result_of({"pagerank", file, "--iterations", "1"})["converged"]);
  EXPECT_PRED2(contains, graph({"pagerank", file, "--iterations", "1"}).output,
               "not below 1e-06: --iterations has ended it");
}

TEST(graph_command, distance_beyond_its_type_names_the_edge) {
  scratch files;
  const auto problem = [&](const std::string& weights, std::vector<std::string> more) {
    const auto file = files.write("far.el", fmt::format("a b {0}\nb c {0}\nc d 1\n", weights)).string();
    more.insert(more.begin(), {"sssp", file, "--root", "a", "--no-progress"});
    const outcome ended = graph(more);
    EXPECT_EQ(ended.status, 1);
    EXPECT_EQ(ended.output, "");
    return ended.errors;
  };
  for (const std::string verify : {"--verify", "--no-verify"}) {
    for (const std::string ranks : {"1", "3"}) {
      EXPECT_PRED2(contains, problem("5000000000000000000", {verify, "-n", ranks}),
                   "amity: graph: the distance of c exceeds the limit of int64: the edge from b, which is at distance "
                   "5000000000000000000, has weight 5000000000000000000; use --weight-type double\n");
    }
    EXPECT_PRED2(contains, problem("1e308", {verify}), "the distance of c exceeds the limit of double: ");
    EXPECT_PRED2(contains, problem("3e38", {verify, "--weight-type", "float32"}),
                 "the distance of c exceeds the limit of float32: ");
  }
}

/// The lines of `--output` of shortest paths from a.
std::string distances(const std::string& edges, std::vector<std::string> more = {}) {
  scratch files;
  const auto out = files.write("out", "").string();
  more.insert(more.begin(), {"sssp", files.write("a.el", edges).string(), "--root", "a", "--output", out});
  EXPECT_TRUE(result_of(more)["verified"]);
  return contents(out);
}

TEST(graph_command, integer_distances_are_exact) {
  const std::string long_road = "a b 16777217\nb c 1\nc d 1\n";
  EXPECT_EQ(distances(long_road, {"-n", "2"}), "a 0 a\nb 16777217 a\nc 16777218 b\nd 16777219 c\n");
  EXPECT_EQ(distances("a b 9007199254740993\nb c 2\n"), "a 0 a\nb 9007199254740993 a\nc 9007199254740995 b\n");
  EXPECT_EQ(distances(long_road, {"--weight-type", "float32"}), "a 0 a\nb 16777216 a\nc 16777216 b\nd 16777216 c\n");
  scratch files;
  const auto file = files.write("a.el", long_road).string();
  const auto result = result_of({"sssp", file, "--root", "a"});
  EXPECT_EQ(result["weight_type"], "int64");
  EXPECT_EQ(result["farthest"][0]["distance"].dump(), "16777219");
  const outcome ended = graph({"sssp", file, "--root", "a", "--weight-type", "float32", "--no-progress"});
  EXPECT_PRED2(contains, ended.output, "from the input, float32\n");
  EXPECT_PRED2(contains, ended.output, "by Graph500's rules, as sums in float32\n");
}

TEST(graph_command, fractions_are_double) {
  EXPECT_EQ(distances("a b 0.1\nb c 0.2\n"), "a 0 a\nb 0.1 a\nc 0.30000000000000004 b\n");
  EXPECT_EQ(distances("a b 16777217\nb c 0.5\n", {"-n", "2"}), "a 0 a\nb 16777217 a\nc 16777217.5 b\n");
  EXPECT_EQ(distances("a b 1e-50\nb c 1e-50\n"), "a 0 a\nb 1e-50 a\nc 2e-50 b\n");
  EXPECT_EQ(distances("a b 3\n", {"--weight-type", "double"}), "a 0 a\nb 3 a\n");
}

TEST(graph_command, unweighted_file_has_unit_weights) {
  EXPECT_EQ(distances("a b\nb c\na c\nc d\n"), "a 0 a\nb 1 a\nc 1 a\nd 2 c\n");
  scratch files;
  const auto file = files.write("a.el", "a b\nb c\n").string();
  const auto result = result_of({"sssp", file, "--root", "a"});
  EXPECT_EQ(result["weights"], "1 each, as the input has none");
  EXPECT_EQ(result["weight_type"], "int64");
  EXPECT_EQ(result["histogram"].size(), 3u);
  EXPECT_EQ(result_of({"sssp", file, "--weights", "uniform"})["weight_type"], "double");
  EXPECT_EQ(result_of({"sssp", "--kronecker", "6"})["weights"], "uniform in [0, 1), seed 1");
}

TEST(graph_command, labels_are_found_with_a_progress_thread) {
  scratch files;
  const auto file = files.write("a.el", "a b\nb c\n").string();
  for (const std::string ranks : {"1", "3"}) {
    const outcome ended =
        graph({"bfs", file, "--root", "a", "--no-progress", "-n", ranks}, {.environment = {"AMITY_PROGRESS_THREAD=1"}});
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_PRED2(contains, ended.output, "a -> b -> c");
  }
}

TEST(graph_command, reads_what_rank_0_alone_has) {
  scratch files;
  const auto file = files.write("a.el", "a b\nb c\n").string();
  const auto input = graph_line("bfs /dev/stdin --root a -n 2 --no-progress --json - < " + file);
  EXPECT_EQ(json_of(shell(input))["reached"], 3);
  const auto search = "printf 12345678 | " + graph_line("sssp " + file);
  expect_failure(shell(search + " --weights /dev/stdin -n 2 --no-progress"),
                 "/dev/stdin: it is not the same file on all ranks");
  EXPECT_EQ(shell(search + " --weights - --no-progress").status, 0) << "one rank can read a pipe";
}

TEST(graph_command, dash_reads_standard_input) {
  scratch files;
  const auto file = files.write("a.el", "a b\nb c\n").string();
  const auto packed = files.write_gzip("a.el.gz", "a b\nb c\n").string();
  for (const std::string job : {"", " -n 3", " -n 2 --fabric threads", " -n 2 --fabric sim", " -n 2 -t 2"}) {
    const std::string search = graph_line("bfs - --root a --no-progress --json -" + job);
    for (const std::string& line : {fmt::format("cat {} | {}", file, search), fmt::format("{} < {}", search, file),
                                    fmt::format("cat {} | {}", packed, search)}) {
      const auto result = json_of(shell(line));
      EXPECT_EQ(result["reached"], 3) << line;
      EXPECT_EQ(result["graph"], "standard input");
    }
  }
  const std::string launched =
      fmt::format("cat {} | {} run -n 3 {}", file, AMITY_COMMAND, graph_line("bfs - --root a --no-progress --json -"));
  EXPECT_EQ(json_of(shell(launched))["ranks"], 3);
}

TEST(graph_command, bad_standard_input_fails) {
  for (const std::string ranks : {"1", "2"}) {
    const std::string search = graph_line("bfs - --no-progress -n " + ranks);
    for (const auto& [line, why] :
         {std::pair(search + " < /dev/null", "amity: standard input: the file is empty; "),
          std::pair("printf '1 2\n3\n' | " + search, "amity: standard input:2: vertex '3' has no target; "),
          std::pair(search + " < /", "amity: standard input: this is a directory; "),
          std::pair(search + " <&-", "amity: standard input: the file is empty; ")}) {
      expect_message(shell(line), why);
    }
  }
}

TEST(graph_command, fifo_feeds_several_ranks) {
  scratch files;
  const auto pipe = files.folder() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string search = graph_line(fmt::format("bfs {} --root a --no-progress --json -", pipe.string()));
  for (const std::string ranks : {"1", "3"}) {
    const auto line = fmt::format("printf 'a b\nb c\n' > {} & {} -n {}", pipe.string(), search, ranks);
    EXPECT_EQ(json_of(shell(line))["reached"], 3);
  }
}

TEST(graph_command, small_tolerance_is_accepted) {
  scratch files;
  const auto file = files.write("a.el", "a b\nb a\n").string();
  for (const std::string tolerance : {"1e-300", "4.9406564584124654e-324", "+1e-3", "1e300"})
    EXPECT_EQ(result_of({"pagerank", file, "--tolerance", tolerance})["verified"], true) << tolerance;
  for (const std::string tolerance : {"1e-400", "1e400", "-1e-300", "inf", "0.1x", ""})
    EXPECT_EQ(graph({"pagerank", file, "--tolerance=" + tolerance}).status, 2) << tolerance;
}

TEST(graph_command, stated_vertices_reach_reader) {
  scratch files;
  const auto file = files.write("a.int64", bytes_of(std::int64_t{0}) + bytes_of(std::int64_t{1})).string();
  EXPECT_EQ(result_of({"components", file, "-n", "2", "--vertices", "5"})["components"], 4);
  EXPECT_EQ(graph({"components", file, "--vertices", "1"}).status, 1);
  for (const std::string count : {"0", "-1", "4294967295", "many"})
    EXPECT_EQ(graph({"components", file, "--vertices", count}).status, 2) << count;
  EXPECT_EQ(graph({"components", "--kronecker", "4", "--vertices", "16"}).status, 2);
}

TEST(graph_command, takes_no_option_that_would_do_nothing) {
  scratch files;
  const auto file = files.write("a.el", "a b\n").string();
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"triangles", file, "--output", "out"},
                                             {"spmv", file, "--delta", "1"},
                                             {"bfs", "--kronecker", "4", "--format", "edges"},
                                             {"bfs", file, "--format", "edge"},
                                             {"bfs", ""},
                                             {"bfs", file, "--root", ""},
                                             {"bfs", file, "--output", ""},
                                             {"bfs", file, "--json", ""},
                                             {"bfs", file, "--seed", "-1"},
                                             {"bfs", file, "--top", "99999999999999999999999"},
                                             {"pagerank", file, "--tolerance", "nan"},
                                             {"pagerank", file, "--tolerance", "0"}}) {
    EXPECT_EQ(graph(line).status, 2) << line[0] << ' ' << line.back();
  }
  const auto numbers = files.write("n.el", "007 x\n").string();
  EXPECT_EQ(result_of({"bfs", numbers, "--root", "007", "-n", "2"})["reached"], 2);
  const auto out = files.write("reached", "").string();
  result_of({"explore", file, "--root", "b", "--output", out});
  EXPECT_EQ(contents(out), "b 1\n");
}

TEST(graph_command, says_that_memory_is_short) {
  expect_failure(shell("ulimit -v 3000000; " + graph_line("histogram --slots 4294967296 --updates 1")),
                 "there is not enough memory for what was asked for");
}

TEST(graph_command, wrong_command_lines_have_status_2) {
  EXPECT_EQ(graph({}).status, 2);
  EXPECT_EQ(graph({"bfs", "--weights", "unit"}).status, 2) << "only shortest paths have lengths";
  expect_failure(graph({"bsf"}), "unknown kernel 'bsf'", 2);
  for (const auto& [option, value, problem] :
       {std::tuple("-n", "0", "Value 0 not in range 1 to 65536"),
        std::tuple("-n", "65537", "Value 65537 not in range 1 to 65536"),
        std::tuple("-t", "257", "Value 257 not in range 1 to 256"),
        std::tuple("--fabric", "pigeons", "AMITY_FABRIC=pigeons is not one of shm, threads, sim,")}) {
    expect_failure(graph({"bfs", option, value}), problem, 2);
  }
  for (const std::string delta : {"-1", "nan", "inf", "1e400", "wide"}) {
    expect_failure(graph({"sssp", "--delta", delta}), "--delta: '" + delta + "' is not a finite number of at least 0",
                   2);
  }
  const outcome help = graph({"bfs", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_PRED2(contains, help.output, "matrix-market");
}

}  // namespace
}  // namespace amity::apps::graph::tests
