/// Message types that differ between ranks, though messages of each could be taken for those of the other.

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

using testing::expect_parts;

struct difference {
  std::string name;
  std::function<void(world&, bool odd, const std::function<void()>& use)> make;
  std::vector<std::string> parts;  ///< of the error
};

void take_one(int) {}
void take_other(int) {}

/// Makes two types, in the other order on the odd rank.
template <class First, class Second>
void make_in_order(world& w, bool odd, const std::function<void()>& use, First first, Second second) {
  if (odd) {
    auto one = w.message<int>(second);
    auto two = w.message<int>(first);
    use();
  } else {
    auto one = w.message<int>(first);
    auto two = w.message<int>(second);
    use();
  }
}

template <class Policy>
void make_with(world& w, bool odd, const std::function<void()>& use, Policy policy) {
  const auto handler = [](int) {};
  if (odd) {
    auto one = w.message<int>(handler, policy);
    use();
  } else {
    auto one = w.message<int>(handler);
    use();
  }
}

std::vector<difference> differences() {
  using use_function = std::function<void()>;
  return {
      {"order_of_lambdas",
       [](world& w, bool odd, const use_function& use) {
         make_in_order(
             w, odd, use, [](int) {}, [](int) {});
       },
       {"number 1 is 'int, 4 bytes, handler ", "{lambda(int)#1}' on rank ", "{lambda(int)#2}' on rank "}},
      {"order_of_functions",
       [](world& w, bool odd, const use_function& use) { make_in_order(w, odd, use, &take_one, &take_other); },
       {"number 1 is 'int, 4 bytes, handler function 0x"}},
      {"order_of_std_functions",
       [](world& w, bool odd, const use_function& use) {
         make_in_order(w, odd, use, std::function<void(int)>([](int) {}), std::function<void(int)>([](int) {}));
       },
       {"{lambda(int)#1}' on rank ", "{lambda(int)#2}' on rank "}},
      {"coalesce",
       [](world& w, bool odd, const use_function& use) { make_with(w, odd, use, coalesce{}); },
       {"number 1 is 'int, 4 bytes", ", amity::coalesce' on rank "}},
      {"route",
       [](world& w, bool odd, const use_function& use) { make_with(w, odd, use, route{grid{}}); },
       {"amity::route<amity::grid>' on rank "}},
      {"a_type_more",
       [](world& w, bool odd, const use_function& use) {
         auto both = w.message<int>([](int) {});
         if (!odd) return use();
         auto more = w.message<double>([](double) {});
         use();
       },
       {"number 2 is ", "nothing on rank ", "'double, 8 bytes, handler "}},
  };
}

class type_agreement : public ::testing::TestWithParam<std::tuple<testing::job_kind, rank_t>> {
 protected:
  /// The first rank that finds the difference, in what `use` calls, ends the job.
  void expect_error_of(const difference& what, rank_t odd, const std::function<void(world&)>& use) const {
    const auto& [kind, ranks] = GetParam();
    kind.run(ranks, {}, [&](fabric::fabric& own) {
      std::string text;
      try {
        world w(own, {});
        w.barrier();
        what.make(w, w.rank() == odd, [&] {
          use(w);
          w.endpoint().wait_until("the end of the job", [] { return false; });
        });
      } catch (const error& found) {
        text = found.what();
        own.abort();
      } catch (const job_aborted&) {
        return;
      }
      SCOPED_TRACE(what.name + ", odd rank " + std::to_string(odd));
      expect_parts(text, {"amity: message types (rank ", " on rank " + std::to_string(odd),
                          "with the same handlers and policies, in the same order on all ranks"});
      for (const std::string& part : what.parts) expect_parts(text, {part});
    });
  }
};
INSTANTIATE_TEST_SUITE_P(world, type_agreement,
                         ::testing::Combine(::testing::ValuesIn(testing::every_job_kind()), ::testing::Values(2, 3, 5)),
                         testing::job_name);

TEST_P(type_agreement, fails_in_first_epoch_or_barrier) {
  for (const difference& what : differences()) {
    for (rank_t odd = 0; odd < std::get<rank_t>(GetParam()); ++odd) {
      expect_error_of(what, odd, [](world& w) { w.epoch([] {}); });
      expect_error_of(what, odd, [](world& w) { w.barrier(); });
    }
  }
}

TEST_P(type_agreement, allows_local_values_of_policies) {
  const auto& [kind, ranks] = GetParam();
  testing::run_worlds(kind, ranks, [](world& w) {
    const auto own = static_cast<std::size_t>(w.rank()) + 1;
    std::uint64_t handled = 0;
    const auto count = [&](int) { ++handled; };
    auto coalesced = w.message<int>(count, coalesce{.count = own, .microseconds = own});
    auto local = w.message<int>(count, deliver_locally{.count = own});
    auto urgent = w.message<int>(count, priority{.level = w.rank()});
    w.barrier();
    const auto all = w.epoch(
        [&] {
          for (rank_t to = 0; to < w.size(); ++to) {
            for (int i = 0; i < 20; ++i) coalesced.send(to, i), local.send(to, i), urgent.send(to, i);
          }
        },
        [&] { return handled; });
    EXPECT_EQ(all, 60u * static_cast<std::uint64_t>(w.size() * w.size()));
  });
}

}  // namespace
}  // namespace amity
