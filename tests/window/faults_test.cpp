/// What becomes of windows when there is too little memory, or the system refuses calls.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "amity/window/window.hpp"
#include "amity/window/window_records.hpp"
#include "amity/window/window_service.hpp"
#include "tests/support/forbidden_calls.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/texts.hpp"
#include "tests/support/worlds.hpp"
#include "tests/window/paths.hpp"

namespace amity {
namespace {

/// Runs on a thread that sees a /dev/shm of this size, and cannot create memory files elsewhere. Returns false if the
/// system does not permit that.
bool with_small_shared_memory(const std::string& size, const std::function<void()>& body) {
  bool can = false;
  std::thread([&] {
    const std::string options = "size=" + size;
    can = ::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
          ::mount("none", "/dev/shm", "tmpfs", 0, options.c_str()) == 0 && testing::forbid({SYS_memfd_create}, EPERM);
    if (can) body();
  }).join();
  return can;
}

// Each window is written as a whole: a page that the file system does not have would be a bus error.
TEST(window_faults, allocation_beyond_shared_memory_is_error) {
  std::string failure;
  std::size_t allocated = 0;
  const bool can = with_small_shared_memory("64m", [&] {
    std::mutex alone;
    testing::run_worlds(testing::threads("threads"), 2, [&](world& w) {
      std::vector<window<std::byte>> all;
      const std::string own_failure = testing::failure_of([&] {
        for (int i = 0; i < 100; ++i) {
          all.push_back(w.allocate_window<std::byte>(std::size_t{4} << 20));
          for (std::byte& each : all.back().local()) each = std::byte{1};
          if (w.rank() == 0) ++allocated;
        }
      });
      while (!all.empty()) all.pop_back();
      const std::scoped_lock now_alone(alone);
      if (own_failure.find("has no memory for it") == std::string::npos) failure = own_failure;
    });
  });
  AMITY_SKIP_UNLESS(can, "no mount namespaces or no seccomp here");
  testing::expect_parts(failure, {"amity: shared memory", "bytes left", "enlarge /dev/shm"});
  EXPECT_GE(allocated, 3u);
  EXPECT_LT(allocated, 16u);
}

/// A file that takes all that is left of the file system, until it is destroyed.
class filler : private immovable {
 public:
  filler() : fd_(::open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) {
    const std::vector<char> page(4096, 1);
    while (::write(fd_, page.data(), page.size()) > 0) {
    }
  }
  ~filler() { ::close(fd_); }

