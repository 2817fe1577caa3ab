/// Collectives over a group allocate memory for the first reduce-scatter, and nothing after it.

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "amity/core/group_collectives.hpp"

namespace amity {
namespace {

std::atomic<std::size_t> allocations{0};

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  ++allocations;
  return memory;
}

// Inlined, it would seem to the compiler to free memory of another allocator.
[[gnu::noinline]] void give_back(void* memory) noexcept { std::free(memory); }

}  // namespace
}  // namespace amity

void* operator new(std::size_t bytes) { return amity::counted(std::malloc(bytes)); }
void operator delete(void* memory) noexcept { amity::give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { amity::give_back(memory); }

namespace amity::core {
namespace {

constexpr rank_t members = 11;
constexpr std::size_t part_bytes_max = 40;

/// Keeps the parts in an array that has been allocated before.
struct queue {
  struct packet {
    rank_t from, to;
    std::size_t bytes;
    std::byte part[part_bytes_max];
  };
  std::vector<packet> waiting;

  void send(rank_t from, rank_t to, bytes_view part) {
    packet& added = waiting.emplace_back(packet{from, to, part.size(), {}});
    std::memcpy(added.part, part.data(), part.size());
  }
};

TEST(group_collectives, memory_of_first_call_only) {
  queue sent;
  sent.waiting.reserve(1000);
  std::deque<group_collectives> all;
  for (rank_t member = 0; member < members; ++member) {
    all.emplace_back(member, members, part_bytes_max,
                     [&sent, member](rank_t dest, bytes_view part) { sent.send(member, dest, part); });
  }
  const std::vector<std::uint64_t> counts(members, 1);
  const auto run = [&](bool scatter, rank_t last) {
    const std::size_t before = allocations;
    sent.waiting.clear();
    std::size_t taken = 0;
    for (rank_t i = 1; i <= members; ++i) {
      group_collectives& own = all[static_cast<std::size_t>((last + i) % members)];
      if (scatter) {
        own.start_reduce_scatter(counts);
      } else {
        own.start(reduction::sum_u64, 1);
      }
      for (; taken < sent.waiting.size(); ++taken) {
        const queue::packet next = sent.waiting[taken];
        all[static_cast<std::size_t>(next.to)].on_packet(next.from, bytes_view(next.part, next.bytes));
      }
    }
    for (const group_collectives& own : all) {
      EXPECT_TRUE(own.done());
      EXPECT_EQ(own.result(), std::uint64_t{members});
    }
    return allocations - before;
  };
  EXPECT_EQ(run(false, 0), 0u);
  EXPECT_GT(run(true, 0), 0u);
  for (rank_t last = 0; last < members; ++last) run(true, last);  // each of them receives early parts
  for (rank_t last = 0; last < members; ++last) {
    EXPECT_EQ(run(true, last), 0u);
    EXPECT_EQ(run(false, last), 0u);
  }
}

}  // namespace
}  // namespace amity::core
