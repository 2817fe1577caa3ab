/// Remote memory in several worlds of one job, which share it.

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "amity/core/memory_service.hpp"
#include "amity/fabric/checked.hpp"
#include "amity/fabric/decorator.hpp"
#include "tests/core/memory_use.hpp"
#include "tests/support/forbidden_calls.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"

namespace amity::fabric::testing {
namespace {

/// Attached memory cannot be reached, as where the system forbids it.
class apart final : public decorator, private remote_memory {
 public:
  explicit apart(fabric& inner) : decorator(inner) {}
  remote_memory* remote() noexcept override { return this; }

 private:
  segment create(std::size_t bytes) override { return below().create(bytes); }
  std::optional<segment> attach(mutable_bytes memory) override { return below().attach(memory); }
  void destroy(const segment& own) noexcept override { below().destroy(own); }
  remote_handle open(rank_t owner, const segment_key& key) override {
    const remote_handle opened = below().open(owner, key);
    if (opened.atomics) return opened;
    below().close(opened);
    return {};
  }
  void close(const remote_handle& opened) noexcept override { below().close(opened); }
  stage put_notify(const remote_handle& to, std::size_t offset, bytes_view from, std::uint32_t bits,
                   std::uint64_t when_free) noexcept override {
    return below().put_notify(to, offset, from, bits, when_free);
  }
  stage start_put(const remote_handle& to, std::size_t offset, bytes_view from, const events& tell) noexcept override {
    return below().put(to, offset, from, tell);
  }
  stage start_get(const remote_handle& from, std::size_t offset, mutable_bytes to,
                  std::uint64_t when_complete) noexcept override {
    return below().get(from, offset, to, when_complete);
  }
  stage start_atomic(const remote_handle& at, std::size_t offset, const atomic_request& what, std::uint64_t* previous,
                     std::uint64_t when_complete) noexcept override {
    return below().atomic(at, offset, what, previous, when_complete);
  }

  remote_memory& below() noexcept { return *inner().remote(); }
};

}  // namespace
}  // namespace amity::fabric::testing

