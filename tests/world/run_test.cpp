/// amity::run with ranks in this process: statuses, failures, settings, and what is printed.

#include "amity/world/run.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/error.hpp"
#include "tests/support/programs.hpp"
#include "tests/tools/child.hpp"

namespace amity {
namespace {

using testing::outcome_of;

/// Settings for a job of this kind, or the process's own rank.
settings job(const std::string& fabric, int ranks, std::vector<std::string> more = {}) {
  more.push_back("AMITY_FABRIC=" + fabric);
  more.push_back("AMITY_RANKS=" + std::to_string(ranks));
  return settings::from_list(more);
}

using kind = tests::fabric_job;

class in_process : public ::testing::TestWithParam<kind> {
 protected:
  settings config(std::vector<std::string> more = {}) const { return job(fabric(), ranks(), std::move(more)); }
  const std::string& fabric() const { return GetParam().fabric; }
  int ranks() const { return GetParam().ranks; }
};

std::vector<kind> kinds() {
  std::vector<kind> result{{"shm", 1}};
  for (const int ranks : {1, 2, 3, 4, 8}) {
    result.push_back({"threads", ranks});
    result.push_back({"sim", ranks});
  }
  return result;
}

INSTANTIATE_TEST_SUITE_P(run, in_process, ::testing::ValuesIn(kinds()), tests::job_name);

TEST_P(in_process, runs_the_program_once_a_rank) {
  std::atomic<std::uint64_t> seen = 0;
  const auto ended = outcome_of(config(), [&](world& w) {
    EXPECT_EQ(w.size(), ranks());
    seen += std::uint64_t{1} << (8 * w.rank());
  });
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.errors, "");
  EXPECT_EQ(seen, 0x0101010101010101u >> (8 * (8 - ranks())));
}

TEST_P(in_process, returns_the_status_of_the_rank_that_failed) {
  const auto ended = outcome_of(config(), [&](world& w) {
    if (w.rank() == ranks() - 1) return 7;
    w.barrier();  // the others wait for it
    return 0;
  });
  EXPECT_EQ(ended.status, 7);
  const std::string last = std::to_string(ranks() - 1);
  EXPECT_EQ(ended.errors,
            ranks() == 1 ? "" : "amity: rank " + last + ": the program ended with status 7, and so does the job\n");
}

TEST_P(in_process, names_the_rank_whose_program_has_ended_while_others_wait) {
  if (ranks() == 1) return;
  const auto ended = outcome_of(config(), [&](world& w) {
    if (w.rank() != ranks() - 1) w.barrier();
  });
  EXPECT_EQ(ended.status, 1);
  // Whichever of the two is named first.
  const std::string last = "rank " + std::to_string(ranks() - 1);
  const std::string there = " in the barrier at the end of its program";
  EXPECT_TRUE(tests::contains(ended.errors, last + " is" + there) || tests::contains(ended.errors, last + there))
      << ended.errors;
}

TEST_P(in_process, a_failure_ends_ranks_that_wait_in_an_epoch) {
  const auto ended = outcome_of(config(), [&](world& w) {
    auto message = w.message<int>([](int) {}, coalesce{});
    if (w.rank() == ranks() - 1) return 7;
    w.epoch([&] { message.send(w.size() - 1, 1); });
    return 0;
  });
  EXPECT_EQ(ended.status, 7);
}

TEST_P(in_process, prints_an_error_once) {
  const auto ended = outcome_of(config(), [&](world& w) {
    if (w.rank() == ranks() - 1) throw error("test", w.rank(), "it went wrong", "do not");
    w.barrier();
  });
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.errors, "amity: test (rank " + std::to_string(ranks() - 1) + "): it went wrong; do not\n");
}

TEST_P(in_process, prints_an_exception_of_the_program_with_its_rank) {
  for (const bool is_of_a_known_type : {true, false}) {
    const auto ended = outcome_of(config(), [&](world& w) {
      if (w.rank() < ranks() - 1) return w.barrier();
      if (is_of_a_known_type) throw std::runtime_error("no such file");
      throw 3;
    });
    EXPECT_EQ(ended.status, 1);
    EXPECT_EQ(ended.errors, "amity: the program ended with an exception on rank " + std::to_string(ranks() - 1) + ": " +
                                (is_of_a_known_type ? "no such file\n" : "of unknown type\n"));
  }
}

