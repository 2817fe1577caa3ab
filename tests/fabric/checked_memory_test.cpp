/// `checked` catches each broken promise about remote memory, of its caller and of the fabric below, and names it.

#include <gtest/gtest.h>

#include <functional>
#include <utility>
#include <vector>

#include "amity/fabric/checked.hpp"
#include "amity/fabric/sim/sim.hpp"
#include "mailbox.hpp"
#include "payloads.hpp"

namespace amity::fabric {
namespace {

using testing::mailbox;
using testing::make_payload;

/// What a test has at hand: one checked rank, a segment of 64 bytes, and a handle to it.
struct lone_rank {
  fabric& own;
  mailbox& mail;
  remote_memory& memory;
  segment made;
  remote_handle opened;
};

void tidy_up(const lone_rank& r) {
  r.memory.close(r.opened);
  r.memory.destroy(r.made);
}

void run_lone(const std::function<void(lone_rank)>& body, bool checked_below = false) {
  sim::run(1, {}, [&](fabric& plain) {
    checked inner(plain);
    checked own(checked_below ? static_cast<fabric&>(inner) : plain);
    mailbox mail(own);
    mail.on_done([](std::uint64_t) {});
    mail.on_notify([](std::uint32_t) {});
    const segment made = own.remote()->create(64);
    body({own, mail, *own.remote(), made, own.remote()->open(0, made.key)});
    return 0;
  });
}

TEST(checked_memory, lets_pass_what_is_right) {
  run_lone(
      [](const lone_rank& r) {
        bool done = false;
        r.mail.on_done([&](std::uint64_t context) { done = context == 17; });
        EXPECT_EQ(r.opened.direct, nullptr);
        EXPECT_FALSE(r.own.caps().remote.mapped);
        const auto source = make_payload(8, 1);
        EXPECT_EQ(r.memory.put(r.opened, 56, source, {.complete = 17}), stage::source_free);
        r.mail.until([&] { return done; });
        tidy_up(r);
      },
      true);
}

TEST(checked_memory, operations_stay_inside_the_segment) {
  const auto source = make_payload(9, 1);
  EXPECT_DEATH(run_lone([&](const lone_rank& r) { static_cast<void>(r.memory.put(r.opened, 56, source)); }),
               "broke the fabric contract in put: 9 bytes at offset 56 of a segment of 64 bytes of rank 0");
  EXPECT_DEATH(
      run_lone([&](const lone_rank& r) { static_cast<void>(r.memory.put(r.opened, ~std::size_t{0}, source)); }),
      "in put: 9 bytes at offset 1844");
  EXPECT_DEATH(run_lone([&](const lone_rank& r) { static_cast<void>(r.memory.put_notify(r.opened, 65, {}, 1, 0)); }),
               "in put_notify: 0 bytes at offset 65");
  std::vector<std::byte> to(65);
  EXPECT_DEATH(run_lone([&](const lone_rank& r) { static_cast<void>(r.memory.get(r.opened, 0, to, 1)); }),
               "in get: 65 bytes at offset 0");
  EXPECT_DEATH(run_lone([&](const lone_rank& r) {
                 static_cast<void>(r.memory.get(r.opened, 0, mutable_bytes(static_cast<std::byte*>(nullptr), 8), 1));
               }),
               "in get: 8 bytes at no address");
}

TEST(checked_memory, words_are_aligned) {
  const auto request = [](std::size_t offset, std::uint8_t bytes) {
    run_lone([&](const lone_rank& r) {
      static_cast<void>(r.memory.atomic(r.opened, offset, {.bytes = bytes}, nullptr, 0));
    });
  };
  EXPECT_DEATH(request(4, 8), "in atomic: a word of 8 bytes at offset 4; words have 4 or 8, and are aligned");
  EXPECT_DEATH(request(8, 2), "in atomic: a word of 2 bytes at offset 8");
  EXPECT_DEATH(request(64, 8), "in atomic: 8 bytes at offset 64 of a segment of 64");
}

TEST(checked_memory, handles_are_open_and_segments_exist) {
  EXPECT_DEATH(run_lone([](const lone_rank& r) {
                 r.memory.close(r.opened);
                 static_cast<void>(r.memory.put(r.opened, 0, {}));
               }),
               "in put: a handle that is not open");
  EXPECT_DEATH(run_lone([](const lone_rank& r) {
                 r.memory.close(r.opened);
                 r.memory.close(r.opened);
               }),
               "in close: a handle that is not open");
  EXPECT_DEATH(run_lone([](const lone_rank& r) {
                 r.memory.destroy(r.made);
                 r.memory.destroy(r.made);
               }),
               "in destroy: a segment that does not exist, or not any more");
  EXPECT_DEATH(run_lone([](const lone_rank& r) { r.memory.open(1, r.made.key); }), "in open: rank 1 of a job of 1");
}

TEST(checked_memory, a_source_stays_until_it_is_free) {
  EXPECT_DEATH(run_lone([](const lone_rank& r) {
                 const segment large = r.memory.create(1000);
                 auto source = make_payload(1000, 1);
                 static_cast<void>(r.memory.put(r.memory.open(0, large.key), 0, source, {.complete = 1}));
                 source[500] ^= std::byte{1};
                 r.mail.until([] { return false; });
               }),
               "in poll: the source of a put of 1000 bytes to rank 0 has changed before it was free");
}

TEST(checked_memory, nothing_is_left_behind) {
  EXPECT_DEATH(run_lone([](const lone_rank& r) {
                 static_cast<void>(r.memory.put(r.opened, 0, {}, {.complete = 1}));
                 tidy_up(r);
               }),
               "in destructor: 1 operations on remote memory are in flight, one of them to rank 0");
  EXPECT_DEATH(run_lone([](const lone_rank& r) { r.memory.destroy(r.made); }),
               "in destructor: 1 handles were opened and never closed, one of them to rank 0");
  EXPECT_DEATH(run_lone([](const lone_rank& r) { r.memory.close(r.opened); }),
               "in destructor: 1 segments were made and never destroyed, one of them of 64 bytes");
}

TEST(checked_memory, segments_are_not_made_in_a_sink) {
  EXPECT_DEATH(run_lone([](const lone_rank& r) {
                 r.mail.on_notify([&](std::uint32_t) { r.memory.create(8); });
                 static_cast<void>(r.memory.put_notify(r.opened, 0, {}, 1, 0));
                 r.mail.until([] { return false; });
               }),
               "in create: called from a sink");
}

/// A fabric that tells of an operation too often, or of one that never was, or notifies whoever polls.
class untruthful final : public decorator {
 public:
  enum class fault { twice, invented, notifies };
  untruthful(fabric& inner, fault kind) : decorator(inner), kind_(kind) {}

