/// Handlers by number: which numbers they get, and how ranks see that they disagree.

#include "amity/core/registry.hpp"

#include "amity/base/error.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

using testing::failure_of;

std::uint64_t deliver(void*, const inbound&) { return 1; }

TEST(registry, numbers_go_up_and_the_lowest_free_one_is_used_again) {
  registry table;
  for (handler_id expected = 0; expected < 5; ++expected) EXPECT_EQ(table.add("x", deliver, nullptr), expected);
  table.remove(3);
  table.remove(1);
  EXPECT_FALSE(table.contains(1));
  EXPECT_TRUE(table.contains(4));
  EXPECT_EQ(table.add("y", deliver, nullptr), 1);
  EXPECT_EQ(table.add("y", deliver, nullptr), 3);
  EXPECT_EQ(table.add("y", deliver, nullptr), 5);
}

TEST(registry, an_entry_is_found_by_number_and_name) {
  registry table;
  int context = 0;
  const handler_id id = table.add("visit", deliver, &context);
  const std::uint16_t check = table.at(id).check;
  ASSERT_NE(table.find(id, check), nullptr);
  EXPECT_EQ(table.find(id, check)->context, &context);
  EXPECT_EQ(table.find(id, static_cast<std::uint16_t>(check + 1)), nullptr);
  EXPECT_EQ(table.find(id + 1, check), nullptr);
  table.remove(id);
  EXPECT_EQ(table.find(id, check), nullptr);
}

TEST(registry, describes_what_there_is) {
  registry table;
  EXPECT_EQ(table.describe(), "none");
  table.add("async", deliver, nullptr);
  table.add("visit", deliver, nullptr);
  table.add("relax", deliver, nullptr);
  table.remove(1);
  EXPECT_EQ(table.describe(), "#0 async, #2 relax");
}

TEST(registry, fingerprints_are_equal_for_equal_tables_however_they_came_to_be) {
  registry one;
  registry other;
  EXPECT_EQ(one.fingerprint(), other.fingerprint());
  one.add("a", deliver, nullptr);
  const std::uint64_t only_a = one.fingerprint();
  one.add("b", deliver, nullptr);
  EXPECT_NE(one.fingerprint(), only_a);

  other.add("x", deliver, nullptr);
  other.add("b", deliver, nullptr);
  other.remove(0);
  EXPECT_NE(one.fingerprint(), other.fingerprint());
  other.add("a", deliver, nullptr);
  EXPECT_EQ(one.fingerprint(), other.fingerprint());

  registry swapped;
  swapped.add("b", deliver, nullptr);
  swapped.add("a", deliver, nullptr);
  EXPECT_NE(one.fingerprint(), swapped.fingerprint());

  one.remove(1);
  EXPECT_EQ(one.fingerprint(), only_a);
}

TEST(registry, ends_where_numbers_do) {
  registry table;
  for (int i = 0; i < 65536; ++i) table.add("x", deliver, nullptr);
  EXPECT_TRUE(table.contains(65535));
  const std::string text = failure_of([&] { table.add("one more", deliver, nullptr); });
  EXPECT_NE(text.find("'one more' would be handler 65536"), std::string::npos) << text;
  table.remove(777);
  EXPECT_EQ(table.add("another", deliver, nullptr), 777);
}

class disagreement : public testing::every_fabric {};
INSTANTIATE_TEST_SUITE_P(core, disagreement,
                         ::testing::Combine(::testing::Values(testing::simulated("sim", {}),
                                                              testing::threads("threads")),
                                            ::testing::Values(2, 3, 4, 8)),
                         testing::job_name);

TEST_P(disagreement, about_a_number_that_the_target_does_not_have) {
  const std::string text = failure_of([&] {
    run([](endpoint& own) {
      own.add_handler("visit", [](request&) {});
      own.barrier();
      if (own.rank() == 1) own.request_short(0, own.add_handler("relax", [](request&) {}));
      own.wait_until("the end", [] { return false; });
    });
  });
  testing::expect_parts(text, {"message arrival (rank 0): rank 1 sent a message for handler #1, which does not exist "
                               "here (there are: #0 visit)"});
}

TEST_P(disagreement, about_the_type_under_a_number) {
  const std::string text = failure_of([&] {
    run([](endpoint& own) {
      const handler_id id = own.add_handler(own.rank() == 1 ? "relax" : "visit",
                                            [](request&) { ADD_FAILURE() << "a message of another type was handled"; });
      if (own.rank() == 1) own.request_short(0, id);
      own.wait_until("the end", [] { return false; });
    });
  });
  testing::expect_parts(text, {"message arrival (rank 0): rank 1 sent a message for handler #0, which is of another "
                               "type there than 'visit' here"});
}

}  // namespace
}  // namespace amity::core
