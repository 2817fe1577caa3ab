#include "amity/fabric/shm/job_memory.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "amity/base/file_descriptor.hpp"
#include "amity/fabric/shm/descriptor_handover.hpp"
#include "amity/fabric/shm/file_mapping.hpp"
#include "amity/fabric/shm/memory_file.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/forbidden_calls.hpp"
#include "tests/support/skip.hpp"

namespace amity::fabric::shm {
namespace {

using amity::testing::expect_error;

/// Runs `act` in a process of its own and returns its exit status.
template <class Act>
int in_child(Act act) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(act());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::size_t file_bytes(const job_memory& job) {
  struct stat info {};
  return ::fstat(job.fd(), &info) == 0 ? static_cast<std::size_t>(info.st_size) : 0;
}

std::size_t taken_bytes(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 ? static_cast<std::size_t>(about.st_blocks) * 512 : 0;
}

class job_memory_of : public ::testing::TestWithParam<rank_t> {};
INSTANTIATE_TEST_SUITE_P(ranks, job_memory_of, ::testing::Values(1, 2, 3, 4, 8, 65536));

TEST_P(job_memory_of, starts_with_all_ranks_absent) {
  const auto job = job_memory::create(GetParam());
  EXPECT_EQ(job.ranks(), GetParam());
  for (rank_t rank = 0; rank < job.ranks(); ++rank) EXPECT_EQ(job.state(rank), rank_state::absent);
  EXPECT_FALSE(job.aborted());
  EXPECT_EQ(job.aborted_by(), no_rank);
}

TEST_P(job_memory_of, is_shared_with_those_who_attach) {
  auto job = job_memory::create(GetParam());
  const rank_t last = GetParam() - 1;
  std::byte* const mine = job.region(10000);
  const int status = in_child([&] {
    auto theirs = job_memory::attach(job.fd(), GetParam());
    theirs.join(last);
    theirs.region(10000)[9999] = std::byte{42};
    theirs.leave(last);
    return 0;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(job.state(last), rank_state::left);
  EXPECT_EQ(mine[9999], std::byte{42});
}

TEST(job_memory, refuses_impossible_numbers_of_ranks) {
  for (const rank_t ranks : {-1, 0, job_memory::ranks_max + 1}) {
    expect_error([&] { job_memory::create(ranks); },
                 {"a job of " + std::to_string(ranks) + " ranks is not possible; use 1 to 65536 ranks"});
  }
}

TEST(job_memory, is_not_inherited_by_chance) {
  const auto job = job_memory::create(2);
  EXPECT_NE(::fcntl(job.fd(), F_GETFD) & FD_CLOEXEC, 0);
  const file_descriptor inherited(::fcntl(job.fd(), F_DUPFD, 0));
  ASSERT_EQ(::fcntl(inherited.get(), F_GETFD) & FD_CLOEXEC, 0);
  const auto attached = job_memory::attach(inherited.get(), 2);
  EXPECT_NE(::fcntl(attached.fd(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl(inherited.get(), F_GETFD) & FD_CLOEXEC, 0) << "what a rank starts does not belong to the job";
}

TEST(job_memory, attaches_only_to_a_job) {
  expect_error([] { job_memory::attach(-1, 2); }, {"AMITY_JOB_FD=-1 is not an open descriptor"});
  const file_descriptor zeros(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  const auto zeros_name = "AMITY_JOB_FD=" + std::to_string(zeros.get());
  expect_error([&] { job_memory::attach(zeros.get(), 2); }, {zeros_name + " is not the memory of a job"});
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const file_descriptor reading(ends[0]), writing(ends[1]);
  expect_error([&] { job_memory::attach(reading.get(), 2); }, {"is not the memory of a job"});
}

TEST(job_memory, attaches_only_with_the_right_number_of_ranks) {
  const auto job = job_memory::create(4);
  for (const rank_t ranks : {-1, 0, 3, 5}) {
    expect_error([&] { job_memory::attach(job.fd(), ranks); },
                 {fmt::format("is a job of 4 threads in all, but AMITY_RANKS={0} with 1 a rank make {0}", ranks)});
  }
  expect_error(
      [&] { job_memory::attach(job.fd(), 4, 2); },
      {"is a job of 4 threads in all, but AMITY_RANKS=4 with 2 a rank make 8; start the program with `amity run "
       "-n N`, with what it is to have of AMITY_THREADS and AMITY_PROGRESS_THREAD"});
}

TEST(job_memory, attaches_only_to_its_own_version) {
  const auto job = job_memory::create(2);
  constexpr std::uint32_t other_version = 4711;
  ASSERT_EQ(::pwrite(job.fd(), &other_version, sizeof other_version, sizeof(std::uint64_t)), 4);
  expect_error([&] { job_memory::attach(job.fd(), 2); }, {"job memory version 4711"});
}

TEST(job_memory, region_is_zeroed_aligned_and_the_same_for_all_threads) {
  auto job = job_memory::create(4);
  constexpr std::size_t bytes = (std::size_t{3} << 20) + 5;
  std::vector<std::byte*> seen(4);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : seen) threads.emplace_back([&] { mine = job.region(bytes); });
  }
  for (auto* const each : seen) EXPECT_EQ(each, seen[0]);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(seen[0]) % (std::size_t{2} << 20), 0u);
  EXPECT_EQ(seen[0][0], std::byte{0});
  EXPECT_EQ(seen[0][bytes - 1], std::byte{0});
}

TEST(job_memory, region_does_not_touch_the_header) {
  auto job = job_memory::create(65536);
  job.join(65535);
  std::memset(job.region(100000), 0xff, 100000);
  EXPECT_EQ(job.state(65535), rank_state::joined);
  EXPECT_EQ(job.state(65534), rank_state::absent);
  EXPECT_FALSE(job.aborted());
}

TEST(job_memory, region_has_one_size) {
  auto job = job_memory::create(2);
  job.region(4096);
  expect_error([&] { job.region(8192); }, {"a region of 8192 bytes was asked for, after one of 4096"});
}

TEST(job_memory, says_when_there_is_not_enough_memory) {
  auto job = job_memory::create(2);
  expect_error([&] { job.region(std::size_t{1} << 62); }, {"free memory, use fewer ranks"});
}

TEST(job_memory, all_ranks_agree_on_the_layout) {
  auto job = job_memory::create(3);
  job.agree(0, 1);
  job.agree(0, 0);
  expect_error([&] { job.agree(7, 2); },
               {"(rank 2): the AMITY_SHM_* settings of this rank differ from those of the ranks before it"});
}

TEST(job_memory, a_rank_joins_once) {
  auto job = job_memory::create(2);
  job.join(1);
  EXPECT_EQ(job.state(1), rank_state::joined);
  EXPECT_EQ(job.state(0), rank_state::absent);
  expect_error([&] { job.join(1); }, {"(rank 1): this rank has joined already"});
  job.leave(1);
  expect_error([&] { job.join(1); }, {"has joined already"});
  expect_error([&] { job.join(2); }, {"AMITY_RANK=2 in a job of 2 ranks"});
  expect_error([&] { job.join(-1); }, {"AMITY_RANK=-1 in a job of 2 ranks"});
}

TEST(job_memory, the_first_to_abort_counts) {
  auto job = job_memory::create(3);
  auto other = job_memory::attach(job.fd(), 3);
  job.abort(2);
  other.abort(1);
  other.abort(no_rank);
  EXPECT_TRUE(other.aborted());
  EXPECT_EQ(other.aborted_by(), 2);
  auto third = job_memory::create(3);
  third.abort(no_rank);
  EXPECT_TRUE(third.aborted());
  EXPECT_EQ(third.aborted_by(), no_rank);
}

TEST(job_memory, moves) {
  auto first = job_memory::create(2);
  std::byte* const region = first.region(64);
  region[0] = std::byte{9};
  auto second = std::move(first);
  EXPECT_EQ(second.region(64), region);
  second = job_memory::create(3);
  EXPECT_EQ(second.ranks(), 3);
  EXPECT_EQ(second.region(64)[0], std::byte{0});
}

// Ranks that are more than the CPUs must not spin; how many there are counts before the launcher binds each to one.
TEST(job_memory, knows_how_many_cpus_its_creator_may_use) {
  cpu_set_t all;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  const auto free = job_memory::create(2);
  EXPECT_EQ(free.cpus(), CPU_COUNT(&all));

  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(job_memory::create(2).cpus(), 1);
  }).join();

  const auto joined = job_memory::attach(free.fd(), 2);
  EXPECT_EQ(joined.cpus(), CPU_COUNT(&all));
}

/// Runs on a thread that is forbidden to create memory files, as in some containers.
template <class Body>
void without_memory_files(int reason, Body body) {
  std::thread([&] {
    AMITY_SKIP_UNLESS(amity::testing::forbid({SYS_memfd_create}, reason), "this system has no seccomp");
    body();
  }).join();
}

TEST(job_memory, memory_without_memfd_works) {
  for (const int reason : {EPERM, ENOSYS}) {
    without_memory_files(reason, [] {
      auto job = job_memory::create(2);
      job.region(10000)[9999] = std::byte{1};
      auto other = job_memory::attach(job.fd(), 2);
      EXPECT_EQ(other.region(10000)[9999], std::byte{1});
      struct stat about {};
      ASSERT_EQ(::fstat(job.fd(), &about), 0);
      EXPECT_EQ(about.st_nlink, 0u) << "no name is left behind";
    });
  }
}

// Else another program could fill the file system before their first use. The pages are given back in between, so that
// a second reservation would show.
TEST(job_memory, one_rank_reserves_pages_for_all) {
  without_memory_files(EPERM, [] {
    constexpr std::size_t bytes = std::size_t{1} << 20;
    auto job = job_memory::create(2);
    job.region(bytes);
    EXPECT_GE(taken_bytes(job.fd()), bytes);
    return_pages(job.fd(), huge_page_bytes, bytes);
    EXPECT_LT(taken_bytes(job.fd()), bytes);
    const auto attach = [&] {
      auto other = job_memory::attach(job.fd(), 2);
      other.region(bytes);
      return taken_bytes(job.fd()) < bytes;
    };
    EXPECT_TRUE(attach());
    EXPECT_EQ(in_child([&] { return attach() ? 0 : 1; }), 0);
  });
}

// A rank waits while another one takes the pages, and then finds them.
TEST(job_memory, ranks_wait_for_reserved_pages) {
  without_memory_files(EPERM, [] {
    auto job = job_memory::create(2);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const file_descriptor reading(ends[0]), writing(ends[1]);
    auto lock = std::make_unique<file_lock>(job.fd());
    const pid_t child = ::fork();
    if (child == 0) {
      auto other = job_memory::attach(job.fd(), 2);
      other.region(4096);
      ::_exit(::write(writing.get(), "r", 1) == 1 ? 0 : 1);
    }
    pollfd has_region{.fd = reading.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&has_region, 1, 50), 0);
    lock.reset();
    EXPECT_EQ(::poll(&has_region, 1, -1), 1);
    ::waitpid(child, nullptr, 0);
  });
}

TEST(job_memory, never_shrinks) {
  const auto attach_late = [] {
    auto job = job_memory::create(2);
    auto late = job_memory::attach(job.fd(), 2);
    std::byte& last = job.region(4 * huge_page_bytes)[4 * huge_page_bytes - 1];
    last = std::byte{1};
    const std::size_t bytes = file_bytes(job);
    late.region(4096);
    EXPECT_EQ(file_bytes(job), bytes);
    EXPECT_EQ(last, std::byte{1});  // a bus error if the page had gone
  };
  attach_late();
  without_memory_files(EPERM, attach_late);
}

TEST(job_memory, memory_beyond_file_system_is_error) {
  without_memory_files(EPERM, [] {
    auto job = job_memory::create(1);
    expect_error([&] { job.region(std::size_t{1} << 44); }, {"enlarge /dev/shm"});
  });
}

/// Runs in a thread whose memory files are in a file system of `bytes`.
template <class Body>
void in_small_file_system(std::size_t bytes, Body body) {
  without_memory_files(EPERM, [&] {
    const std::string size = "size=" + std::to_string(bytes);
    const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                         ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("tmpfs", "/dev/shm", "tmpfs", 0, size.c_str()) == 0;
    AMITY_SKIP_UNLESS(mounted, "this user cannot mount file systems");
    body();
  });
}

// What the file has taken before is of no use for other pages.
TEST(memory_file, too_large_request_takes_nothing) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  in_small_file_system(64 * mib, [] {
    const file_descriptor file = create_memory_file();
    grow_memory_file(file.get(), 96 * mib);
    reserve_pages(file.get(), 0, 32 * mib);
    const std::size_t before = taken_bytes(file.get());
    expect_error(
        [&] { reserve_pages(file.get(), 32 * mib, 48 * mib); },
        {fmt::format("needs {} bytes more, and its file system has {} bytes left", 48 * mib, 64 * mib - before)});
    EXPECT_EQ(taken_bytes(file.get()), before);
    reserve_pages(file.get(), 32 * mib, 24 * mib);
  });
}

