/// Which MPI a process uses: what decides, and in which order.

#include <cstdlib>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "amity/fabric/mpi/choice.hpp"

namespace amity::fabric::mpi {
namespace {

const std::string open_mpi_version = "Open MPI v4.1.4";
const std::string mpich_version = "MPICH 4.0.2";

struct known_version {
  std::string_view text;  ///< of MPI_Get_library_version
  std::string_view version;
  family which;
};
constexpr known_version known_versions[] = {
    {"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "Open MPI v4.1.4", family::open_mpi},
    {"MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 2022", "MPICH 4.0.2", family::mpich},
    {"Intel(R) MPI Library 2021.9 for Linux* OS\n", "Intel(R) MPI Library 2021.9 for Linux* OS", family::mpich},
    {"MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date", "MVAPICH2 Version      :\t2.3.7", family::mpich},
    {"MPI VERSION    : CRAY MPICH version 8.1.25 (ANL base 3.4a2)\nMPI BUILD INFO : now",
     "CRAY MPICH version 8.1.25 (ANL base 3.4a2)", family::mpich},
};

TEST(mpi_choice, versions_and_families) {
  for (const auto& [text, version, which] : known_versions) {
    EXPECT_EQ(short_version(text), version);
    EXPECT_EQ(family_of_version(short_version(text)), which) << text;
  }
  EXPECT_EQ(family_of_version("Platform MPI 9"), std::nullopt);
  EXPECT_EQ(family_of_version(""), std::nullopt);
  EXPECT_EQ(short_version("MPI VERSION"), "");
}

TEST(mpi_choice, no_evidence_no_choice) { EXPECT_FALSE(choose({})); }

TEST(mpi_choice, loaded_mpi_before_launcher_before_setting) {
  constexpr const char* by_launcher = "OMPI_COMM_WORLD_SIZE";
  struct {
    evidence found;
    family which;
    std::string warning;
  } const cases[] = {
      {{mpich_version, family::open_mpi, by_launcher, {}}, family::mpich, ""},
      {{"", family::open_mpi, by_launcher, family::mpich},
       family::open_mpi,
       "AMITY_MPI_LIBRARY=mpich is ignored: OMPI_COMM_WORLD_SIZE is set by the launcher of Open MPI"},
      {{"", {}, "", family::mpich}, family::mpich, ""},
      {{open_mpi_version, {}, "", family::open_mpi}, family::open_mpi, ""},
  };
  for (const auto& [found, which, warning] : cases) {
    const auto made = choose(found);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->which, which);
    EXPECT_EQ(made->warning, warning);
  }
  EXPECT_EQ(choose(cases[0].found)->reason, "this process has loaded MPICH 4.0.2");
}

TEST(mpi_choice, unknown_loaded_mpi_not_replaced) {
  EXPECT_FALSE(choose({.loaded = "Platform MPI 9",
                       .launched = family::open_mpi,
                       .launcher_variable = "OMPI_COMM_WORLD_SIZE",
                       .setting = family::mpich}));
}

/// The variables of launchers, absent while this object lives.
class without_launcher {
 public:
  without_launcher() {
    for (const char* const name : names) ::unsetenv(name);
  }
  ~without_launcher() {
    for (const char* const name : names) ::unsetenv(name);
  }

 private:
  static constexpr const char* names[] = {"OMPI_COMM_WORLD_SIZE", "MPI_LOCALRANKID", "PMIX_RANK", "PMI_RANK"};
};

TEST(mpi_choice, evidence_from_environment) {
  const without_launcher none;
  settings config;
  EXPECT_EQ(evidence::of(config, "").launched, std::nullopt);
  EXPECT_EQ(evidence::of(config, "").setting, std::nullopt);

  config.set("AMITY_MPI_LIBRARY", "mpich");
  EXPECT_EQ(evidence::of(config, "").setting, family::mpich);

  ::setenv("MPI_LOCALRANKID", "0", 1);
  EXPECT_EQ(evidence::of(config, "").launched, family::mpich);
  EXPECT_EQ(evidence::of(config, "").launcher_variable, "MPI_LOCALRANKID");
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  EXPECT_EQ(evidence::of(config, "").launched, family::open_mpi);
}

// Slurm sets these for programs of any MPI.
TEST(mpi_choice, process_managers_no_evidence) {
  const without_launcher none;
  ::setenv("PMIX_RANK", "0", 1);
  ::setenv("PMI_RANK", "0", 1);
  EXPECT_EQ(evidence::of({}, "").launched, std::nullopt);
}

}  // namespace
}  // namespace amity::fabric::mpi
