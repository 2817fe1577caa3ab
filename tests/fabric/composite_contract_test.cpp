/// The contract on the composite: one machine plays several nodes, with libfabric between them.

#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/base/error.hpp"
#include "amity/fabric/checked.hpp"
#include "amity/fabric/composite/composite.hpp"
#include "amity/fabric/ofi/ofi.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/fabric/waiter.hpp"
#include "amity/world/transport.hpp"
#include "contract.hpp"
#include "mailbox.hpp"
#include "remote_user.hpp"
#include "tests/support/skip.hpp"

namespace amity::fabric::testing {
namespace {

using changes = std::vector<std::pair<std::string, std::string>>;
using placement = std::function<rank_t(rank_t)>;

/// Small rings, few buffers and credits, and packets of two sizes: everything fills up.
const changes scarce{{"AMITY_SHM_RING_SLOTS", "16"}, {"AMITY_SHM_BUFFERS", "3"},       {"AMITY_SHM_PACKET_BYTES", "2k"},
                     {"AMITY_OFI_CREDITS", "2"},     {"AMITY_OFI_PACKET_BYTES", "1k"}, {"AMITY_OFI_PROVIDER", "net"}};

/// Lets ranks leave together, as programs of amity::run do. What they say for that is no packet of the test's.
class departure {
 public:
  explicit departure(rank_t ranks) : ranks_(ranks) {
    void* const shared = ::mmap(nullptr, sizeof(*ready_), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ready_ = ::new (shared) std::atomic<rank_t>(0);
  }
  ~departure() { ::munmap(ready_, sizeof(*ready_)); }
  departure(const departure&) = delete;
  departure& operator=(const departure&) = delete;

  void take(fabric& own) const {
    mailbox mail(own, done_with);
    mail.on_done([](std::uint64_t) {});  // of operations that a job has not ended
    mail.on_notify([](std::uint32_t) {});
    for (ready_->fetch_add(1); ready_->load() < ranks_;) {
      own.poll(mail, 16);
      try {
        wait(own, 1'000'000);
      } catch (const job_aborted&) {
        ::sched_yield();  // the test has ended the job
      }
    }
  }

 private:
  rank_t ranks_;
  std::atomic<rank_t>* ready_ = nullptr;
};

/// Each process is `threads` ranks of the fabric.
harness processes(std::string name, const placement& node_of, const changes& values, rank_t threads = 1) {
  return {.name = std::move(name), .run = [=](rank_t ranks, const rank_body& body) {
            const auto job = shm::job_memory::create(ranks);
            const departure together(ranks);
            // libfabric looks at the whole machine when it is first used: once here, not once a rank.
            static_cast<void>(ofi::describe(settings(), ranks));
            run_forked(ranks / threads, [&](rank_t rank) {
              settings config;
              config.set("AMITY_FABRIC", "composite");
              config.set("AMITY_RANKS", std::to_string(ranks / threads));
              config.set("AMITY_THREADS", std::to_string(threads));
              config.set("AMITY_RANK", std::to_string(rank));
              config.set("AMITY_JOB_FD", std::to_string(job.fd()));
              config.set("AMITY_NODE", std::to_string(node_of(rank)));
              config.set("AMITY_OFI_ADDRESS", "127.0.0.1");
              for (const auto& [setting, value] : values) config.set(setting, value);
              const auto own = amity::detail::join_job(config, amity::detail::connect(config), threads);
              run_lanes(*own, [&](fabric& lane) {
                body(lane);
                together.take(lane);
                return 0;
              });
            });
          }};
}

/// The network has remote memory, too.
changes unsealed(changes of) {
  of.emplace_back("AMITY_OFI_SEALED", "0");
  return of;
}

// Neighbours by number are on one node, or on two.
harness neighbours(const changes& values = scarce) {
  return processes(
      "neighbours", [](rank_t rank) { return rank / 2; }, values);
}
harness strangers() {
  return processes(
      "strangers", [](rank_t rank) { return rank % 2; }, unsealed(scarce));
}

// Each alone on its node, but for its threads.
harness threads() {
  return processes(
      "threads", [](rank_t rank) { return rank; }, scarce, 2);
}

auto jobs_of(harness one, rank_t ranks) {
  return ::testing::Combine(::testing::Values(std::move(one)), ::testing::Values(ranks));
}

// A job takes a while to connect, so what the others have shown already is left out.
INSTANTIATE_TEST_SUITE_P(neighbours, contract, jobs_of(neighbours(), 3), job_name);
INSTANTIATE_TEST_SUITE_P(strangers, contract, jobs_of(strangers(), 3), job_name);
INSTANTIATE_TEST_SUITE_P(threads, contract, jobs_of(threads(), 4), job_name);
INSTANTIATE_TEST_SUITE_P(checked, contract, jobs_of(decorated<checked>("checked", neighbours(unsealed(scarce))), 4),
                         job_name);

/// Runs a job whose ranks have nodes of these numbers.
void run_on(const std::vector<int>& nodes, const rank_body& body, const changes& values = {}) {
  const auto node_of = [&](rank_t rank) { return nodes[static_cast<std::size_t>(rank)]; };
  processes("", node_of, values).run(static_cast<rank_t>(nodes.size()), body);
}

void expect_joined(const std::vector<int>& nodes, const std::string& name, rank_t threads = 1) {
  const auto node_of = [&](rank_t rank) { return nodes[static_cast<std::size_t>(rank)]; };
  const auto ranks = static_cast<rank_t>(nodes.size()) * threads;
  processes("", node_of, {}, threads).run(ranks, [&](fabric& own) { EXPECT_EQ(own.caps().name, name); });
}

TEST(composite, is_made_only_where_both_parts_have_peers) {
  expect_joined({1}, "shm");
  expect_joined({1, 1, 1}, "shm");
  expect_joined({1, 2, 3}, "ofi");
  expect_joined({1, 2, 1}, "composite");
  expect_joined({1, 1}, "shm", 2);
  expect_joined({1, 2}, "composite", 2);
}

int connections_of_this_process() {
  int count = 0;
  for (int fd = 3; fd < 256; ++fd) {
    sockaddr_storage there{};
    socklen_t bytes = sizeof there;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &bytes) == 0 && there.ss_family == AF_INET) ++count;
  }
  return count;
}

TEST(composite, has_no_connections_on_its_node) {
  run_on({1, 1, 1, 2}, [](fabric& own) {
    mailbox(own).barrier();
    EXPECT_EQ(connections_of_this_process(), own.rank() == 3 ? 3 : 1);
  });
}

TEST(composite, sealed_packets_leave_memory_of_node) {
  run_on({1, 2, 1, 2}, [](fabric& own) {
    remote_memory* const memory = own.remote();
    ASSERT_NE(memory, nullptr);
    mailbox mail(own);
    const segment mine = memory->create(4096);
    mine.data[0] = static_cast<std::byte>(own.rank() + 1);
    for (const auto& [owner, bytes] : mail.exchange(mine.key.bytes)) {
      EXPECT_EQ(own.remote_to(owner).available, own.same_node(owner));
      if (!own.same_node(owner)) {
        EXPECT_THROW(memory->open(owner, key_in(bytes)), error);
        continue;
      }
      const remote_handle opened = memory->open(owner, key_in(bytes));
      ASSERT_NE(opened.direct, nullptr);
      EXPECT_EQ(opened.direct[0], static_cast<std::byte>(owner + 1));
      memory->close(opened);
    }
    mail.barrier();
    memory->destroy(mine);
  });
}

// A network card would not see what processors of the node do to the same word.
TEST(composite, atomics_stay_on_node) {
  capabilities part;
  part.remote = {.available = true, .mapped = true, .atomics = true};
  const capabilities both = describe_composite(part, part);
  EXPECT_TRUE(both.remote.available);
  EXPECT_FALSE(both.remote.atomics);
  ASSERT_TRUE(both.remote_on_node.has_value());
  EXPECT_TRUE(both.remote_on_node->atomics);
  const capabilities across = describe_composite({}, part);
  EXPECT_FALSE(across.remote.available);
  EXPECT_FALSE(across.remote_on_node.has_value());
}

// Stores of ranks on the node and puts over the network meet in the same memory.
TEST(composite, node_maps_memory_and_others_put) {
  run_on(
      {1, 2, 1, 2},
      [](fabric& own) {
        remote_memory& memory = *own.remote();
        mailbox mail(own);
        remote_user user(own, mail);
        const auto ranks = static_cast<std::size_t>(own.size());
        const segment mine = memory.create(ranks);
        std::vector<std::uint64_t> words(1);
        const std::optional<segment> attached = memory.attach(std::as_writable_bytes(std::span(words)));
        ASSERT_TRUE(attached.has_value());
        const std::byte value{static_cast<unsigned char>(own.rank() + 1)};
        std::vector<remote_handle> opened;
        for (const auto& [owner, bytes] : mail.exchange(mine.key.bytes)) {
          opened.push_back(memory.open(owner, key_in(bytes)));
          EXPECT_EQ(opened.back().direct != nullptr, own.same_node(owner));
          user.start_put(opened.back(), static_cast<std::size_t>(own.rank()), {&value, 1});
        }
        user.finish();
        for (const auto& [owner, bytes] : mail.exchange(attached->key.bytes)) {
          opened.push_back(memory.open(owner, key_in(bytes)));
          if (!own.same_node(owner)) {
            user.start_put(opened.back(), 0, {&value, 1});
          } else if (opened.back().bytes > 0) {
            // By a system call, and not over the network, where no put is complete at once.
            EXPECT_EQ(memory.put(opened.back(), 0, {&value, 1}), stage::complete);
          } else {
            EXPECT_FALSE(may_read_parent()) << "rank " << owner;
          }
        }
        user.finish();
        mail.barrier();
        for (std::size_t rank = 0; rank < ranks; ++rank) EXPECT_EQ(mine.data[rank], static_cast<std::byte>(rank + 1));
        EXPECT_NE(words[0], 0u);
        mail.barrier();
        for (const remote_handle& each : opened) {
          if (each.bytes > 0) memory.close(each);
        }
        memory.destroy(*attached);
        memory.destroy(mine);
        mail.barrier();
      },
      unsealed({}));
}

TEST(composite, attention_is_that_of_node) {
  AMITY_SKIP_UNLESS(std::thread::hardware_concurrency() >= 2, "ranks that share a CPU are not attentive");
  run_on({2, 1, 1}, [](fabric& own) {
    ASSERT_NE(own.attention(), nullptr);
    mailbox mail(own, done_with);
    if (own.rank() == 0) {
      EXPECT_FALSE(own.attention()->engage(2));
    } else if (own.rank() == 2) {
      own.attention()->begin();
      mail.poll_until([&] { return mail.arrived() > 0; });
      EXPECT_TRUE(own.attention()->end());
    } else {
      while (!own.attention()->engage(2)) ::sched_yield();
      EXPECT_EQ(own.try_send(2, 1, {}, claim::ordinary), status::ok);
      own.attention()->disengage(2);
    }
    mail.barrier();
  });
}

/// The last rank ends without a word, and rank 0 is on its node.
void expect_missed(const std::vector<int>& nodes) {
  run_on(nodes, [](fabric& own) {
    mailbox mail(own);
    mail.barrier();
    if (own.rank() == own.size() - 1) ::_exit(0);  // as if it had been killed, but a success for whoever runs this test
    std::string problem;
    try {
      mail.until([] { return false; });
    } catch (const error& caught) {
      problem = caught.what();
    } catch (const job_aborted&) {
    }
    if (own.rank() == 0) {
      EXPECT_EQ(problem, "amity: shared memory (rank 0): rank " + std::to_string(own.size() - 1) +
                             " has vanished: its process has ended; see what it has printed");
    }
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);  // not together with the one that is gone
  });
}

TEST(a_process_that_is_gone, is_missed_where_no_launcher_watches) { expect_missed({1, 1}); }
TEST(a_process_that_is_gone, is_missed_by_those_of_other_nodes) { expect_missed({1, 2, 1}); }

}  // namespace
}  // namespace amity::fabric::testing
