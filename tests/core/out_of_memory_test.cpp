/// A packet of the runtime that cannot wait, because there is no memory, fails the job; the call that sends it does not
/// throw, for it may run where nothing may be thrown.

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "amity/core/engine.hpp"
#include "amity/fabric/decorator.hpp"
#include "tests/support/jobs.hpp"

namespace amity {
namespace {

/// The next allocations fail.
std::atomic<bool> no_memory{false};

void* allocate(std::size_t bytes) {
  void* const memory = no_memory ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// Inlined, it would seem to the compiler to free memory of another allocator.
[[gnu::noinline]] void give_back(void* memory) noexcept { std::free(memory); }

}  // namespace
}  // namespace amity

void* operator new(std::size_t bytes) { return amity::allocate(bytes); }
void operator delete(void* memory) noexcept { amity::give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { amity::give_back(memory); }

namespace amity::core {
namespace {

/// Has no credit for any packet.
class without_credits final : public fabric::decorator {
 public:
  explicit without_credits(::amity::fabric::fabric& whole) : decorator(whole) {}

  status try_send(rank_t, std::uint64_t, bytes_view, ::amity::fabric::claim) noexcept override { return status::again; }
};

TEST(out_of_memory, packet_that_cannot_wait_fails_job) {
  testing::simulated("sim", {}).run(1, {}, [](fabric::fabric& whole) {
    without_credits transport(whole);
    engine on(transport, {}, 1);
    no_memory = true;
    on.send(0, service::wake, {});
    no_memory = false;
    EXPECT_TRUE(on.unsent().empty());
    EXPECT_THROW(on.progress(), std::bad_alloc);
    on.leave_fabric();
  });
}

}  // namespace
}  // namespace amity::core
