/// What windows take of the memory of the process, by members of the node that are not used.

#include <malloc.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "amity/window/window.hpp"
#include "tests/support/worlds.hpp"

namespace amity {
namespace {

/// Memory from operator new, of all ranks: they are threads or fibers of this process.
std::atomic<std::ptrdiff_t> bytes_now{0};

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  bytes_now += static_cast<std::ptrdiff_t>(::malloc_usable_size(memory));
  return memory;
}

// Inlined, it would seem to the compiler to free memory of another allocator.
[[gnu::noinline]] void give_back(void* memory) noexcept {
  bytes_now -= static_cast<std::ptrdiff_t>(::malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace
}  // namespace amity

void* operator new(std::size_t bytes) { return amity::counted(std::malloc(bytes)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return amity::counted(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept { amity::give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { amity::give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { amity::give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { amity::give_back(memory); }

namespace amity {
namespace {

using window_use = void (*)(world&, window<int>&);

/// Bytes per window on each rank, after `use`.
std::ptrdiff_t bytes_of_window(const testing::job_kind& kind, rank_t ranks, window_use use, int windows = 32) {
  std::ptrdiff_t bytes = 0;
  testing::run_worlds(kind, ranks, [&](world& w) {
    std::vector<window<int>> made;
    made.reserve(static_cast<std::size_t>(windows) + 1);
    const auto make = [&] { use(w, made.emplace_back(w.allocate_window<int>(1))); };
    make();  // ranks have their part for all windows afterwards
    w.barrier();
    const std::ptrdiff_t before = bytes_now;
    w.barrier();
    for (int i = 0; i < windows; ++i) make();
    w.barrier();
    if (w.rank() == 0) bytes = (bytes_now - before) / (windows * ranks);
    w.barrier();
  });
  return bytes;
}

void leave_unused(world&, window<int>&) {}

void put_to_next(world& w, window<int>& on) {
  const rank_t next = testing::next_of(w);
  on.lock(lock_kind::shared, next);
  on.put(next, 0, 1);
  on.unlock(next);
}

void put_to_all(world& w, window<int>& on) {
  on.lock_all();
  for (rank_t target = 0; target < w.size(); ++target) on.put(target, 0, 1);
  on.unlock_all();
}

void leave_fence(world&, window<int>& on) {
  on.fence(window_assert::no_precede);
  on.fence(window_assert::no_succeed);
}

/// Bytes that each further member adds to a window on each rank.
std::ptrdiff_t bytes_of_member(const testing::job_kind& kind, window_use use) {
  constexpr rank_t few = 4, many = 36;
  return (bytes_of_window(kind, many, use) - bytes_of_window(kind, few, use)) / (many - few);
}

TEST(window_memory, unused_member_of_node_takes_few_bytes) {
  const testing::job_kind node = testing::threads("threads");
  EXPECT_LE(bytes_of_member(node, leave_unused), 55);
  EXPECT_LE(bytes_of_member(node, put_to_next), 55);
}

TEST(window_memory, used_member_of_node_takes_less_than_kilobyte) {
  EXPECT_LE(bytes_of_member(testing::threads("threads"), put_to_all), 720);
}

TEST(window_memory, member_of_other_node_takes_nothing) {
  EXPECT_EQ(bytes_of_member(testing::simulated("sim", {}), leave_unused), 0);
}

/// Messages with output to this many next ranks, which have no buffers.
void send_to_next(world& w, window<int>& on, am_operation what, rank_t targets) {
  const std::array<int, 5> in{1, 2, 3, 4, 5};
  std::array<int, 5> out{};
  on.lock_all();
  for (rank_t i = 1; i <= targets; ++i) {
    on.am(what, (w.rank() + i) % w.size(), 0, 1, 1, std::span<const int>(in), std::span<int>(out));
    on.flush((w.rank() + i) % w.size());
  }
  on.unlock_all();
}

// The system buffer is memory only for origins that have sent, and while they send.
TEST(window_memory, messages_to_few_of_many_ranks) {
  constexpr rank_t ranks = 4096;
  std::ptrdiff_t bytes = 0;
  testing::run_worlds(testing::simulated("sim", {}), ranks, [&](world& w) {
    am_table handlers;
    const am_operation what = handlers.add([](const am_call&) {});
    w.barrier();
    const std::ptrdiff_t before = bytes_now;
    w.barrier();
    auto made = w.allocate_window<int>(1, {.name = "am", .messages = {.handlers = &handlers}});
    send_to_next(w, made, what, 4);
    w.barrier();
    if (w.rank() == 0) bytes = bytes_now - before;
    w.barrier();
  });
  EXPECT_LE(bytes, std::ptrdiff_t{1} << 30);  // 120 KB of a rank, most of it for lock_all
}

// Messages that wait take memory of the origin, and no more than this.
TEST(window_memory, messages_that_wait) {
  constexpr int messages = 100'000;
  testing::run_worlds(testing::simulated("sim", {}), 2, [&](world& w) {
    am_table handlers;
    const am_operation what = handlers.add([](const am_call&) {});
    window_options options{.name = "am", .messages = {.handlers = &handlers}};
    options.messages.messages_max = messages;
    auto made = w.allocate_window<int>(1, options);
    const std::array<int, 5> in{1, 2, 3, 4, 5};
    std::array<int, 5> out{};
    w.barrier();
    if (w.rank() == 0) {
      made.start(std::vector<rank_t>{1});  // the other rank posts later
      const std::ptrdiff_t before = bytes_now;
      for (int i = 0; i < messages; ++i) made.am(what, 1, 0, 1, 1, std::span<const int>(in), std::span<int>(out));
      EXPECT_LE((bytes_now - before) / messages, 180);
      EXPECT_GE((bytes_now - before) / messages, 60);
    }
    w.barrier();
    if (w.rank() == 0) {
      made.complete();
    } else {
      made.post(std::vector<rank_t>{0});
      made.wait();
    }
    w.barrier();
  });
}

/// A row of the table in docs/windows.md, in bytes.
struct documented_memory {
  rank_t ranks;
  std::ptrdiff_t created;
  std::ptrdiff_t fenced;
};

/// The table has two digits, and the allocator decides on some bytes.
void expect_documented(const testing::job_kind& kind, const documented_memory& row) {
  constexpr int windows = 8;
  const auto expect_near = [](std::ptrdiff_t bytes, std::ptrdiff_t documented) {
    EXPECT_LE(bytes, documented + documented / 10);
    EXPECT_GE(bytes, documented - documented / 10);
  };
  expect_near(bytes_of_window(kind, row.ranks, leave_unused, windows), row.created);
  expect_near(bytes_of_window(kind, row.ranks, leave_fence, windows), row.fenced);
}

TEST(window_memory, windows_of_many_nodes_take_what_is_documented) {
  for (const documented_memory& row : {documented_memory{64, 4300, 5700}, documented_memory{1024, 4300, 27'000}})
    expect_documented(testing::simulated("sim", {}), row);
}

TEST(window_memory, windows_of_one_node_take_what_is_documented) {
  expect_documented(testing::threads("threads"), {64, 7100, 16'000});
}

}  // namespace
}  // namespace amity