// The request is known to be too large when some of its pages have been taken.
TEST(memory_file, error_names_whole_request) {
  constexpr std::size_t mib = std::size_t{1} << 20;
  in_small_file_system(40 * mib, [] {
    ASSERT_TRUE(amity::testing::forbid({SYS_fstatfs}, EPERM));
    const file_descriptor file = create_memory_file();
    grow_memory_file(file.get(), 48 * mib);
    expect_error([&] { reserve_pages(file.get(), 0, 48 * mib); },
                 {fmt::format("needs {} bytes more, and its file system does not have them", 48 * mib)});
  });
}

/// From now on signals seem to interrupt each `fallocate` of more than `bytes` in this thread.
bool interrupt_fallocate_of_more_than(std::uint32_t bytes) {
  constexpr auto length = static_cast<std::uint32_t>(offsetof(seccomp_data, args) + 3 * sizeof(std::uint64_t));
  std::array<sock_filter, 6> instructions{
      {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 3), BPF_STMT(BPF_LD | BPF_W | BPF_ABS, length),
       BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, bytes, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINTR),
       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog filter{static_cast<unsigned short>(instructions.size()), instructions.data()};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

// Each signal undoes what the current call has taken.
TEST(memory_file, signals_do_not_stop_reservation) {
  without_memory_files(EPERM, [] {
    ASSERT_TRUE(interrupt_fallocate_of_more_than(100'000));
    constexpr std::size_t bytes = (std::size_t{20} << 20) + 4096;
    const file_descriptor file = create_memory_file();
    grow_memory_file(file.get(), bytes);
    reserve_pages(file.get(), 0, bytes);
    EXPECT_GE(taken_bytes(file.get()), bytes);
  });
}

TEST(descriptor_handover, silent_server_lets_client_check) {
  const descriptor_server silent;
  int checks = 0;
  EXPECT_THROW(receive_descriptor(silent.name(), ::getpid(),
                                  [&] {
                                    if (++checks == 2) throw job_aborted("ended");
                                  }),
               job_aborted);
}

TEST(descriptor_handover, other_process_gets_nothing) {
  const descriptor_server server;
  EXPECT_FALSE(receive_descriptor(server.name(), ::getpid() + 1, [] {}));
  EXPECT_EQ(errno, EACCES);
}

}  // namespace
}  // namespace amity::fabric::shm
