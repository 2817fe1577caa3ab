/// The contract on shared memory: ranks as processes and as threads, with plenty and with little of everything.

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "amity/fabric/checked.hpp"
#include "amity/fabric/shm/job_memory.hpp"
#include "amity/fabric/shm/segments.hpp"
#include "amity/fabric/shm/shm.hpp"
#include "amity/fabric/waiter.hpp"
#include "contract.hpp"
#include "tests/support/errors.hpp"

namespace amity::fabric::testing {
namespace {

using changes = std::vector<std::pair<std::string, std::string>>;

settings with(const changes& values) {
  settings config;
  for (const auto& [name, value] : values) config.set(name, value);
  return config;
}

harness threads(std::string name, const changes& values) {
  return {.name = std::move(name), .run = [config = with(values)](rank_t ranks, const rank_body& body) {
            shm::run_threads(config, ranks, [&](fabric& own) {
              body(own);
              return 0;
            });
          }};
}

[[maybe_unused]] harness processes(std::string name, const changes& values) {
  return {.name = std::move(name), .run = [config = with(values)](rank_t ranks, const rank_body& body) {
            const auto job = shm::job_memory::create(ranks);
            run_forked(ranks, [&](rank_t rank) {
              settings own_config = config;
              own_config.set("AMITY_RANKS", std::to_string(ranks));
              own_config.set("AMITY_RANK", std::to_string(rank));
              own_config.set("AMITY_JOB_FD", std::to_string(job.fd()));
              const auto own = shm::join(own_config, 1)->enter(0);
              body(*own);
            });
          }};
}

// Small rings, few buffers: everything fills up and wraps around.
const changes scarce{{"AMITY_SHM_RING_SLOTS", "16"}, {"AMITY_SHM_BUFFERS", "2"}, {"AMITY_SHM_PACKET_BYTES", "1k"}};
// All credits can be slots.
const changes slots{{"AMITY_SHM_RING_SLOTS", "16"}, {"AMITY_SHM_BUFFERS", "16"}, {"AMITY_SHM_PACKET_BYTES", "1k"}};

INSTANTIATE_TEST_SUITE_P(threads, contract,
                         every_job_of({threads("threads", {}), threads("scarce", scarce),
                                       decorated<checked>("checked", threads("slots", slots))}),
                         job_name);

#ifndef __SANITIZE_THREAD__  // it cannot follow memory that processes share, and threads run the same code
INSTANTIATE_TEST_SUITE_P(processes, contract,
                         every_job_of({processes("shm", {}), processes("scarce", scarce),
                                       decorated<checked>("checked", processes("scarce", scarce))}),
                         job_name);

/// What a process holds that it could leave behind: open files, and mappings that it shares. Allocators make others.
std::pair<std::size_t, std::size_t> holdings() {
  const auto entries = std::filesystem::directory_iterator("/proc/self/fd");
  std::ifstream maps("/proc/self/maps");
  std::size_t shared = 0;
  for (std::string line; std::getline(maps, line);) shared += line.substr(line.find(' ') + 1, 4).ends_with('s');
  return {static_cast<std::size_t>(std::distance(begin(entries), end(entries))), shared};
}

std::size_t file_bytes(int fd) {
  struct stat info {};
  EXPECT_EQ(::fstat(fd, &info), 0);
  return static_cast<std::size_t>(info.st_blocks) * 512;
}

TEST(remote_memory, that_is_given_back_is_gone) {
  run_forked(1, [](rank_t) {
    shm::job_memory job = shm::job_memory::create(2);
    job.region(4096);
    shm::segments segments(job);
    const auto held = holdings();
    const std::size_t used = file_bytes(job.fd());
    constexpr std::size_t bytes = std::size_t{16} << 20;
    const segment made = segments.create(1, bytes);
    std::memset(made.data, 1, made.bytes);
    const remote_handle opened = segments.open(0, 1, made.key);
    EXPECT_EQ(opened.direct, made.data) << "ranks of a process share a mapping";
    EXPECT_GE(file_bytes(job.fd()), used + bytes);
    segments.destroy(made);
    EXPECT_EQ(file_bytes(job.fd()), used) << "though a handle is open";
    EXPECT_NE(holdings(), held);
    segments.close(opened);
    EXPECT_EQ(holdings(), held);
  });
}

std::ptrdiff_t mappings() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

// A program may have thousands of windows, and a process 65,530 mappings at most.
TEST(remote_memory, small_segments_share_mappings) {
  run_forked(1, [](rank_t) {
    shm::job_memory job = shm::job_memory::create(2);
    job.region(4096);
    shm::segments owner(job), peer(job);
    std::vector<segment> made;
    std::vector<remote_handle> opened;
    const std::ptrdiff_t before = mappings();
    for (std::size_t i = 0; i < 2000; ++i) {
      made.push_back(owner.create(1, 1 + i % 5000));
      opened.push_back(peer.open(0, 1, made.back().key));
      EXPECT_EQ(shm::segments::owner_of(opened.back()), 1);
      made.back().data[0] = static_cast<std::byte>(i);
    }
    EXPECT_LE(mappings() - before, 100);
    for (std::size_t i = 0; i < made.size(); ++i) ASSERT_EQ(opened[i].direct[0], static_cast<std::byte>(i));
    for (const remote_handle& each : opened) peer.close(each);
    for (const segment& each : made) owner.destroy(each);
  });
}

TEST(remote_memory, space_of_small_segments_is_used_again) {
  run_forked(1, [](rank_t) {
    shm::job_memory job = shm::job_memory::create(1);
    job.region(4096);
    shm::segments segments(job);
    const std::ptrdiff_t before = mappings();
    for (int i = 0; i < 5000; ++i) {
      const segment made = segments.create(0, 10'000);
      ASSERT_EQ(std::count(made.data, made.data + made.bytes, std::byte{}), 10'000) << i;
      std::memset(made.data, 1, made.bytes);
      segments.destroy(made);
    }
    EXPECT_LE(mappings() - before, 20);
  });
}

TEST(remote_memory, of_another_job_has_another_key) {
  shm::job_memory one = shm::job_memory::create(1), other = shm::job_memory::create(1);
  one.region(4096);
  other.region(4096);
  shm::segments here(one), there(other);
  const segment made = here.create(0, 64);
  EXPECT_THROW(there.open(0, 0, made.key), error);
  here.destroy(made);
}

// Not as the superuser, whom no limit of processes binds; as nobody else either, of whom there may be processes.
void become_a_user_with_few_processes() {
  constexpr rlimit few{.rlim_cur = 4, .rlim_max = 4};
  ASSERT_EQ(::setrlimit(RLIMIT_NPROC, &few), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::setresuid(54321, 54321, 54321), 0);
  }
}

TEST(threads, that_the_system_refuses_end_the_job) {
  run_forked(1, [](rank_t) {
    become_a_user_with_few_processes();
    const std::string problem = amity::testing::error_of([] {
      shm::run_threads({}, 8, [](fabric& own) -> int {
        for (;;) wait(own, 1'000'000);  // for a packet of a rank that never comes
      });
    });
    EXPECT_TRUE(problem.starts_with("amity: threads: cannot start thread ")) << problem;
    EXPECT_TRUE(
        problem.ends_with("of 8: Resource temporarily unavailable; use fewer ranks or threads, or raise the limit of "
                          "processes (ulimit -u)"))
        << problem;
  });
}
#endif

}  // namespace
}  // namespace amity::fabric::testing
