#include "amity/base/settings.hpp"

#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/error.hpp"
#include "tests/support/errors.hpp"

namespace amity {
namespace {

using sentences = std::vector<std::string>;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

settings from(std::vector<std::string> environment) { return settings::from_list(environment); }

/// The message of the error that the environment causes.
std::string refusal_of(std::vector<std::string> environment) {
  return testing::error_of([&] { from(std::move(environment)); });
}

TEST(settings, start_at_their_defaults) {
  const settings values;
  EXPECT_EQ(values.integer("AMITY_SHM_BUFFERS"), 32);
  EXPECT_EQ(values.integer("AMITY_SHM_PACKET_BYTES"), 8 * 1024);
  EXPECT_EQ(values.text("AMITY_EPOCH_DETECTOR"), "colored");
  for (const auto& info : setting_table()) {
    EXPECT_EQ(values.value(info.name), info.default_value) << info.name;
    EXPECT_EQ(values.where_from(info.name), settings::origin::standard) << info.name;
  }
}

TEST(settings, the_table_is_complete_and_free_of_contradictions) {
  std::set<std::string_view> names;
  for (const auto& info : setting_table()) {
    EXPECT_TRUE(info.name.starts_with("AMITY_")) << info.name;
    EXPECT_TRUE(names.insert(info.name).second) << info.name << " is listed twice";
    EXPECT_FALSE(info.help.empty()) << info.name;
    EXPECT_TRUE(info.help.ends_with('.')) << info.name;
    EXPECT_FALSE(info.unit.empty()) << info.name;
    if (info.type == setting_info::kind::integer) {
      EXPECT_LT(info.min, info.max) << info.name;
    }
  }
}

TEST(settings, remember_where_a_value_came_from) {
  auto values = from({"AMITY_SHM_BUFFERS=8", "HOME=/home/someone", "AMITY_FABRIC=sim"});
  EXPECT_EQ(values.integer("AMITY_SHM_BUFFERS"), 8);
  EXPECT_EQ(values.where_from("AMITY_SHM_BUFFERS"), settings::origin::environment);
  EXPECT_EQ(values.text("AMITY_FABRIC"), "sim");
  EXPECT_EQ(values.where_from("AMITY_RANKS"), settings::origin::standard);
  values.set("AMITY_SHM_BUFFERS", "4");
  EXPECT_EQ(values.integer("AMITY_SHM_BUFFERS"), 4);
  EXPECT_EQ(values.where_from("AMITY_SHM_BUFFERS"), settings::origin::program);
}

TEST(settings, are_read_from_the_process) {
  ASSERT_EQ(::setenv("AMITY_SIM_SEED", "77", 1), 0);
  const auto values = settings::from_environment();
  ASSERT_EQ(::unsetenv("AMITY_SIM_SEED"), 0);
  EXPECT_EQ(values.integer("AMITY_SIM_SEED"), 77);
}

TEST(settings, the_last_of_two_values_counts) {
  EXPECT_EQ(from({"AMITY_RANKS=2", "AMITY_RANKS=3"}).integer("AMITY_RANKS"), 3);
}

TEST(settings, integers_take_suffixes) {
  EXPECT_EQ(from({"AMITY_SHM_PACKET_BYTES=64k"}).integer("AMITY_SHM_PACKET_BYTES"), 65536);
  EXPECT_EQ(from({"AMITY_SHM_PACKET_BYTES=1M"}).integer("AMITY_SHM_PACKET_BYTES"), 1048576);
  EXPECT_EQ(from({"AMITY_CORE_SPILL_BYTES_MAX=3g"}).integer("AMITY_CORE_SPILL_BYTES_MAX"), std::int64_t{3} << 30);
  EXPECT_EQ(from({"AMITY_SHM_PACKET_BYTES=64k"}).text("AMITY_SHM_PACKET_BYTES"), "64k") << "as the user wrote it";
}

TEST(settings, bounds_are_inclusive) {
  EXPECT_EQ(from({"AMITY_SHM_BUFFERS=2"}).integer("AMITY_SHM_BUFFERS"), 2);
  EXPECT_EQ(from({"AMITY_SHM_BUFFERS=64"}).integer("AMITY_SHM_BUFFERS"), 64);
  EXPECT_EQ(refusal_of({"AMITY_SHM_BUFFERS=1"}),
            "amity: settings: AMITY_SHM_BUFFERS=1 is too small; "
            "give a whole number from 2 to 64 (buffers per peer), for example AMITY_SHM_BUFFERS=32");
  EXPECT_PRED2(contains, refusal_of({"AMITY_SHM_BUFFERS=65"}), "AMITY_SHM_BUFFERS=65 is too large");
  EXPECT_PRED2(contains, refusal_of({"AMITY_SIM_SEED=-1"}),
               "AMITY_SIM_SEED=-1 is too small; give a whole number from 0 to 9223372036854775807 (seed)");
  for (const std::string value : {"9223372036854775808", "99999999999999999999999", "9999999999g"}) {
    EXPECT_PRED2(contains, refusal_of({"AMITY_SIM_SEED=" + value}),
                 "AMITY_SIM_SEED=" + value + " is too large; give a whole number from 0 to 9223372036854775807");
  }
  EXPECT_PRED2(contains, refusal_of({"AMITY_SIM_SEED=-99999999999999999999"}), "99999999999999999999 is too small");
}

TEST(settings, take_the_suffixes_of_their_units) {
  const auto ns = [](const std::string& value) {
    return from({"AMITY_SIM_LATENCY_NS=" + value}).integer("AMITY_SIM_LATENCY_NS");
  };
  EXPECT_EQ(ns("7ns"), 7);
  EXPECT_EQ(ns("7us"), 7000);
  EXPECT_EQ(ns("7ms"), 7'000'000);
  EXPECT_EQ(ns("1s"), 1'000'000'000);
  EXPECT_EQ(ns("2k"), 2048);
  EXPECT_EQ(from({"AMITY_SIM_REORDER_PERCENT=5%"}).integer("AMITY_SIM_REORDER_PERCENT"), 5);
  EXPECT_PRED2(contains, refusal_of({"AMITY_SIM_LATENCY_NS=5%"}), "with or without a suffix ns, us, ms, s, k, m or g");
  EXPECT_PRED2(contains, refusal_of({"AMITY_SHM_BUFFERS=5us"}), "with or without a suffix k, m or g");
}

TEST(settings, refuse_what_is_not_a_number) {
  for (const std::string value : {"", "many", "4x", "4 ", " 4", "4kk", "0x10", "1.5", "99999999999999999999x"}) {
    EXPECT_PRED2(contains, refusal_of({"AMITY_SIM_SEED=" + value}),
                 "AMITY_SIM_SEED=" + value + " is not a whole number");
  }
}

TEST(settings, refuse_numbers_of_the_wrong_form) {
  EXPECT_PRED2(contains, refusal_of({"AMITY_SHM_RING_SLOTS=100"}),
               "AMITY_SHM_RING_SLOTS=100 is not a power of two; give a power of two from 16");
  EXPECT_PRED2(contains, refusal_of({"AMITY_SHM_PACKET_BYTES=5000"}), "is not a multiple of 64");
}

TEST(settings, refuse_an_unknown_choice) {
  EXPECT_EQ(refusal_of({"AMITY_EPOCH_DETECTOR=coloured"}),
            "amity: settings: AMITY_EPOCH_DETECTOR=coloured is not one of colored, four_counter; "
            "did you mean AMITY_EPOCH_DETECTOR=colored?");
  EXPECT_PRED2(contains, refusal_of({"AMITY_FABRIC=infiniband"}), "give one of them, for example AMITY_FABRIC=shm");
  EXPECT_PRED2(contains, refusal_of({"AMITY_FABRIC="}), "is not one of");
  EXPECT_PRED2(contains, refusal_of({"AMITY_FABRIC=shm|sim"}), "is not one of");
}

TEST(settings, warn_about_misspelt_variables) {
  const auto values = from({"AMITY_SHM_BUFERS=8", "AMITY_RANSK=4", "AMITY_ZZZZZZZZZZZZ=1", "AMTIY_RANKS=4"});
  EXPECT_EQ(values.warnings(), (sentences{"AMITY_SHM_BUFERS is not a setting; did you mean AMITY_SHM_BUFFERS?",
                                          "AMITY_RANSK is not a setting; did you mean AMITY_RANKS?",
                                          "AMITY_ZZZZZZZZZZZZ is not a setting; `amity info` lists all settings"}));
  EXPECT_EQ(from({"AMITY_RANKS=4", "PATH=/bin"}).warnings(), sentences{});
}

TEST(settings, never_suggest_what_only_the_launcher_sets) {
  EXPECT_EQ(from({"AMITY_JOB_FDS=4"}).warnings(),
            sentences{"AMITY_JOB_FDS is not a setting; `amity info` lists all settings"});
}

TEST(settings, a_program_cannot_set_nonsense) {
  settings values;
  EXPECT_THROW(values.set("AMITY_SHM_BUFFERS", "0"), error);
  EXPECT_EQ(values.integer("AMITY_SHM_BUFFERS"), 32) << "a refused value changes nothing";
  EXPECT_EQ(testing::error_of([&] { values.set("AMITY_SHM_BUFERS", "8"); }),
            "amity: settings: AMITY_SHM_BUFERS is not a setting; did you mean AMITY_SHM_BUFFERS?");
}

TEST(settings, a_variable_without_a_value_is_an_error) {
  EXPECT_PRED2(contains, refusal_of({"AMITY_RANKS"}), "write AMITY_RANKS=VALUE");
}

TEST(settings_death_test, asking_for_an_unknown_name_is_a_bug) {
  const settings values;
  EXPECT_DEATH(static_cast<void>(values.integer("AMITY_NOTHING")), "AMITY_NOTHING");
  EXPECT_DEATH(static_cast<void>(values.integer("AMITY_FABRIC")), "AMITY_FABRIC") << "a text is not an integer";
}

}  // namespace
}  // namespace amity