TEST_P(in_process, warns_about_a_misspelt_variable_once_a_job) {
  const auto ended = outcome_of(config({"AMITY_RANK_COUNT=3", "AMITY_SIM_SED=7"}), [](world& w) { w.barrier(); });
  EXPECT_EQ(ended.status, 0);
  const auto count = [&](const std::string& part) {
    std::size_t found = 0;
    for (auto at = ended.errors.find(part); at != std::string::npos; at = ended.errors.find(part, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("amity: AMITY_SIM_SED is not a setting; did you mean AMITY_SIM_SEED?\n"), 1u) << ended.errors;
  EXPECT_EQ(count("amity: AMITY_RANK_COUNT is not a setting; "), 1u) << ended.errors;
}

// Its handler would run on what the program has left behind.
TEST_P(in_process, a_message_type_that_outlives_the_program_is_an_error) {
  std::vector<std::unique_ptr<std::byte[]>> memory(static_cast<std::size_t>(ranks()));
  const auto ended = outcome_of(config(), [&](world& w) {
    const auto make = [&] { return w.message<int>([](int) {}); };
    auto& place = memory[static_cast<std::size_t>(w.rank())];
    place = std::make_unique<std::byte[]>(sizeof(decltype(make())));
    new (place.get()) auto(make());  // its destructor never runs
  });
  EXPECT_EQ(ended.status, 1);
  EXPECT_NE(ended.errors.find("the program has ended before its message types; there are still: #0 async, #1 int; let "
                              "every message type end inside the program, at the latest with it\n"),
            std::string::npos)
      << ended.errors;
}

TEST_P(in_process, checks_the_fabric_if_asked_to) {
  const auto packet_bytes = [&](const settings& with) {
    std::atomic<std::size_t> bytes = 0;
    const auto ended = outcome_of(with, [&](world& w) {
      auto message = w.message<int>([](int) {}, coalesce{});
      w.epoch([&] { message.send((w.rank() + 1) % w.size(), 1); });
      bytes = w.endpoint().packet_bytes_max();
    });
    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(ended.errors, "");
    return bytes.load();
  };
  // A check needs some of each packet for itself.
  EXPECT_EQ(packet_bytes(config({"AMITY_FABRIC_CHECKED=1"})) + 16, packet_bytes(config()));
}

/// The beginning of the line that a trace report has for a peer.
struct row {
  int peer, packets_sent, bytes_sent;
};

row row_of(const std::string& report, int peer) {
  std::istringstream lines(report);
  std::string line;
  while (std::getline(lines, line)) {
    row found;
    std::istringstream words(line);
    if (words >> found.peer >> found.packets_sent >> found.bytes_sent && found.peer == peer) return found;
  }
  return {peer, -1, -1};
}

TEST_P(in_process, prints_a_trace_report_of_each_rank_in_order) {
  for (const char* const checked : {"AMITY_FABRIC_CHECKED=0", "AMITY_FABRIC_CHECKED=1"}) {
    const auto ended = outcome_of(config({"AMITY_FABRIC_TRACED=1", checked}), [](world& w) {
      auto message = w.message<std::array<char, 100>>([](const auto&) {});
      w.epoch([&] {
        for (int i = 0; i <= w.rank(); ++i) message.send(w.rank(), {});
      });
    });
    EXPECT_EQ(ended.status, 0);
    std::size_t at = 0;
    for (int rank = 0; rank < ranks(); ++rank) {
      const std::string head =
          "rank " + std::to_string(rank) + " of " + std::to_string(ranks()) + " on " + fabric() + ": ";
      const auto found = ended.errors.find(head, at);
      ASSERT_NE(found, std::string::npos) << head << "\n" << ended.errors;
      EXPECT_EQ(ended.errors.find(head), found) << "printed twice, or out of order";
      at = found;
      // What it has sent to itself, without what a check adds to it.
      const row own = row_of(ended.errors.substr(at), rank);
      EXPECT_EQ(own.packets_sent, rank + 1) << ended.errors;
      EXPECT_EQ(own.bytes_sent, 100 * (rank + 1)) << ended.errors;
    }
  }
}

TEST_P(in_process, runs_again_and_again) {
  for (int i = 0; i < 5; ++i) {
    const auto ended = outcome_of(config(), [&](world& w) {
      const auto ranks_counted = w.sum(std::uint64_t{1});
      return ranks_counted == static_cast<std::uint64_t>(ranks()) && i == 3 && w.rank() == 0 ? 3 : 0;
    });
    EXPECT_EQ(ended.status, i == 3 ? 3 : 0);
  }
}

/// Virtual time of an epoch in which rank 1 handles 100 messages of a type, each alone in its packet.
template <class T>
std::uint64_t virtual_ns(const std::vector<std::string>& costs, std::string* errors = nullptr) {
  std::uint64_t ns = 0;
  const auto ended = outcome_of(job("sim", 2, costs), [&](world& w) {
    auto count = w.message<T>([](T) {}, coalesce{.count = 1});
    const std::uint64_t begin_ns = w.endpoint().transport().now_ns();
    w.epoch([&] {
      for (int i = 0; w.rank() == 0 && i < 100; ++i) count.send(1, T{});
    });
    ns = w.endpoint().transport().now_ns() - begin_ns;
  });
  EXPECT_EQ(ended.status, 0) << ended.errors;
  if (errors != nullptr) *errors = ended.errors;
  return ns;
}

TEST(sim_handler_costs, are_of_the_message_types_that_they_name) {
  const std::vector<std::string> costs{"AMITY_SIM_HANDLERS_NS=unsigned int=7us; float = 3us",
                                       "AMITY_SIM_HANDLERS_BYTE_PS=unsigned int=1000000"};
  EXPECT_GE(virtual_ns<std::uint32_t>(costs), 100 * (7'000u + 4'000u));
  const std::uint64_t floats_ns = virtual_ns<float>(costs);
  EXPECT_GE(floats_ns, 100 * 3'000u);
  EXPECT_LT(floats_ns, 100 * 7'000u);
  EXPECT_LT(virtual_ns<int>(costs), 100 * 3'000u);
}

TEST(sim_handler_costs, of_which_no_message_comes_are_named) {
  std::string errors;
  virtual_ns<float>({"AMITY_SIM_HANDLERS_NS=float=1us;flaot=2us"}, &errors);
  EXPECT_NE(errors.find("no message of 'flaot' has come"), std::string::npos) << errors;
  EXPECT_EQ(errors.find("'float'"), std::string::npos) << errors;
}

TEST(sim_handler_costs, that_are_none_are_errors) {
  for (const std::string wrong : {"float", "float=", "float=fast", "=3us", "float=-1"}) {
    const auto ended = outcome_of(job("sim", 2, {"AMITY_SIM_HANDLERS_NS=" + wrong}), [](world&) {});
    EXPECT_NE(ended.status, 0) << wrong;
    EXPECT_NE(ended.errors.find("is no cost of a handler"), std::string::npos) << ended.errors;
  }
}

TEST(run, fabrics_may_follow_one_another_in_a_process) {
  for (const kind& each : kinds()) {
    std::atomic<int> ranks = 0;
    EXPECT_EQ(outcome_of(job(each.fabric, each.ranks), [&](world&) { ++ranks; }).status, 0);
    EXPECT_EQ(ranks, each.ranks);
  }
}

TEST(run, a_job_may_run_inside_a_job) {
  const auto ended = outcome_of(job("threads", 2), [](world& outer) {
    const int inner = testing::run_here(job("sim", 3), [](world& w) { return w.size() == 3 ? 0 : 1; });
    EXPECT_EQ(outer.sum(static_cast<std::uint64_t>(inner)), 0u);
  });
  EXPECT_EQ(ended.status, 0);
}

}  // namespace
}  // namespace amity
