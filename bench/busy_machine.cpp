/// A machine that others use: barriers of four ranks on two cores while a program computes on each core, against the
/// same with the machine to themselves.

#include <csignal>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/ranks.hpp"

namespace amity::bench {
namespace {

/// Processes that compute and never wait, one pinned to each of so many cores.
class neighbours {
 public:
  explicit neighbours(int cores) {
    for (int core = 0; core < cores; ++core) {
      const pid_t child = fork();
      if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
      if (child == 0) compute_on(core);
      children_.push_back(child);
    }
  }
  ~neighbours() {
    for (const pid_t child : children_) kill(child, SIGKILL);
    for (const pid_t child : children_) waitpid(child, nullptr, 0);
  }
  neighbours(const neighbours&) = delete;
  neighbours& operator=(const neighbours&) = delete;

 private:
  [[noreturn]] static void compute_on(int core) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin_to_core(core);
    for (volatile std::uint64_t count = 0;;) count = count + 1;
  }

  std::vector<pid_t> children_;
};

sample measure_barriers(world& w, int cores, int barriers) {
  const neighbours busy(w.rank() == 0 ? cores : 0);
  w.barrier();
  const auto total_ns = wall_ns([&] {
    for (int i = 0; i < barriers; ++i) w.barrier();
  });
  return {{"us", total_ns / barriers * 1e-3}};
}

void drive(driver& d) {
  contest jobs{d.ranks(4, {{"neighbours", "2"}})};
  jobs.peer = d.ranks(4, {{"neighbours", "0"}});
  d.compare(jobs, {{"4 ranks and 2 that compute, on 2 cores", "a barrier", "us", "us", "", "us", {ratio_at_most(10)}}});
}

int measure(job_context& job) {
  const int cores = std::stoi(job.args.at("neighbours"));
  return run_ranks(job, [&](world& w) { return measure_barriers(w, cores, job.scaled(2000, 20)); });
}

}  // namespace

const benchmark busy_machine{"busy_machine", "barriers beside programs that compute, against a machine to themselves",
                             drive, measure};

}  // namespace amity::bench