  std::size_t poll(sink& receiver, std::size_t events_max) override {
    if (kind_ == fault::notifies) receiver.on_notify(1);
    if (kind_ == fault::invented) receiver.on_done(4711);
    repeating twice(receiver);
    return inner().poll(twice, events_max);
  }

 private:
  struct repeating final : sink {
    explicit repeating(sink& to) : to_(to) {}
    disposition on_packet(const packet& p) noexcept override { return to_.on_packet(p); }
    void on_done(std::uint64_t context) noexcept override {
      to_.on_done(context);
      to_.on_done(context);
    }
    sink& to_;
  };
  fault kind_;
};

TEST(checked_memory, events_come_once_and_to_those_who_asked) {
  const auto run_with = [](untruthful::fault kind, bool offers) {
    sim::run(1, {}, [&](fabric& plain) {
      untruthful below(plain, kind);
      checked own(below);
      mailbox mail(own);
      mail.on_done([](std::uint64_t) {});
      if (offers) {
        const segment made = own.remote()->create(64);
        static_cast<void>(own.remote()->put(own.remote()->open(0, made.key), 0, {}, {.complete = 1}));
      }
      mail.until([] { return false; });
      return 0;
    });
  };
  EXPECT_DEATH(run_with(untruthful::fault::twice, true),
               "the fabric sim broke its contract in poll: an event of no operation that is under way");
  EXPECT_DEATH(run_with(untruthful::fault::invented, true), "in poll: an event of no operation that is under way");
  EXPECT_DEATH(run_with(untruthful::fault::notifies, false),
               "in poll: a notification for a rank that has made no segment");
}

}  // namespace
}  // namespace amity::fabric
