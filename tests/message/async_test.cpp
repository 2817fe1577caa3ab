/// Occasional messages: any function without captures, with any arguments, on any rank.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "async_pair.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::failure_in_worlds;
using testing::next_of;

class async : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, async, testing::every_job(), testing::job_name);

TEST_P(async, calls_arrive_once_on_the_rank_that_is_named) {
  run([](world& w) {
    std::vector<int> calls(static_cast<std::size_t>(w.size()));
    const auto shared_calls = w.share(calls);
    w.epoch([&] {
      for (rank_t dest = 0; dest < w.size(); ++dest) {
        for (int i = 0; i < 30; ++i) {
          w.async(
              dest,
              [](world& here, std::vector<int>& mine, rank_t source, rank_t meant) {
                EXPECT_EQ(here.rank(), meant);
                ++mine[static_cast<std::size_t>(source)];
              },
              shared_calls, w.rank(), dest);
        }
      }
    });
    EXPECT_EQ(calls, std::vector<int>(static_cast<std::size_t>(w.size()), 30));
  });
}

// The targets have registered the function though none of them ever sends it.
TEST_P(async, function_called_by_one_rank_runs) {
  run([](world& w) {
    int calls = 0;
    const auto counter = w.share(calls);
    w.epoch([&] {
      if (w.rank() != 0) return;
      for (rank_t dest = 0; dest < w.size(); ++dest) {
        w.async(
            dest, [](int& here) { ++here; }, counter);
      }
    });
    EXPECT_EQ(calls, 1);
  });
}

struct point {
  int x, y;
};

class async_arguments : public testing::on_jobs {};
INSTANTIATE_TEST_SUITE_P(message, async_arguments, ::testing::ValuesIn(testing::some_jobs()), testing::job_name);

/// Counts the calls that have found their arguments as they were sent.
TEST_P(async_arguments, may_be_of_all_kinds) {
  run([](world& w) {
    int good = 0;
    const auto counter = w.share(good);
    const rank_t dest = next_of(w);
    const std::string text = "a string";
    const char* const pointer = "a pointer to characters";
    char letters[] = "letters";
    w.epoch([&] {
      w.async(
          dest, [](int& ok) { ++ok; }, counter);
      w.async(
          dest, [](int& ok, point p, double d) { ok += p.x == 1 && p.y == 2 && d == 0.5; }, counter, point{1, 2}, 0.5);
      w.async(
          dest, [](int& ok, const std::string& s) { ok += s == "a literal"; }, counter, "a literal");
      w.async(
          dest, [](int& ok, std::string s) { ok += s == "a string"; }, counter, text);
      w.async(
          dest, [](int& ok, std::string s) { ok += s == "a pointer to characters"; }, counter, pointer);
      w.async(
          dest, [](int& ok, std::string s) { ok += s == "letters"; }, counter, letters);
      w.async(
          dest, [](int& ok, std::string_view s) { ok += s == "a view"; }, counter, std::string_view("a view"));
      w.async(
          dest, [](int& ok, std::string&& s) { ok += s.empty(); }, counter, "");
      w.async(
          dest, [](int& ok, const std::vector<std::string>& v) { ok += v.size() == 2 && v[1] == "b"; }, counter,
          std::vector<std::string>{"a", "b"});
      w.async(
          dest,
          [](int& ok, std::vector<bool> v) {
            ok += v == std::vector<bool>{true, false};
          },
          counter, std::vector<bool>{true, false});
      w.async(
          dest, [](int& ok, std::optional<int> a, std::optional<std::string> b) { ok += a == 1 && !b; }, counter,
          std::optional<int>(1), std::optional<std::string>());
      w.async(
          dest, [](int& ok, std::tuple<int, std::string> t) { ok += std::get<1>(t) == "two"; }, counter,
          std::tuple<int, std::string>(1, "two"));
      w.async(
          dest, [](int& ok, std::array<int, 2> a) { ok += a[1] == 2; }, counter, std::array{1, 2});
      w.async(
          dest, [](world& here, int& ok, rank_t meant) { ok += here.rank() == meant; }, counter, dest);
      w.async(
          dest, [](auto& ok, auto number) { ok += number == 7; }, counter, 7);
      w.async(
          dest, [](int& ok, long widened) mutable { ok += widened == -1; }, counter, -1);
    });
    EXPECT_EQ(good, 16);
  });
}

