/// Ranks of the simulator that wait for one another: the report tells where each of them is.

#include "tests/support/programs.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::expect_parts;

std::string deadlock_of(rank_t ranks, const std::function<void(world&)>& body, rank_t threads = 1) {
  const auto ended = testing::outcome_of(testing::shape("sim", ranks, threads), body);
  EXPECT_EQ(ended.status, 1);
  expect_parts(ended.errors, {"deadlock with seed 1"});
  return ended.errors;
}

void wait_for_nothing(world& w, std::string_view label) {
  w.endpoint().wait_until(label, [] { return false; });
}

TEST(deadlock_report, names_collective_and_label) {
  const std::string text = deadlock_of(4, [](world& w) {
    w.epoch([] {});
    if (w.rank() == 3) wait_for_nothing(w, "my reply");
    w.sum(1.5);
  });
  expect_parts(text, {"4 of 4 ranks wait", " ns in a sum of double; rank 1 since",
                      " ns in a sum of double; rank 3 since", " ns in wait_until(\"my reply\")"});
}

TEST(deadlock_report, names_epochs) {
  const std::string text = deadlock_of(3, [](world& w) {
    w.epoch([] {});
    w.epoch([&] {
      if (w.rank() == 1) wait_for_nothing(w, "my reply");
    });
  });
  expect_parts(text, {" ns in the end of epoch 2; rank 2 since ", "; rank 1 since ",
                      " ns in wait_until(\"my reply\") in epoch 2; "});
}

TEST(deadlock_report, names_collective_inside_epoch) {
  const std::string text = deadlock_of(2, [](world& w) {
    auto period = w.begin_epoch();
    if (w.rank() == 0) w.barrier();
    wait_for_nothing(w, "my reply");
  });
  expect_parts(text, {" ns in a barrier in epoch 1; rank 1 ", " ns in wait_until(\"my reply\") in epoch 1"});
}

TEST(deadlock_report, names_end_of_program) {
  const std::string text = deadlock_of(2, [](world& w) {
    if (w.rank() == 0) wait_for_nothing(w, "my reply");
  });
  expect_parts(text, {"in wait_until(\"my reply\"); rank 1", "in the barrier at the end of its program"});
}

TEST(deadlock_report, names_world) {
  const std::string text = deadlock_of(4, [](world& w) {
    const auto half = w.split({.color = w.rank() % 2});
    if (w.rank() == 2) wait_for_nothing(w, "my reply");
    half->barrier();
    w.barrier();
  });
  expect_parts(text, {"rank 0 since ", " in a barrier of world 1; rank 1 since ", " in a barrier of world 0; rank 2 ",
                      " in wait_until(\"my reply\") of world 0"});
}

TEST(deadlock_report, lists_each_place_of_many) {
  const std::string text = deadlock_of(100, [](world& w) {
    if (w.rank() == 57) wait_for_nothing(w, "my reply");
    w.barrier();
  });
  expect_parts(text,
               {"100 of 100 ranks", "rank 7 since ", " and 91 more; rank 57 since ", " in wait_until(\"my reply\")"});
  EXPECT_EQ(text.find("rank 8 since "), std::string::npos) << text;
}

TEST(deadlock_report, names_threads) {
  const std::string text = deadlock_of(
      2,
      [](world& w) {
        if (w.rank() == 0) wait_for_nothing(w, "my reply");
        w.barrier();
      },
      2);
  expect_parts(text, {"rank 0, thread 0 since ", " in wait_until(\"my reply\")", "rank 0, thread 1 since ",
                      " in a wait for another thread of its rank"});
}

}  // namespace
}  // namespace amity
