#pragma once

/// What tests do with memory of peers in one world: puts, gets, atomics and Longs, on allocated and attached memory.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "amity/core/memory_service.hpp"
#include "tests/fabric/payloads.hpp"
#include "tests/support/worlds.hpp"

namespace amity::testing {

using core::endpoint;
using core::exchange;
using core::handler_id;
using core::local_segment;
using core::remote_segment;
using core::request;

inline constexpr std::size_t memory_block_bytes = 20'000;

// Each rank puts to the next one, gets it back, adds to a word of rank 0, and sends a Long to the one before.
inline void use_segments(world& in, const local_segment& mine, const std::vector<remote_segment>& all) {
  endpoint& own = in.endpoint();
  auto& memory = own.memory();
  const auto self = static_cast<std::size_t>(in.rank()), ranks = static_cast<std::size_t>(in.size());
  const std::size_t next = (self + 1) % ranks, before = (self + ranks - 1) % ranks;
  int landed = 0;
  const handler_id take = own.add_handler("take", [&](request& r) {
    EXPECT_TRUE(fabric::testing::is_payload(r.payload(), static_cast<std::uint64_t>(next) + 100));
    ++landed;
  });
  own.barrier();
  std::vector<std::byte> content(memory_block_bytes), got(memory_block_bytes);
  fabric::testing::fill(content, self);
  memory.put({all[next], 64}, content);
  memory.get({all[next], 64}, got);
  EXPECT_TRUE(fabric::testing::is_payload(got, self));
  memory.atomic({all[0], 0}, {.op = fabric::atomic_op::add, .operand = self + 1});
  fabric::testing::fill(content, self + 100);
  own.request_long({all[before], 64 + memory_block_bytes}, take, content);
  own.wait_until("the Long", [&] { return landed == 1; });
  own.barrier();
  EXPECT_TRUE(fabric::testing::is_payload({mine.data + 64, memory_block_bytes}, before));
  if (self == 0) {
    EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(mine.data), ranks * (ranks + 1) / 2);
  }
  own.barrier();
  own.remove_handler(take);
}

inline void use_memory(world& in) {
  constexpr std::size_t bytes = 64 + 2 * memory_block_bytes;
  std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
  endpoint& own = in.endpoint();
  auto& memory = own.memory();
  const local_segment allocated = memory.allocate(bytes);
  const local_segment attached = memory.attach(std::as_writable_bytes(std::span(words)));
  for (const local_segment& mine : {allocated, attached}) {
    std::vector<remote_segment> all = exchange(own, mine);
    for (const remote_segment& each : all) {
      const bool is_mapped = own.own_engine().transport().remote_to(each.lane).mapped;
      EXPECT_TRUE(mine == attached || (each.handle.direct != nullptr) == is_mapped);
    }
    use_segments(in, mine, all);
    for (remote_segment& each : all) memory.close(each);
    own.barrier();
    memory.release(mine);
  }
}

}  // namespace amity::testing
