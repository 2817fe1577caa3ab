/// More than a target can take: three ranks flood a fourth that does not poll for a while. Memory stays within the
/// credits, senders wait, and nothing is lost.

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "amity/fabric/decorator.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "tests/fabric/payloads.hpp"
#include "tests/support/jobs.hpp"

namespace amity::core {
namespace {

using fabric::testing::is_payload;
using fabric::testing::make_payload;
using testing::simulate;

constexpr rank_t target = 3;
constexpr std::uint64_t each_sends = 2000;

void flood_while_stopped(std::size_t bytes) {
  constexpr std::uint64_t credits = 8;
  constexpr std::uint64_t stop_ns = 50'000;
  constexpr std::uint64_t resume_ns = 20'000'000;
  std::array<std::uint64_t, 3> sent_meanwhile{};
  simulate(4,
           {.delay_ns_max = 500,
            .credits = credits + fabric::reserve_per_peer,
            .stopped_ranks = {{.rank = target, .from_ns = stop_ns, .until_ns = resume_ns}}},
           [&](endpoint& own) {
             std::uint64_t handled = 0;
             const handler_id take = own.add_handler("take", [&](request& r) {
               EXPECT_TRUE(is_payload(r.payload(), r.args()[0]));
               EXPECT_EQ(r.payload().size(), bytes);
               ++handled;
             });
             own.barrier();
             testing::idle_until(own.transport(), 2 * stop_ns);  // the target has stopped
             if (own.rank() == target) {
               own.wait_until("the flood", [&] { return handled == 3 * each_sends; });
             } else {
               std::uint64_t& meanwhile = sent_meanwhile[static_cast<std::size_t>(own.rank())];
               for (std::uint64_t i = 0; i < each_sends; ++i) {
                 own.request_medium(target, take, make_payload(bytes, i), {i});
                 if (own.transport().now_ns() < resume_ns) ++meanwhile;
               }
               EXPECT_EQ(own.own_engine().bound().bytes_peak(), 0u);
             }
             own.barrier();
           });
  // What each could send is what its credits hold; one of them is for answers alone.
  constexpr std::uint64_t usable = credits + fabric::reserve_per_peer - 1;
  EXPECT_EQ(sent_meanwhile, (std::array<std::uint64_t, 3>{usable, usable, usable}));
}

TEST(flood, of_short_messages_waits_for_credits) { flood_while_stopped(0); }
TEST(flood, of_large_packets_waits_for_credits) { flood_while_stopped(4000); }

/// Counts how often a rank went to sleep.
class sleeps_counted final : public fabric::decorator {
 public:
  sleeps_counted(::amity::fabric::fabric& inner, std::atomic<int>& sleeps) : decorator(inner), sleeps_(sleeps) {}
  void sleep(const ::amity::fabric::alarm& by, std::uint64_t timeout_ns) noexcept override {
    ++sleeps_;
    decorator::sleep(by, timeout_ns);
  }

 private:
  std::atomic<int>& sleeps_;
};

TEST(flood, of_a_thread_that_does_not_poll_waits_for_credits) {
  const settings config = testing::configured({{"AMITY_SHM_RING_SLOTS", "32"}, {"AMITY_SHM_BUFFERS", "4"}});
  std::array<std::atomic<std::uint64_t>, 3> sent{};
  std::array<std::atomic<int>, 4> sleeps{};
  fabric::shm::run_threads(config, 4, [&](fabric::fabric& transport) {
    const auto me = static_cast<std::size_t>(transport.rank());
    sleeps_counted counted(transport, sleeps[me]);
    endpoint own(counted, config);
    std::uint64_t handled = 0;
    const handler_id take = own.add_handler("take", [&](request& r) {
      EXPECT_TRUE(is_payload(r.payload(), r.args()[0]));
      ++handled;
    });
    own.barrier();
    if (own.rank() == target) {
      // Does not poll until all three have filled what they may and given up.
      for (std::size_t source = 0; source < 3; ++source) {
        while (sent[source] == 0) ::sched_yield();
        for (const int before = sleeps[source]; sleeps[source] < before + 2;) ::sched_yield();
        // A fast source may have begun while the target was still in the barrier.
        EXPECT_LE(sent[source], 32u + handled);
      }
      own.wait_until("the flood", [&] { return handled == 3 * each_sends; });
    } else {
      for (std::uint64_t i = 0; i < each_sends; ++i) {
        // In turns through the ring alone and through buffers, of which there are fewer.
        own.request_medium(target, take, make_payload(i % 32 == 31 ? 600 : 8, i), {i});
        ++sent[me];
      }
      EXPECT_EQ(own.own_engine().bound().bytes_peak(), 0u);
    }
    own.barrier();
    return 0;
  });
}

}  // namespace
}  // namespace amity::core