struct greeter {
  void operator()(world&, std::string& heard, const std::string& name) const { heard += "hello " + name; }
};

TEST_P(async_arguments, functions_may_have_a_named_type_or_no_arguments) {
  run([](world& w) {
    std::string heard;
    const auto ear = w.share(heard);
    w.epoch([&] {
      w.async(next_of(w), greeter{}, ear, "amity");
      w.async(next_of(w), [] {});
      w.async(next_of(w), [](world&) {});
    });
    EXPECT_EQ(heard, "hello amity");
  });
}

TEST_P(async_arguments, shared_objects_may_be_constant_and_many) {
  run([](world& w) {
    const std::string name = "rank " + std::to_string(w.rank());
    std::map<std::string, int> visits;
    const auto shared_name = w.share(name);
    const auto shared_visits = w.share(visits);
    w.epoch([&] {
      w.async(
          next_of(w), [](const std::string& here, std::map<std::string, int>& mine) { ++mine[here]; }, shared_name,
          shared_visits);
    });
    EXPECT_EQ(visits, (std::map<std::string, int>{{name, 1}}));
  });
}

TEST_P(async, handlers_may_call_again) {
  run([](world& w) {
    int hops = 0;
    const auto counter = w.share(hops);
    w.epoch([&] {
      if (w.rank() == 0) w.async(0, pass_on{}, counter, pass_on::names{counter}, 100);
    });
    EXPECT_EQ(w.sum(static_cast<std::int64_t>(hops)), 101);
  });
}

// Calls to one rank share packets: occasional is not the same as slow.
TEST(async_packets, are_shared) {
  run_worlds(testing::simulated("sim", {}), 2, [](world& w) {
    w.epoch([&] {
      if (w.rank() != 0) return;
      for (int i = 0; i < 100; ++i)
        w.async(
            1, [](int) {}, i);
    });
    if (w.rank() == 0) {
      EXPECT_EQ(w.counters().packets_sent, 1u);
      EXPECT_EQ(w.counters().messages_sent, 100u);
      EXPECT_EQ(w.counters().bytes_sent, 4u + 100 * (8 + 4));
    }
  });
}

// A function in a header has one type in all translation units, one in a source file a type for each.
TEST_P(async_arguments, functions_of_two_translation_units) {
  run([](world& w) {
    int sum = 0;
    const auto total = w.share(sum);
    w.epoch([&] {
      call_from_first_unit(w, next_of(w), total);
      call_from_second_unit(w, next_of(w), total);
      w.async(next_of(w), add_ten(), total);
    });
    EXPECT_EQ(sum, 1 + 10 + 100 + 10 + 10);
  });
}

TEST(async_errors, an_object_that_the_target_has_not_shared) {
  const std::string failure = failure_in_worlds(2, [](world& w) {
    int first = 0, second = 0;
    auto name = w.share(first);
    if (w.rank() == 0) name = w.share(second);
    w.epoch([&] {
      if (w.rank() == 0)
        w.async(
            1, [](int&) {}, name);
    });
  });
  EXPECT_EQ(failure,
            "amity: async (rank 1): a call arrived for shared object 1, but this rank has shared 1; "
            "call world::share for the same objects in the same order on all ranks");
}

TEST(async_errors, an_object_that_is_another_on_the_target) {
  const std::string failure = failure_in_worlds(2, [](world& w) {
    int number = 0;
    double fraction = 0;
    shared<int> name;
    if (w.rank() == 0) {
      name = w.share(number);
    } else {
      w.share(fraction);
    }
    w.epoch([&] {
      if (w.rank() == 0)
        w.async(
            1, [](int&) {}, name);
    });
  });
  EXPECT_EQ(failure,
            "amity: async (rank 1): a call arrived for shared object 0 as 'int', but here it is 'double'; "
            "call world::share for the same objects in the same order on all ranks");
}

}  // namespace
}  // namespace amity
