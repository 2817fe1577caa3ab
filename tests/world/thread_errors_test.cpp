/// Ranks with several threads: how failures of one thread end, and mistakes with views of threads.

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "amity/amity.hpp"
#include "tests/support/programs.hpp"
#include "tests/support/texts.hpp"

namespace amity {
namespace {

using testing::network_is_tested;
using testing::outcome_of;
using testing::shape;

class failing_thread : public ::testing::TestWithParam<std::string> {};

std::string fabric_name(const ::testing::TestParamInfo<std::string>& tested) { return tested.param; }
INSTANTIATE_TEST_SUITE_P(all, failing_thread, ::testing::Values("threads", "sim", "shm"), fabric_name);
INSTANTIATE_TEST_SUITE_P(network, failing_thread,
                         ::testing::ValuesIn(std::vector<std::string>(network_is_tested ? 1 : 0, "ofi")), fabric_name);

/// Ranks that are processes would need a launcher.
rank_t up_to(rank_t ranks, const std::string& fabric) { return fabric == "shm" || fabric == "ofi" ? 1 : ranks; }

TEST_P(failing_thread, in_its_body_ends_the_job) {
  const auto [status, errors] = outcome_of(shape(GetParam(), up_to(3, GetParam()), 3), [](world& w) {
    auto any = w.message<int>([](int) {}, parallel{}, coalesce{});
    w.epoch([&](thread& t) {
      for (int i = 0; i < 100; ++i) any.on(t).send(i % w.size(), i);
      if (w.rank() == 0 && t.thread_index() == 2) throw std::runtime_error("no more");
    });
  });
  EXPECT_EQ(status, 1);
  EXPECT_EQ(errors, "amity: the program ended with an exception on rank 0: no more\n");
}

TEST_P(failing_thread, in_a_handler_ends_the_job) {
  const auto [status, errors] = outcome_of(shape(GetParam(), up_to(2, GetParam()), 4), [](world& w) {
    auto any = w.message<int>(
        [](int value) {
          if (value == 7) throw std::runtime_error("seven");
        },
        parallel{[](int value) { return static_cast<unsigned>(value); }});
    w.epoch([&](thread& t) {
      for (int i = 0; i < 10; ++i) any.on(t).send(w.size() - 1, i);
    });
  });
  EXPECT_EQ(status, 1);
  EXPECT_TRUE(errors.ends_with(": seven\n")) << errors;
}

TEST(killed_rank, with_threads_is_lost_as_one_without) {
  for (const char* when : {"2us", "5us", "20us"}) {
    const auto config = shape("sim", 2, 3, {"AMITY_SIM_FAULTS=kill:rank=1,at=" + std::string(when)});
    const auto [status, errors] = outcome_of(config, [](world& w) {
      auto any = w.message<int>([](int) {}, parallel{});
      for (int round = 0; round < 20; ++round) {
        w.epoch([&](thread& t) { any.on(t).send(1 - w.rank(), round); });
      }
    });
    EXPECT_EQ(status, 1);
    EXPECT_TRUE(errors.starts_with("amity: AMITY_FABRIC=sim (rank 0): rank 1, thread ")) << errors;
    EXPECT_NE(errors.find(" has vanished: AMITY_SIM_FAULTS has killed it"), std::string::npos) << errors;
  }
}

TEST_P(failing_thread, outside_epochs_ends_the_others_too) {
  const auto [status, errors] = outcome_of(shape(GetParam(), 1, 3), [](world& w) {
    auto any = w.message<int>([](int) {}, parallel{});
    w.epoch([](thread&) {});
    throw std::runtime_error("between epochs");
  });
  EXPECT_EQ(status, 1);
  EXPECT_EQ(errors, "amity: the program ended with an exception on rank 0: between epochs\n");
}

TEST_P(failing_thread, leaves_the_status_of_its_program) {
  EXPECT_EQ(testing::run_here(shape(GetParam(), 1, 3), [](world&) { return 42; }), 42);
}

/// Sends on thread 1 as if it was thread 0, whatever the policies are.
template <class... Policies>
void send_in_anothers_place(world& w, const Policies&... policies) {
  auto any = w.message<int>([](int) {}, policies...);
  w.epoch([&](thread& t) {
    if (t.thread_index() == 1) any.send(0, 1);
  });
}

TEST(threads_misuse, a_thread_uses_its_own_view) {
  const std::vector<std::function<void(world&)>> programs{
      [](world& w) { send_in_anothers_place(w); },
      [](world& w) { send_in_anothers_place(w, coalesce{}); },
      [](world& w) { send_in_anothers_place(w, unique{direct_mapped{16}}); },
      [](world& w) { send_in_anothers_place(w, deliver_locally{}); },
      [](world& w) { send_in_anothers_place(w, route{grid()}); },
  };
  for (const auto& wrong : programs) {
    const auto [status, errors] = outcome_of(shape("threads", 1, 2), wrong);
    EXPECT_EQ(status, 1);
    EXPECT_EQ(errors,
              "amity: message::send (rank 0): called by another thread than thread 0 of the rank; send through "
              "message::on(thread), or on(self) in a handler; leave reductions, barriers and async to thread 0; at the "
              "core, call the endpoint that team::lane has for the thread, or "
              "request::owner in a handler; and use no threads of your own\n");
  }
  const auto [status, errors] = outcome_of(shape("threads", 1, 2), [](world& w) {
    const std::vector<int> numbers(100);
    auto any = w.message<int>([](int) {});
    w.epoch([&](thread& t) {
      if (t.thread_index() == 1) any.send_buffer(0, numbers, 0);
    });
  });
  EXPECT_EQ(status, 1);
  EXPECT_EQ(errors.substr(0, 76), "amity: message::send_buffer (rank 0): called by another thread than thread 0");
}

TEST(threads_misuse, a_wrong_rank_is_named) {
  const auto [status, errors] = outcome_of(shape("threads", 2, 2), [](world& w) {
    auto keyed = w.message<int>([](int) {}, parallel{[](int) { return 1u; }}, coalesce{});
    if (w.rank() != 1) return w.epoch([] {});
    w.epoch([&] { keyed.send(2, 1); });
  });
  EXPECT_EQ(status, 1);
  EXPECT_EQ(errors, "amity: message::send (rank 1): destination 2 is not a rank of this job; use 0 to 1\n");
}

TEST(threads_misuse, handlers_on_other_threads_begin_no_epochs_and_change_no_handlers) {
  struct mistake {
    std::string call;
    std::function<void(world&)> make;
  };
  const std::vector<mistake> mistakes{
      {"epoch", [](world& w) { w.epoch([] {}); }},
      {"epoch", [](world& w) { auto period = w.begin_epoch(); }},
      {"team::add_handler", [](world& w) { w.team().add_handler("late", [](core::request&) {}); }},
      {"team::remove_handler", [](world& w) { w.team().remove_handler(0); }}};
  for (const auto& [call, make] : mistakes) {
    const auto [status, errors] = outcome_of(shape("threads", 1, 1, {"AMITY_PROGRESS_THREAD=1"}), [&](world& w) {
      const auto handler = w.team().add_handler("here", [&](core::request&) { make(w); });
      w.barrier();
      w.endpoint().request_short(0, handler);
      w.endpoint().wait_until("an error", [] { return false; });
    });
    EXPECT_EQ(status, 1) << call;
    testing::expect_parts(errors, {"amity: " + call + " (rank 0): called by a handler on another thread of the rank"});
  }
}

// A message to the own rank that goes round keeps it busy.
TEST(threads_misuse, epochs_do_not_nest) {
  const auto [status, errors] = outcome_of(shape("threads", 1, 2), [](world& w) { w.epoch([&] { w.epoch([] {}); }); });
  EXPECT_EQ(status, 1);
  EXPECT_NE(errors.find("epochs do not nest"), std::string::npos) << errors;
}

/// A call of the program, and what its error calls it.
struct own_call {
  std::string_view name;
  std::function<void(world&, message_type<int, void (*)(int)>&, window<int>&)> make;
};

const std::vector<own_call>& calls_of_the_program() {
  using messages = message_type<int, void (*)(int)>;
  static const std::vector<own_call> calls{
      {"collective", [](world& w, messages&, window<int>&) { w.barrier(); }},
      {"collective", [](world& w, messages&, window<int>&) { w.sum(std::uint64_t{1}); }},
      {"world::poll", [](world& w, messages&, window<int>&) { w.poll(); }},
      {"epoch", [](world& w, messages&, window<int>&) { w.epoch([] {}); }},
      {"window", [](world& w, messages&, window<int>&) { w.allocate_window<int>(1); }},
      {"window::put", [](world& w, messages&, window<int>& on) { on.put(1 - w.rank(), 0, 1); }},
      {"window::lock", [](world& w, messages&, window<int>& on) { on.lock(lock_kind::shared, 1 - w.rank()); }},
      {"window::fence", [](world&, messages&, window<int>& on) { on.fence(); }},
      {"message::send", [](world& w, messages& m, window<int>&) { m.send(1 - w.rank(), 1); }},
  };
  return calls;
}

/// What rank 0 prints while `call` is made by `where`, outside epochs of messages and with one of a window.
testing::outcome outcome_with(const own_call& call, const std::function<void(const std::function<void()>&)>& where) {
  return outcome_of(shape("threads", 2, 1, {"AMITY_WINDOW_PROTOCOL=buffered"}), [&](world& w) {
    auto messages = w.message<int>(+[](int) {});
    auto on = w.allocate_window<int>(4);
    if (call.name == "window::put") on.lock_all();
    const auto make = [&] {
      if (w.rank() == 0) where([&] { call.make(w, messages, on); });
    };
    call.name == "message::send" ? w.epoch(make) : make();
    if (call.name == "window::put") on.unlock_all();
    w.barrier();
  });
}

TEST(threads_misuse, calls_on_threads_of_the_program_are_named) {
  for (const own_call& each : calls_of_the_program()) {
    const auto [status, errors] = outcome_with(each, [&](const std::function<void()>& call) {
      std::jthread([&] {
        testing::expect_error(call, {each.name, "(rank 0): called by another thread than thread 0 of the rank"});
      });
    });
    EXPECT_EQ(status, 0) << each.name;
    EXPECT_EQ(errors, "") << each.name;
  }
}

// The child ends there, and its parent continues.
TEST(threads_misuse, calls_in_children_of_the_process_are_named) {
  for (const own_call& each : calls_of_the_program()) {
    const auto [status, errors] = outcome_with(each, [](const std::function<void()>& call) {
      const pid_t child = ::fork();
      if (child == 0) {
        try {
          call();
        } catch (...) {
        }
        ::_exit(7);
      }
      int how = 0;
      ::waitpid(child, &how, 0);
      EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 1) << how;
    });
    EXPECT_EQ(status, 0) << each.name;
    testing::expect_parts(errors,
                          {fmt::format("amity: {} (rank 0): called in a child process of the rank", each.name)});
  }
}

}  // namespace
}  // namespace amity
