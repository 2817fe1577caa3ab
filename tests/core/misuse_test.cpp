/// What the user of an endpoint may get wrong: each mistake has an error with call, rank, value and remedy, and leaves
/// nothing half done.

#include <stdexcept>

#include "amity/core/memory.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"

namespace amity::core {
namespace {

using testing::expect_error;
using testing::failure_of;
using testing::simulate;

TEST(misuse, a_request_to_a_rank_that_does_not_exist) {
  simulate(3, {}, [](endpoint& own) {
    const handler_id take = own.add_handler("take", [](request&) {});
    for (const rank_t wrong : {-1, 3, 1 << 30}) {
      const std::string value = std::to_string(wrong);
      expect_error([&] { own.request_short(wrong, take); }, {"endpoint::request_short", value, "use 0 to 2"});
      expect_error([&] { own.request_medium(wrong, take, {}); }, {"endpoint::request_medium", value, "use 0 to 2"});
    }
    EXPECT_EQ(own.counts().total().messages_sent, 0u);
  });
}

TEST(misuse, a_handler_that_does_not_exist) {
  simulate(1, {}, [](endpoint& own) {
    own.add_handler("first", [](request&) {});
    const handler_id removed = own.add_handler("second", [](request&) {});
    own.remove_handler(removed);
    const std::uint64_t before = own.handlers().fingerprint();
    for (const int wrong : {int{removed}, 77, 65535}) {
      const auto id = static_cast<handler_id>(wrong);
      const std::string value = std::to_string(wrong) + " is not the number of a handler (there are: #0 first)";
      expect_error([&] { own.request_short(0, id); }, {"(rank 0)", value, "add_handler"});
      expect_error([&] { own.request_medium(0, id, {}); }, {"(rank 0)", value});
      expect_error([&] { own.set_priority(id, 3); }, {"endpoint::set_priority (rank 0)", value, "add_handler"});
      expect_error([&] { own.remove_handler(id); }, {"endpoint::remove_handler (rank 0)", value, "add_handler"});
    }
    EXPECT_EQ(own.handlers().fingerprint(), before);
    EXPECT_EQ(own.add_handler("third", [](request&) {}), removed);
    EXPECT_EQ(own.handlers().at(removed).priority, 0);
  });
}

TEST(misuse, too_many_arguments) {
  simulate(1, {}, [](endpoint& own) {
    const handler_id take = own.add_handler("take", [](request&) {});
    expect_error([&] { own.request_short(0, take, std::vector<std::uint64_t>(17)); },
                 {"17 arguments", "at most 16", "medium"});
    const std::vector<std::uint64_t> many(300);
    expect_error([&] { own.request_medium(0, take, {}, many); }, {"300 arguments", "at most 16"});
  });
}

TEST(misuse, reduction_that_does_not_exist) {
  simulate(2, {}, [](endpoint& own) {
    for (const reduction wrong : {static_cast<reduction>(99), reduction::scatter_sum_u64}) {
      const std::string value = std::to_string(static_cast<unsigned>(wrong)) + " is not a reduction of one word";
      expect_error([&] { own.reduce(wrong, 1); }, {"collective (rank ", value, "none to max_f64"});
    }
    EXPECT_EQ(own.reduce(reduction::sum_u64, 1), 2u);
  });
}

// A reply that failed can be repeated.
TEST(misuse, a_second_reply) {
  simulate(2, {}, [](endpoint& own) {
    int replies = 0;
    const handler_id back = own.add_handler("back", [&](request&) { ++replies; });
    const handler_id ask = own.add_handler("ask", [&](request& r) {
      expect_error([&] { r.reply_short(99, {}); }, {"request::reply_short", "99 is not the number of a handler"});
      expect_error([&] { r.reply_medium(back, {}, std::vector<std::uint64_t>(17)); },
                   {"request::reply_medium", "17 arguments"});
      r.reply_short(back, {});
      expect_error([&] { r.reply_short(back, {}); }, {"request::reply", "(rank 1)", "second reply", "rank 0"});
      expect_error([&] { r.reply_medium(back, {}); }, {"second reply"});
    });
    own.barrier();
    if (own.rank() == 0) {
      own.request_short(1, ask);
      own.wait_until("the reply", [&] { return replies > 0; });
    }
    own.barrier();
    EXPECT_EQ(replies, own.rank() == 0 ? 1 : 0);
  });
}

TEST(misuse, a_reply_to_a_reply) {
  simulate(2, {}, [](endpoint& own) {
    bool ended = false;
    handler_id back = 0;
    back = own.add_handler("back", [&](request& r) {
      expect_error([&] { r.reply_short(back, {}); }, {"request::reply_short", "(rank 0)", "a reply of rank 1"});
      expect_error([&] { r.reply_medium(back, {}); }, {"request::reply_medium", "was replied to", "send a request"});
      ended = true;
    });
    // In fragments, too, a reply is one.
    const std::vector<std::byte> large(3 * own.packet_bytes_max());
    const handler_id ask = own.add_handler("ask", [&](request& r) { r.reply_medium(back, large); });
    own.barrier();
    if (own.rank() == 0) {
      own.request_short(1, ask);
      own.wait_until("the reply", [&] { return ended; });
    }
    own.barrier();
  });
}

TEST(misuse, what_a_handler_may_not_do) {
  simulate(1, {}, [](endpoint& own) {
    bool ran = false;
    auto& memory = own.memory();
    remote_segment opened = memory.open(memory.allocate(64).descriptor);
    const handler_id take = own.add_handler("take", [&](request&) {
      ran = true;
      expect_error([&] { own.wait_until("what holds already", [] { return true; }); },
                   {"endpoint::wait_until", "(rank 0)", "called in a handler"});
      expect_error([&] { memory.close(opened); }, {"memory::close", "handler"});
      expect_error([&] { own.barrier(); }, {"collective", "handler"});
      expect_error([&] { own.reduce(reduction::sum_u64, 1); }, {"collective", "handler"});
      expect_error([&] { own.progress(); }, {"endpoint::progress", "handler"});
      expect_error([&] { own.make_room(0); }, {"endpoint::make_room", "handler"});
      expect_error([&] { own.add_handler("more", [](request&) {}); }, {"endpoint::add_handler", "handler"});
      expect_error([&] { own.remove_handler(0); }, {"endpoint::remove_handler", "handler"});
    });
    own.request_short(0, take);
    own.wait_until("the handler", [&] { return ran; });
    EXPECT_TRUE(own.handlers().contains(take));
    memory.close(opened);
  });
}

// What a handler throws ends the job: the call that ran it rethrows it, on that rank, and so does every later one.
class handler_failures : public testing::every_fabric {};
INSTANTIATE_TEST_SUITE_P(core, handler_failures,
                         ::testing::Combine(::testing::Values(testing::simulated("sim", {}),
                                                              testing::threads("threads")),
                                            ::testing::Values(1, 2, 3, 4, 8)),
                         testing::job_name);

// Later messages are not handled.
TEST_P(handler_failures, surface_from_the_call_that_ran_the_handler) {
  const std::string problem = "a handler's own problem";
  const std::string text = failure_of([&] {
    run([&](endpoint& own) {
      int handled = 0;
      const handler_id fail = own.add_handler("fail", [&](request&) {
        ++handled;
        throw std::runtime_error(problem);
      });
      own.barrier();
      for (int i = 0; i < 10; ++i) own.request_short(own.size() - 1, fail);
      if (own.rank() == own.size() - 1) {
        EXPECT_EQ(failure_of([&] { own.wait_until("a failure", [] { return false; }); }), problem);
        EXPECT_FALSE(own.in_handler());
        for (int i = 0; i < 10; ++i) EXPECT_EQ(failure_of([&] { own.progress(); }), problem);
        for (int i = 0; i < 2; ++i) EXPECT_EQ(failure_of([&] { own.barrier(); }), problem);
        EXPECT_EQ(handled, 1);
        EXPECT_EQ(own.counts().total().messages_handled, 0u);
      }
      own.wait_until("the end of the job", [] { return false; });
    });
  });
  EXPECT_EQ(text, problem);
}

TEST_P(handler_failures, keep_the_first_where_a_handler_has_two) {
  const std::string text = failure_of([&] {
    run([](endpoint& own) {
      const handler_id fail = own.add_handler("fail", [&](request&) {
        own.fail(std::make_exception_ptr(std::runtime_error("why")));
        throw std::runtime_error("what follows from it");
      });
      own.barrier();
      if (own.rank() == 0) own.request_short(own.size() - 1, fail);
      own.wait_until("the end of the job", [] { return false; });
    });
  });
  EXPECT_EQ(text, "why");
}

}  // namespace
}  // namespace amity::core