namespace amity::core {
namespace {

using testing::use_memory;

class memory_worlds : public ::testing::TestWithParam<testing::job_kind> {};
INSTANTIATE_TEST_SUITE_P(core, memory_worlds, ::testing::ValuesIn(testing::every_job_kind()),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(memory_worlds, reach_peers_as_the_job_does) {
  testing::run_worlds(GetParam(), 4, [](world& w) {
    const auto copy = w.duplicate();
    const auto part = w.split({.color = w.rank() % 2, .key = -w.rank()});
    for (world* const each : {&w, copy.get(), part.get()}) use_memory(*each);
  });
}

// `complete` is reached once for each get, on each path.
TEST_P(memory_worlds, operations_tell_callers_without_event_once) {
  GetParam().run(3, {}, [](fabric::fabric& whole) {
    class counter final : public awaited {
     public:
      void reached() noexcept override { ++times; }
      int times = 0;
    };
    world w(whole, {});
    endpoint& own = w.endpoint();
    auto& memory = own.memory();
    const local_segment mine = memory.allocate(sizeof(std::uint64_t));
    const auto value = static_cast<std::uint64_t>(own.rank() + 1);
    std::memcpy(mine.data, &value, sizeof value);
    std::vector<remote_segment> all = exchange(own, mine);
    own.barrier();
    for (const remote_segment& from : all) {
      std::uint64_t seen = 0;
      counter told;
      get(own, {from, 0}, std::as_writable_bytes(std::span(&seen, 1)), told);
      own.wait_until("a get", [&] { return told.times > 0; });
      EXPECT_EQ(seen, static_cast<std::uint64_t>(from.lane + 1));
      own.barrier();
      EXPECT_EQ(told.times, 1);
    }
    const std::uint64_t next_value = 10 * value;
    counter told;
    put(own, {all[static_cast<std::size_t>(testing::next_of(w))], 0}, std::as_bytes(std::span(&next_value, 1)), told);
    own.wait_until("a put", [&] { return told.times > 0; });
    own.barrier();
    std::uint64_t seen = 0;
    std::memcpy(&seen, mine.data, sizeof seen);
    EXPECT_EQ(seen, 10 * static_cast<std::uint64_t>((w.rank() + w.size() - 1) % w.size() + 1));
    EXPECT_EQ(told.times, 1);
    for (remote_segment& each : all) memory.close(each);
    own.barrier();
    memory.release(mine);
  });
}

TEST(attached_memory, out_of_reach_takes_records) {
  fabric::sim::run(3, {}, [](fabric::fabric& whole) {
    fabric::checked checking(whole);
    fabric::testing::apart transport(checking);
    world w(transport, {});
    use_memory(w);
    w.barrier();
    return 0;
  });
}

TEST(attached_memory, forbidden_copies_travel_in_packets) {
  testing::processes("processes").run(3, {}, [](fabric::fabric& whole) {
    // A system without seccomp cannot forbid them, and the memory is reached.
    const bool is_forbidden = testing::forbid({SYS_process_vm_readv, SYS_process_vm_writev}, EPERM);
    world w(whole, {});
    {
      std::vector<std::uint64_t> words(8);
      auto& memory = w.endpoint().memory();
      const local_segment mine = memory.attach(std::as_writable_bytes(std::span(words)));
      std::vector<remote_segment> all = exchange(w.endpoint(), mine);
      for (const remote_segment& each : all) {
        EXPECT_EQ(segment_records::reach(each.handle), is_forbidden && each.lane != whole.rank());
      }
      for (remote_segment& each : all) memory.close(each);
      w.barrier();
      memory.release(mine);
    }
    use_memory(w);
    w.barrier();
  });
}

// Reassembly at the target: worlds share slots, which tell their messages apart.
TEST(memory_of_worlds, tell_notifications_apart) {
  const settings config = testing::configured({{"AMITY_LONG_PROTOCOL", "reassembly"}});
  testing::run_worlds(
      testing::simulated("sim", {}), 2,
      [&](world& w) {
        const auto copy = w.duplicate();
        const std::vector<std::byte> content(5000, std::byte{7});
        struct side {
          explicit side(world& of) : own(of.endpoint()), memory(own.memory()) {
            take = own.add_handler("take", [this](request&) { ++taken; });
            all = exchange(own, memory.allocate(5000));
          }
          endpoint& own;
          core::memory& memory;
          handler_id take = 0;
          int taken = 0;
          std::vector<remote_segment> all;
        };
        side one(w), other(*copy);
        const std::size_t peer = w.rank() == 0 ? 1 : 0;
        for (int i = 0; i < 100; ++i) {
          for (side* const each : {&one, &other}) {
            each->own.request_long({each->all[peer], 0}, each->take, content, {}, each->memory.implicit());
          }
        }
        w.endpoint().wait_until("the Longs", [&] { return one.taken == 100 && other.taken == 100; });
        for (side* const each : {&one, &other}) {
          each->memory.wait(each->memory.implicit());
          EXPECT_EQ(each->own.own_engine().served().memory().receiver.notifications_ignored(), 0u);
        }
        w.barrier();
      },
      config);
}

TEST(memory_of_worlds, have_thousands_of_segments) {
  constexpr int segments = 667;  // in each of three worlds
  testing::run_worlds(testing::threads("threads"), 2, [](world& w) {
    const auto copy = w.duplicate(), other = w.duplicate();
    for (world* const each : {&w, copy.get(), other.get()}) {
      endpoint& own = each->endpoint();
      auto& memory = own.memory();
      std::vector<std::vector<remote_segment>> opened;
      for (int i = 0; i < segments; ++i) opened.push_back(exchange(own, memory.allocate(64)));
      const std::size_t peer = w.rank() == 0 ? 1 : 0;
      std::byte value{}, got{};
      for (std::size_t i = 0; i < opened.size(); ++i) {
        value = static_cast<std::byte>(i % 251);
        memory.put({opened[i][peer], 0}, {&value, 1});
      }
      for (std::size_t i = 0; i < opened.size(); ++i) {
        memory.get({opened[i][peer], 0}, {&got, 1});
        EXPECT_EQ(got, static_cast<std::byte>(i % 251));
      }
      own.barrier();
    }
  });
}

// Atomics on attached memory travel in packets, by the number of the segment: it names the same memory there, whatever
// was made and released before.
TEST(attached_memory, keeps_number_in_packets) {
  testing::simulate(2, {}, [](endpoint& own) {
    auto& memory = own.memory();
    std::vector<std::vector<std::uint64_t>> words(6, std::vector<std::uint64_t>(8));
    std::vector<local_segment> mine;
    const auto attach = [&](std::size_t i) {
      mine.push_back(memory.attach(std::as_writable_bytes(std::span(words[i]))));
    };
    attach(0);
    mine.push_back(memory.allocate(64));
    attach(1);
    memory.release(mine[0]);
    attach(2);
    memory.release(mine[1]);
    attach(3);
    attach(4);
    const std::size_t peer = own.rank() == 0 ? 1 : 0;
    for (std::size_t i = 2; i < mine.size(); ++i) {
      std::vector<remote_segment> all = exchange(own, mine[i]);
      EXPECT_FALSE(all[peer].handle.atomics);
      memory.atomic({all[peer], 8}, {.op = fabric::atomic_op::add, .operand = i});
      std::uint64_t got = 0;
      memory.get({all[peer], 8}, std::as_writable_bytes(std::span(&got, 1)));
      EXPECT_EQ(got, i);
      own.barrier();
      for (remote_segment& each : all) memory.close(each);
    }
    EXPECT_EQ(words[0][1], 0u);
    for (std::size_t i = 1; i < 5; ++i) EXPECT_EQ(words[i][1], i + 1);
    own.barrier();
  });
}

TEST(attached_memory, unmapped_is_reported) {
  constexpr std::size_t bytes = 4096;
  testing::processes("processes").run(2, {}, [](fabric::fabric& whole) {
    endpoint own(whole, {});
    auto& memory = own.memory();
    void* const page = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const local_segment mine = memory.attach({static_cast<std::byte*>(page), bytes});
    const std::vector<remote_segment> all = exchange(own, mine);
    const bool is_copied_by_system = !segment_records::reach(all[1].handle);
    own.barrier();
    if (own.rank() == 1) ::munmap(page, bytes);
    own.barrier();
    if (own.rank() == 1 || !is_copied_by_system) return;
    const std::vector<std::byte> content(100);
    const remote_address at{all[1], 0};
    testing::expect_error([&] { memory.put(at, content); },
                          {"an operation on attached memory", "the memory of rank 1 cannot be reached"});
  });
}

TEST(attached_memory, of_an_ended_process_is_reported) {
  testing::processes("processes").run(2, {}, [](fabric::fabric& whole) {
    endpoint own(whole, {});
    auto& memory = own.memory();
    std::vector<std::byte> content(100);
    const local_segment mine = memory.attach(content);
    const std::vector<remote_segment> all = exchange(own, mine);
    const bool is_copied_by_system = !segment_records::reach(all[1].handle);
    own.barrier();
    if (!is_copied_by_system) return;
    if (own.rank() == 1) ::_exit(0);
    const auto put_until_error = [&] {
      for (;;) memory.put({all[1], 0}, content);
    };
    testing::expect_error(put_until_error, {"shared memory", "its process has ended"});
  });
}

}  // namespace
}  // namespace amity::core
