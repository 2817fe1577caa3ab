/// Which calls the epochs of a window permit, and what the errors say.

#include "amity/window/access_rules.hpp"

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::detail {
namespace {

using testing::expect_error;
using testing::failure_of;
using call = window_call;

constexpr access_rules::identity whose{.window = "window 'w'", .member = 1};

/// Calls by a letter each: f fence, F last fence, s start, c complete, p post, w wait, l lock, u unlock, L lock_all, U
/// unlock_all, x flush, o operation, e free. All concern rank 2.
void take(access_rules& rules, char letter) {
  constexpr std::array<rank_t, 2> targets{2, 0};
  const std::map<char, call> plain{{'f', call::fence},      {'F', call::last_fence}, {'c', call::complete},
                                   {'p', call::post},       {'w', call::wait},       {'L', call::lock_all},
                                   {'U', call::unlock_all}, {'e', call::free}};
  if (const auto found = plain.find(letter); found != plain.end()) return rules.on("call", found->second, whose);
  if (letter == 's') return rules.start("call", targets, whose);
  if (letter == 'l') return rules.lock("call", lock_kind::shared, 2, whose);
  if (letter == 'u') return rules.unlock("call", 2, whose);
  rules.use("call", letter == 'x' ? call::flush : call::operation, 2, whose);
}

constexpr std::string_view all_calls = "fFscpwluLUxoe";

/// The calls that may follow these.
std::string permitted_after(std::string_view calls) {
  std::string permitted;
  for (const char letter : all_calls) {
    access_rules rules;
    for (const char before : calls) take(rules, before);
    const auto access = rules.access();
    const auto exposure = rules.exposure();
    const std::string failure = failure_of([&] { take(rules, letter); });
    if (failure.empty()) {
      permitted += letter;
    } else {
      testing::expect_parts(failure, {"call (rank 1): window 'w': "});
      EXPECT_TRUE(rules.access() == access && rules.exposure() == exposure) << calls << letter;
    }
  }
  return permitted;
}

TEST(access_rules, permit_what_standard_does) {
  EXPECT_EQ(permitted_after(""), "fFsplLe");
  EXPECT_EQ(permitted_after("f"), "fFsplLoe");
  EXPECT_EQ(permitted_after("fo"), "fFpo");
  EXPECT_EQ(permitted_after("foF"), "fFsplLe");
  EXPECT_EQ(permitted_after("fof"), "fFsplLoe");
  EXPECT_EQ(permitted_after("s"), "cpo");
  EXPECT_EQ(permitted_after("soc"), "fFsplLe");
  EXPECT_EQ(permitted_after("p"), "swlL");
  EXPECT_EQ(permitted_after("ps"), "cwo");
  EXPECT_EQ(permitted_after("pw"), "fFsplLe");
  EXPECT_EQ(permitted_after("psc"), "swlL");
  EXPECT_EQ(permitted_after("l"), "puxo");
  EXPECT_EQ(permitted_after("lu"), "fFsplLe");
  EXPECT_EQ(permitted_after("L"), "pUxo");
  EXPECT_EQ(permitted_after("LU"), "fFsplLe");
  EXPECT_EQ(permitted_after("fl"), "puxo");
}

TEST(access_rules, locks_of_several_ranks) {
  access_rules rules;
  rules.lock("lock", lock_kind::exclusive, 2, whose);
  rules.lock("lock", lock_kind::shared, 5, whose);
  EXPECT_EQ(rules.lock_of(2), lock_kind::exclusive);
  EXPECT_EQ(rules.lock_of(5), lock_kind::shared);
  EXPECT_EQ(rules.lock_of(3), lock_kind::none);
  rules.use("put", call::operation, 5, whose);
  expect_error(
      [&] { rules.use("put", call::operation, 3, whose); },
      {"put (rank 1)", "window 'w': this rank holds locks, but not that of rank 3", "call lock for this rank"});
  expect_error([&] { rules.lock("lock", lock_kind::shared, 5, whose); },
               {"lock (rank 1)", "this rank holds a lock of rank 5", "unlock it before"});
  expect_error([&] { rules.unlock("unlock", 3, whose); },
               {"unlock (rank 1)", "this rank holds no lock of rank 3", "call lock for this rank before it"});
  rules.unlock("unlock", 2, whose);
  EXPECT_EQ(rules.access(), access_epoch::locked);
  rules.unlock("unlock", 5, whose);
  EXPECT_EQ(rules.access(), access_epoch::none);
}

TEST(access_rules, errors_name_remedy) {
  const auto text_after = [](std::string_view calls, char last) {
    access_rules rules;
    for (const char before : calls) take(rules, before);
    return failure_of([&] { take(rules, last); });
  };
  const auto expect = [&](std::string_view calls, char last, std::string_view state, std::string_view remedy) {
    testing::expect_parts(text_after(calls, last), {std::string(state), std::string(remedy)});
  };
  expect("", 'o', "no access epoch is open for rank 2", "call fence, start, lock or lock_all before operations");
  expect("", 'x', "no access epoch is open for rank 2", "call it between lock and unlock");
  expect("", 'c', "no access epoch is open", "call start before it");
  expect("", 'u', "no access epoch is open for rank 2", "call lock for this rank before it");
  expect("", 'U', "no access epoch is open", "call lock_all before it");
  expect("", 'w', "no exposure epoch is open", "call post before it");
  expect("s", 's', "the epoch of a start is open", "call complete before it");
  expect("l", 'f', "this rank holds locks", "unlock each rank before it");
  expect("L", 'e', "this rank holds the locks of lock_all", "call unlock_all before it");
  expect("fo", 'l', "the epoch of a fence with operations is open for rank 2", "call fence before it, with no_succeed");
  expect("p", 'p', "the epoch of a post is open", "call wait before it, or test until it returns true");
  expect("p", 'f', "the epoch of a post is open", "call wait before it");
}

}  // namespace
}  // namespace amity::detail
