# How jobs of MPI begin and end. The launcher's own messages follow amity's.
function(mpi_end_test name ranks action expected)
  amity_mpi_program_test(${name} ${ranks} world_program ${action})
  set_tests_properties(${name} PROPERTIES PASS_REGULAR_EXPRESSION "${expected}" TIMEOUT 120)
endfunction()
mpi_end_test(mpi_sum 3 sum "rank 2 of 3: sum 3")
mpi_end_test(mpi_error 3 throw "amity: test \\(rank 2\\): it went wrong; do not")
mpi_end_test(mpi_status 3 status "amity: rank 2: the program ended with status 9")
mpi_end_test(mpi_killed 3 kill "(rank 2 .*signal 9|EXIT CODE: 9)")
mpi_end_test(mpi_wrong_ranks 1 sum "AMITY_RANKS is 7, but MPI has started 1 process;")
set_property(TEST mpi_wrong_ranks APPEND PROPERTY ENVIRONMENT AMITY_RANKS=7)

# Each further program after a colon has settings of its own.
mpi_end_test(mpi_other_settings 1 "sum;:;-n;1;${CMAKE_COMMAND};-E;env;AMITY_MPI_CREDITS=8;$<TARGET_FILE:world_program>;sum"
  "\\(rank 0\\): AMITY_MPI_CREDITS is 64 here, but 8 to 64 on the ranks of the job; give all ranks the same")

if(TARGET amity_command)
  add_dependencies(mpi_tests amity_command)
  add_test(NAME mpi_command COMMAND amity_command run -n 3 --fabric mpi $<TARGET_FILE:world_program> sum)
  set_tests_properties(mpi_command PROPERTIES TIMEOUT 120 LABELS "tools;mpi" PROCESSORS 2
    ENVIRONMENT "${AMITY_MPI_TEST_ENVIRONMENT}" PASS_REGULAR_EXPRESSION "rank 2 of 3: sum 3")
endif()

# A launcher of another MPI starts processes that do not find one another.
cmake_path(GET AMITY_MPI_LAUNCHER FILENAME launcher)
if(launcher MATCHES "mpich")
  find_program(other_launcher NAMES mpirun.openmpi NO_CACHE)
else()
  find_program(other_launcher NAMES mpirun.mpich NO_CACHE)
endif()
if(other_launcher)
  set(own_launcher ${AMITY_MPI_LAUNCHER})
  set(AMITY_MPI_LAUNCHER ${other_launcher})
  mpi_end_test(mpi_other_launcher 2 sum "has started 2 processes, but .*, which amity is built with, sees this one alone;")
  set(AMITY_MPI_LAUNCHER ${own_launcher})
endif()