 private:
  int fd_;
};

/// Runs `body` on threads with 64 MiB of shared memory, without a failure.
void run_in_64_mib(rank_t ranks, const testing::world_body& body) {
  std::string failure;
  const bool can = with_small_shared_memory("64m", [&] {
    failure = testing::failure_of([&] { testing::run_worlds(testing::threads("threads"), ranks, body); });
  });
  EXPECT_EQ(failure, "");
  AMITY_SKIP_UNLESS(can, "no mount namespaces or no seccomp here");
}

// Another program fills the file system after the creation of a window, and before its first use.
TEST(window_faults, memory_of_window_is_reserved) {
  run_in_64_mib(2, [](world& w) {
    for (const std::size_t bytes : {std::size_t{4} << 20, std::size_t{100'000}}) {
      auto shared = w.allocate_window<std::byte>(bytes);
      w.barrier();
      const auto other = w.rank() == 0 ? std::make_unique<filler>() : nullptr;
      w.barrier();
      for (std::byte& each : shared.local()) each = std::byte{1};
      w.barrier();
    }
  });
}

// Windows that have ended leave their pages, and so does a refused one.
TEST(window_faults, memory_of_ended_windows_serves_others) {
  run_in_64_mib(1, [](world& w) {
    for (int i = 0; i < 20; ++i) {
      auto first = w.allocate_window<std::byte>(std::size_t{16} << 20);
      EXPECT_THROW(static_cast<void>(w.allocate_window<std::byte>(std::size_t{56} << 20)), error);
      auto second = w.allocate_window<std::byte>(std::size_t{32} << 20);
      first.local().back() = second.local().back() = std::byte{1};
    }
  });
}

TEST(window_faults, allocation_beyond_address_space_is_error) {
  testing::expect_parts(
      testing::failure_in_worlds(
          2, [](world& w) { static_cast<void>(w.allocate_window<std::uint64_t>(std::size_t{1} << 61)); }),
      {"window (rank 0)", "bytes is not possible", "allocate less"});
  testing::expect_parts(testing::failure_of([] {
                          testing::run_worlds(testing::threads("threads"), 2, [](world& w) {
                            static_cast<void>(w.allocate_window<std::byte>(std::size_t{1} << 46));
                          });
                        }),
                        {"amity: ", "bytes"});
}

// Small windows share mappings, and processes map what others have allocated.
TEST(window_faults, small_windows_of_processes_beyond_shared_memory_are_errors) {
  const bool can = with_small_shared_memory("24m", [] {
    testing::processes("").run(2, {}, [](fabric::fabric& whole) {
      world w(whole, {});
      std::vector<window<std::byte>> all;
      const std::string failure = testing::failure_of([&] {
        for (int i = 0; i < 1000; ++i) {
          all.push_back(w.allocate_window<std::byte>(std::size_t{100} << 10));
          for (std::byte& each : all.back().local()) each = std::byte{1};
        }
      });
      const bool is_full = failure.find("bytes left") != std::string::npos;
      if (is_full) testing::expect_parts(failure, {"amity: shared memory", "bytes left", "enlarge /dev/shm"});
      if (!is_full) testing::expect_parts(failure, {"rank " + std::to_string(1 - w.rank()) + " has no memory for it"});
      EXPECT_GE(w.sum(std::uint64_t{is_full}), 1u);
      while (!all.empty()) all.pop_back();
    });
  });
  AMITY_SKIP_UNLESS(can, "no mount namespaces or no seccomp here");
}

/// Processes of which some cannot copy memory of others use memory of the program.
void use_memory_without_single_copy(const std::function<bool(rank_t)>& is_forbidden) {
  testing::processes("").run(3, {}, [&](fabric::fabric& whole) {
    if (is_forbidden(whole.rank())) testing::forbid({SYS_process_vm_readv, SYS_process_vm_writev}, EPERM);
    world w(whole, {});
    {
      constexpr std::size_t count = 20'000;
      const rank_t next = testing::next_of(w);
      std::vector<std::uint64_t> own(count), sent(count, static_cast<std::uint64_t>(w.rank() + 1)), got(count);
      auto created = w.create_window(std::span(own));
      created.fence(window_assert::no_precede);
      created.put(next, 0, std::span<const std::uint64_t>(sent));
      created.fence();
      for (const rank_t target : testing::everyone(w)) created.accumulate(accumulate_op::sum, target, 7, 10);
      created.fence();
      created.get(next, 0, std::span(got));
      created.fence();
      created.accumulate(accumulate_op::sum, next, 0, sent);
      created.fence(window_assert::no_succeed);
      const std::uint64_t from = static_cast<std::uint64_t>(testing::previous_of(w) + 1);
      EXPECT_EQ(own[0], 2 * from);
      EXPECT_EQ(own[7], 2 * from + 30);
      EXPECT_EQ(own[count - 1], 2 * from);
      sent[7] += 30;
      EXPECT_EQ(got, sent);
    }
    w.barrier();
  });
}

TEST(window_faults, memory_of_program_without_single_copy_takes_records) {
  use_memory_without_single_copy([](rank_t) { return true; });
}

// Others still copy, also from and to its memory.
TEST(window_faults, memory_of_program_without_single_copy_of_one_rank_takes_records_there) {
  for (rank_t refused = 0; refused < 3; ++refused)
    use_memory_without_single_copy([refused](rank_t rank) { return rank == refused; });
}

// Rank 1 sends the record after the window has ended on rank 0. Another record of a window that has ended ends the job.
TEST(window_faults, late_wake_of_ended_window_is_ignored) {
  const auto send_late = [](detail::window_act act) {
    return testing::failure_in_worlds(2, [act](world& w) {
      const auto send = [&] {
        detail::window_service::of(w.endpoint())
            .send(w.endpoint().lane_of(0, 0),
                  {.owner = core::record_owner::windows, .act = static_cast<std::uint8_t>(act), .at = 0}, {});
      };
      { auto first = w.allocate_window<int>(1); }
      auto second = w.allocate_window<int>(1);
      if (w.rank() == 1) send();
      second.fence();
      second.put(testing::next_of(w), 0, 5);
      second.fence(window_assert::no_succeed);
      EXPECT_EQ(second.local()[0], 5);
      w.barrier();
    });
  };
  for (const detail::window_act act : {detail::window_act::wake, detail::window_act::released})
    EXPECT_EQ(send_late(act), "");
  testing::expect_parts(send_late(detail::window_act::granted), {"on window", "which is not there"});
}

}  // namespace
}  // namespace amity
