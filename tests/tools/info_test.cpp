// amity info, and amity without a command.

#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "amity/base/settings.hpp"
#include "child.hpp"

namespace amity::tests {
namespace {

outcome amity_with(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
  return child(amity_command(std::move(arguments)), {.environment = std::move(environment)}).finish();
}

/// The line of the table that begins with `name`, with single spaces.
std::string row(const std::string& page, const std::string& name) {
  const auto begin = page.find("  " + name + " ");
  if (begin == std::string::npos) return "";
  std::string result;
  for (const char c : page.substr(begin, page.find('\n', begin) - begin)) {
    if (c != ' ' || (!result.empty() && result.back() != ' ')) result += c;
  }
  return result;
}

TEST(info, lists_every_setting_with_its_value_and_where_it_came_from) {
  const auto ended = amity_with({"info"}, {"AMITY_SHM_BUFFERS=32"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.errors, "");
  EXPECT_EQ(row(ended.output, "AMITY_SHM_BUFFERS"), "AMITY_SHM_BUFFERS 32 buffers per peer 32 environment");
  EXPECT_EQ(row(ended.output, "AMITY_SHM_PACKET_BYTES"), "AMITY_SHM_PACKET_BYTES 8k bytes 8k default");
  for (const auto& info : setting_table()) {
    EXPECT_NE(row(ended.output, std::string(info.name)), "") << info.name;
    EXPECT_PRED2(contains, ended.output, std::string(info.help.substr(0, info.help.find(' ', 20))));
  }
}

TEST(info, lists_the_fabrics) {
  const auto ended = amity_with({"info"});
  for (const std::string part : {"\n  shm ", "\n  threads ", "\n  sim ", "\n  ofi ", "packets up to ", "remote memory"})
    EXPECT_PRED2(contains, ended.output, part);
  EXPECT_PRED2(contains, row(ended.output, "ofi"), "libfabric");
  EXPECT_PRED2(contains, row(ended.output, "ofi"), ", sealed");
  EXPECT_PRED2(contains, row(amity_with({"info"}, {"AMITY_OFI_SEALED=0"}).output, "ofi"), ", not sealed");
}

TEST(info, fabric_that_is_not_available_has_no_sizes) {
  const std::vector<std::string> none{"AMITY_OFI_PROVIDER=missing"};
  const auto page = amity_with({"info"}, none).output;
  const auto begin = page.find("\n  ofi "), end = page.find("\nFabric of a program");
  ASSERT_NE(begin, std::string::npos);
  EXPECT_PRED2(contains, row(page, "ofi"), "ofi not available: ");
  const std::string lines = page.substr(begin + 1, page.find("\n  mpi ", begin) - begin - 1);
  EXPECT_FALSE(contains(lines.substr(0, std::min(lines.size(), end - begin)), "packets up to")) << lines;
  for (const auto& fabric : nlohmann::json::parse(amity_with({"info", "--json"}, none).output).at("fabrics")) {
    const bool is_ofi = fabric.at("name") == "ofi";
    EXPECT_EQ(fabric.at("available"), !is_ofi) << fabric;
    EXPECT_EQ(fabric.contains("packet_bytes_max"), !is_ofi) << fabric;
  }
}

/// With single spaces, and no ends of lines.
std::string in_one_line(const std::string& page) {
  std::string result;
  for (const char c : page) {
    const bool is_space = c == ' ' || c == '\n';
    if (!is_space || !result.ends_with(' ')) result += is_space ? ' ' : c;
  }
  return result;
}

// As for a provider of adapters, which has all local memory registered.
TEST(info, registration_of_memory_and_its_cache_are_shown) {
  const auto shown = [](std::vector<std::string> environment) {
    return in_one_line(amity_with({"info"}, std::move(environment)).output);
  };
  const std::string registered = "AMITY_OFI_REGISTER_LOCAL=1", cached = "sealed, local memory registered packets";
  if (!contains(shown({}), " ofi libfabric ")) GTEST_SKIP() << "no libfabric here";
  EXPECT_FALSE(contains(shown({}), "local memory registered"));
  EXPECT_PRED2(contains, shown({registered}), cached);
  EXPECT_PRED2(contains, shown({registered, "FI_MR_CACHE_MONITOR=memhooks", "FI_MR_CACHE_MAX_COUNT=10"}), cached);
  for (const std::string off : {"FI_MR_CACHE_MONITOR=disabled", "FI_MR_CACHE_MAX_COUNT=0"}) {
    EXPECT_PRED2(contains, shown({registered, off}),
                 "sealed, local memory registered, registrations not cached (" + off + ") packets");
    EXPECT_FALSE(contains(shown({off}), "not cached"));
  }
}

TEST(info, keeps_its_table_aligned_and_narrow) {
  const auto ended = amity_with({"info"});
  std::size_t columns = 0;
  for (std::size_t begin = 0; begin < ended.output.size();) {
    const auto end = ended.output.find('\n', begin);
    columns = std::max(columns, end - begin);
    begin = end + 1;
  }
  EXPECT_LE(columns, 100u);
}

TEST(info, speaks_json) {
  const auto page =
      nlohmann::json::parse(amity_with({"info", "--json"}, {"AMITY_SHM_BUFERS=8", "AMITY_SIM_SEED=2k"}).output);
  EXPECT_EQ(page.at("settings").size(), setting_table().size());
  for (const auto& setting : page.at("settings")) {
    EXPECT_TRUE(setting.contains("unit") && setting.contains("default") && setting.contains("help")) << setting;
    if (setting.at("name") != "AMITY_SIM_SEED") continue;
    EXPECT_EQ(setting.at("value"), "2k");
    EXPECT_EQ(setting.at("number"), 2048);
    EXPECT_EQ(setting.at("from"), "environment");
  }
  EXPECT_GE(page.at("fabrics").size(), 4u);  // and mpi, where amity is built with it
  EXPECT_GT(page.at("fabrics").at(0).at("packet_bytes_max"), 0);
  EXPECT_EQ(page.at("fabrics").at(0).at("remote").at("mapped"), true);
  EXPECT_EQ(page.at("warnings").at(0), "AMITY_SHM_BUFERS is not a setting; did you mean AMITY_SHM_BUFFERS?");
}

TEST(info, unwritable_standard_output_fails) {
  for (const auto& [form, reason] :
       {std::pair("info >/dev/full", "No space left on device"),
        std::pair("info --json >/dev/full", "No space left on device"),
        std::pair("--help >/dev/full", "No space left on device"), std::pair("info >&-", "Bad file descriptor")}) {
    const auto ended = child({"sh", "-c", std::string(AMITY_COMMAND) + " " + form}).finish();
    EXPECT_EQ(ended.status, 1) << form;
    EXPECT_EQ(ended.errors, std::string("amity: cannot write to standard output: ") + reason +
                                "; check for a full disk or a closed pipe\n")
        << form;
  }
}

TEST(info, warns_about_a_misspelt_variable) {
  const auto ended = amity_with({"info"}, {"AMITY_SHM_BUFERS=8"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.errors, "amity: AMITY_SHM_BUFERS is not a setting; did you mean AMITY_SHM_BUFFERS?\n");
}

TEST(info, refuses_an_unusable_value) {
  expect_failure(amity_with({"info"}, {"AMITY_SHM_BUFFERS=1"}),
                 "AMITY_SHM_BUFFERS=1 is too small; give a whole number from 2 to 64");
}

TEST(command, tells_its_version) { EXPECT_EQ(amity_with({"--version"}).output, "amity " AMITY_VERSION "\n"); }

TEST(command, helps) {
  const auto ended = amity_with({"--help"});
  EXPECT_EQ(ended.status, 0);
  for (const std::string part : {"run", "info", "amity run -n 4 ./program", "amity COMMAND --help"}) {
    EXPECT_PRED2(contains, ended.output, part);
  }
  EXPECT_PRED2(contains, amity_with({"run", "--help"}).output, "amity run -n 4 --prefix ./program");
  EXPECT_PRED2(contains, amity_with({"info", "--help"}).output, "--json");
}

TEST(command, full_standard_error_keeps_status) {
  for (const auto& [arguments, status] : {std::pair("", 2), std::pair("rnu", 2), std::pair("sim ./nosuch", 127)}) {
    const auto ended = child({"sh", "-c", fmt::format("{} {} 2>/dev/full", AMITY_COMMAND, arguments)}).finish();
    EXPECT_EQ(ended.status, status) << arguments;
  }
}

TEST(command, needs_to_know_what_to_do) {
  expect_failure(amity_with({}), "Usage: amity", 2);
  const auto unknown = amity_with({"rnu", "-n", "2"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_EQ(unknown.errors, "amity: unknown command 'rnu'; `amity --help` lists the commands\n");
}

}  // namespace
}  // namespace amity::tests
