// Programs of amity::run on shared memory and on the fabric ofi, started by whoever starts jobs here.

#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "child.hpp"
#include "tests/support/cases.hpp"
#include "tests/support/skip.hpp"

namespace amity::tests {
namespace {

/// A way to start ranks: its command line in front of the program's.
struct launcher {
  std::string name;
  std::vector<std::string> command;  ///< the number of ranks follows
  std::vector<std::string> environment;
};

/// Each launcher, and each way to reach the other ranks; in whole matrices each pair.
std::vector<launcher> launchers() {
  const std::vector<std::string> ofi{"AMITY_FABRIC=ofi"};
  const std::vector<std::string> threads{"AMITY_FABRIC=ofi", "AMITY_THREADS=2"};
  const std::vector<std::string> amity_run{AMITY_COMMAND, "run", "-n"};
  std::vector<launcher> all{{"amity", amity_run, ofi}, {"amity_threads", amity_run, threads}};
  // As root in a container, and with more ranks than cores, which Open MPI refuses unless it is told.
  const std::string open_mpi = AMITY_OPEN_MPI_LAUNCHER;
  const std::vector<std::string> mpirun{open_mpi, "--allow-run-as-root", "--oversubscribe", "-n"};
  const std::string hydra = AMITY_HYDRA_LAUNCHER;
  const std::vector<std::string> shown{"AMITY_FABRIC_SHOWN=1"};
  for (const auto& [suffix, environment] :
       {std::pair<std::string, std::vector<std::string>>{"", shown}, {"_ofi", ofi}, {"_threads", threads}}) {
    if (!open_mpi.empty()) all.push_back({"open_mpi" + suffix, mpirun, environment});
    if (!hydra.empty()) all.push_back({"hydra" + suffix, {hydra, "-n"}, environment});
  }
  if (!testing::whole_matrices()) {
    std::erase_if(all, [](const launcher& each) {
      return each.name == "amity_threads" || each.name == "open_mpi_ofi" || each.name == "hydra_threads";
    });
  }
  return all;
}

class started : public ::testing::TestWithParam<launcher> {
 protected:
  static std::vector<std::string> command(int ranks, std::vector<std::string> program) {
    auto words = GetParam().command;
    words.push_back(std::to_string(ranks));
    words.insert(words.end(), program.begin(), program.end());
    return words;
  }
  static child_options options() { return {.environment = GetParam().environment}; }
};

TEST_P(started, ranks_are_one_job) {
  for (const int ranks : {1, 3}) {
    const auto ended = child(command(ranks, {WORLD_PROGRAM, "sum"}), options()).finish();
    EXPECT_EQ(ended.status, 0) << ended.errors;
    if (GetParam().environment.front() == "AMITY_FABRIC_SHOWN=1") {
      EXPECT_PRED2(contains, ended.errors, "fabric: shm: all ranks are on one node");
      EXPECT_PRED2(contains, ended.errors, "fabric: not ofi: all ranks are on one node");
    }
    for (int rank = 0; rank < ranks; ++rank) {
      const int sum = ranks * (ranks - 1) / 2;
      EXPECT_PRED2(contains, ended.output,
                   "rank " + std::to_string(rank) + " of " + std::to_string(ranks) + ": sum " + std::to_string(sum));
    }
  }
}

TEST_P(started, a_rank_that_fails_says_why_and_ends_the_job) {
  const auto ended = child(command(3, {WORLD_PROGRAM, "throw"}), options()).finish();
  EXPECT_NE(ended.status, 0);
  EXPECT_PRED2(contains, ended.errors, "amity: test (rank 2): it went wrong; do not");
}

TEST_P(started, exit_with_0_fails_job) {
  const auto ended = child(command(3, {WORLD_PROGRAM, "exit"}), options()).finish();
  EXPECT_NE(ended.status, 0);
  EXPECT_PRED2(contains, ended.errors, "amity: exit (rank 2): exit(0) was called before the program has returned");
}

TEST_P(started, a_rank_that_is_killed_ends_the_job) {
  child job(command(3, {WORLD_PROGRAM, "wait"}), options());
  const auto lines = job.wait_for_lines(3);
  const watches all(lines);
  ASSERT_EQ(::kill(processes_in(lines)[1], SIGKILL), 0);
  EXPECT_NE(job.finish().status, 0);
  EXPECT_TRUE(all.all_end());
}

TEST_P(started, ranks_end_with_whoever_has_started_them) {
  char files[] = "/tmp/amity-start-XXXXXX";  // a launcher that is killed leaves some
  ASSERT_NE(::mkdtemp(files), nullptr);
  child_options with_files = options();
  with_files.environment.push_back(std::string("TMPDIR=") + files);
  with_files.environment.push_back("AMITY_CORE_STALL_SECONDS=0");  // who prints into a broken pipe ends, too
  child job(command(3, {WORLD_PROGRAM, "wait inside"}), with_files);
  const watches all(job.wait_for_lines(3));
  job.signal(SIGKILL);
  EXPECT_TRUE(all.all_end());
  EXPECT_EQ(job.finish().status, -SIGKILL);
  std::filesystem::remove_all(files);
}

INSTANTIATE_TEST_SUITE_P(everywhere, started, ::testing::ValuesIn(launchers()),
                         [](const auto& each) { return each.param.name; });

outcome alone(std::vector<std::string> environment) {
  return child({WORLD_PROGRAM, "sum"}, {.environment = std::move(environment)}).finish();
}

TEST(start, a_process_manager_that_cannot_be_joined_is_an_error) {
  const auto gone = alone({"PMI_FD=999", "PMI_RANK=0", "PMI_SIZE=2"});
  EXPECT_EQ(gone.output, "");
  expect_failure(gone, "a process manager with PMI-1 has started this process, but it cannot be asked");
  EXPECT_PRED2(contains, gone.errors, "start it by mpiexec of MPICH");
  const auto senseless = alone({"PMI_FD=1", "PMI_RANK=2", "PMI_SIZE=2"});
  EXPECT_PRED2(contains, senseless.errors, "PMI_RANK=2 is not below PMI_SIZE=2");
}

/// The command line of three ranks on two nodes.
std::vector<std::string> on_two_nodes(const std::vector<std::string>& program) {
  std::vector<std::string> words{
      AMITY_COMMAND, "run", "-n", "3", "sh", "-c", "AMITY_NODE=$((AMITY_RANK / 2)) exec \"$@\"", "sh"};
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

TEST(start, a_program_can_be_told_that_its_ranks_are_on_several_nodes) {
  const auto ended =
      child(on_two_nodes({WORLD_PROGRAM, "sum"}),
            {.environment = {"AMITY_FABRIC=composite", "AMITY_FABRIC_SHOWN=1", "AMITY_OFI_ADDRESS=127.0.0.1"}})
          .finish();
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_PRED2(contains, ended.output, "rank 2 of 3: sum 3");
  EXPECT_PRED2(contains, ended.errors, "fabric: composite: AMITY_FABRIC asks for it");
  EXPECT_PRED2(contains, ended.errors, "fabric: not shm: AMITY_FABRIC=composite");
}

TEST(start, one_of_many_that_cannot_find_the_others_is_an_error) {
  for (const std::string sign : {"SLURM_STEP_NUM_TASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"}) {
    const auto ended = alone({sign + "=2"});
    EXPECT_EQ(ended.output, "");
    expect_failure(ended, "has started 2 processes (" + sign + "), but nothing by which");
    EXPECT_EQ(alone({sign + "=1"}).status, 0);
  }
}

TEST(start, one_of_many_that_would_be_a_job_of_its_own_is_an_error) {
  for (const std::string fabric : {"sim", "threads"}) {
    const auto ended = alone({"OMPI_COMM_WORLD_SIZE=2", "AMITY_FABRIC=" + fabric, "AMITY_RANKS=3"});
    EXPECT_EQ(ended.output, "");
    expect_failure(ended, "has started 2 processes (OMPI_COMM_WORLD_SIZE), but with AMITY_FABRIC=" + fabric);
    EXPECT_EQ(alone({"OMPI_COMM_WORLD_SIZE=1", "AMITY_FABRIC=" + fabric}).status, 0);
  }
}

TEST(start, a_provider_that_there_is_not_is_an_error) {
  const auto ended = alone({"AMITY_FABRIC=ofi", "AMITY_OFI_PROVIDER=carrier-pigeon"});
  expect_failure(ended, "libfabric has no provider 'carrier-pigeon' of reliable, ordered datagrams");
  EXPECT_PRED2(contains, ended.errors, "fi_info -t FI_EP_RDM");
}

TEST(start, packets_that_would_lose_their_order_are_an_error) {
  expect_failure(alone({"AMITY_FABRIC=ofi", "AMITY_OFI_PROVIDER=tcp;ofi_rxm", "AMITY_OFI_PACKET_BYTES=16k"}),
                 "keeps messages in order up to 16384 bytes, and packets of 16384 bytes are longer");
}

TEST(start, address_of_no_host_is_named) {
  for (const std::string address : {"0", "0.0.0.0", "10.255.255.1", "nosuchhost.invalid"}) {
    const auto ended = child(amity_command({"run", "-n", "2", WORLD_PROGRAM, "sum"}),
                             {.environment = {"AMITY_FABRIC=ofi", "AMITY_OFI_ADDRESS=" + address}})
                           .finish();
    expect_failure(ended, "AMITY_OFI_ADDRESS");
  }
}

/// What two ranks say whose shell runs `script` in front of the program.
std::string errors_of_two(const std::string& fabric, const std::string& script) {
  const auto ended = child({AMITY_COMMAND, "run", "-n", "2", "sh", "-c", script + " exec " WORLD_PROGRAM " sum"},
                           {.environment = {"AMITY_FABRIC=" + fabric}})
                         .finish();
  EXPECT_NE(ended.status, 0);
  return ended.errors;
}

TEST(start, settings_must_agree) {
  for (const std::string fabric : {"ofi", "composite"}) {
    for (const std::string setting : {"AMITY_OFI_CREDITS", "AMITY_SHM_BUFFERS"}) {
      const std::string errors = errors_of_two(fabric, setting + "=$((8 + AMITY_RANK))");
      EXPECT_PRED2(contains, errors, setting + " is '8' here, and '9' on rank 1");
      EXPECT_PRED2(contains, errors, "give all ranks the same " + setting);
    }
  }
  EXPECT_PRED2(contains, errors_of_two("ofi", "AMITY_OFI_SEALED=$AMITY_RANK"),
               "AMITY_OFI_SEALED is '0' here, and '1' on rank 1");
  EXPECT_PRED2(contains, errors_of_two("ofi", "[ $AMITY_RANK = 0 ] || AMITY_FABRIC=composite;"),
               "AMITY_FABRIC is 'ofi' here, and 'composite' on rank 1");
}

// One line for the job; none if packets are sealed.
TEST(start, unsealed_packets_reported_once) {
  const auto errors_of = [](const std::string& sealed) {
    const auto ended = child({AMITY_COMMAND, "run", "-n", "3", WORLD_PROGRAM, "sum"},
                             {.environment = {"AMITY_FABRIC=ofi", "AMITY_OFI_SEALED=" + sealed}})
                           .finish();
    EXPECT_EQ(ended.status, 0) << ended.errors;
    return ended.errors;
  };
  EXPECT_EQ(errors_of("1"), "");
  EXPECT_EQ(errors_of("0"),
            "amity: rank 0: AMITY_OFI_SEALED=0: packets over the network are not authenticated; use it in a trusted "
            "network only\n");
}

TEST(start, ranks_have_as_many_threads_as_one_another) {
  const std::string hydra = AMITY_HYDRA_LAUNCHER;
  AMITY_SKIP_UNLESS(!hydra.empty(), "mpiexec.hydra not found");
  const auto ended =
      child({hydra, "-n", "2", "sh", "-c", "AMITY_THREADS=$((2 + PMI_RANK)) exec " WORLD_PROGRAM " sum"}).finish();
  EXPECT_NE(ended.status, 0);
  EXPECT_PRED2(contains, ended.errors, "AMITY_THREADS is '");  // whichever says so before the manager ends it
}

}  // namespace
}  // namespace amity::tests
