# How jobs of MPI begin and end. The launcher's own messages follow amity's.
function(mpi_end_test name mpi ranks action expected)
  amity_mpi_program_test(${name}_${mpi} ${mpi} ${ranks} world_program ${action})
  set_tests_properties(${name}_${mpi} PROPERTIES PASS_REGULAR_EXPRESSION "${expected}" TIMEOUT 120)
endfunction()

foreach(mpi IN LISTS AMITY_MPIS)
  mpi_end_test(mpi_sum ${mpi} 3 sum "rank 2 of 3: sum 3")
  mpi_end_test(mpi_error ${mpi} 3 throw "amity: test \\(rank 2\\): it went wrong; do not")
  mpi_end_test(mpi_status ${mpi} 3 status "amity: rank 2: the program ended with status 9")
  mpi_end_test(mpi_exit ${mpi} 3 exit "amity: exit \\(rank 2\\): exit\\(0\\) was called before the program has returned")
  mpi_end_test(mpi_quick_exit ${mpi} 3 quick_exit "amity: quick_exit \\(rank 2\\)")
  mpi_end_test(mpi_killed ${mpi} 3 kill "(rank 2 .*signal 9|EXIT CODE: 9)")
  mpi_end_test(mpi_wrong_ranks ${mpi} 1 sum "AMITY_RANKS is 7, but MPI has started 1 process;")
  set_property(TEST mpi_wrong_ranks_${mpi} APPEND PROPERTY ENVIRONMENT AMITY_RANKS=7)

  # Each further program after a colon has settings of its own.
  mpi_end_test(mpi_other_settings ${mpi} 1
    "sum;:;-n;1;${CMAKE_COMMAND};-E;env;AMITY_MPI_CREDITS=8;$<TARGET_FILE:world_program>;sum"
    "\\(rank 0\\): AMITY_MPI_CREDITS is 64 here, but 8 to 64 on the ranks of the job; give all ranks the same")

  if(TARGET amity_command)
    add_test(NAME mpi_command_${mpi} COMMAND amity_command run -n 3 --fabric mpi $<TARGET_FILE:world_program> sum)
    set_tests_properties(mpi_command_${mpi} PROPERTIES TIMEOUT 120 LABELS "tools;mpi" PROCESSORS 2
      ENVIRONMENT "AMITY_MPI_LIBRARY=${mpi};${AMITY_MPI_TEST_ENVIRONMENT}"
      PASS_REGULAR_EXPRESSION "rank 2 of 3: sum 3" FAIL_REGULAR_EXPRESSION "is ignored")
  endif()
endforeach()

# Without a launcher, the setting decides. If there are two modules, one must be named.
function(mpi_singleton_test name environment expected)
  add_test(NAME ${name} COMMAND world_program sum)
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS "tools;mpi" PASS_REGULAR_EXPRESSION "${expected}"
    ENVIRONMENT "AMITY_FABRIC=mpi;AMITY_FABRIC_SHOWN=1;${AMITY_MPI_TEST_ENVIRONMENT};${environment}")
endfunction()
foreach(mpi IN LISTS AMITY_MPIS)
  mpi_singleton_test(mpi_setting_${mpi} "AMITY_MPI_LIBRARY=${mpi}"
    "fabric: mpi uses (Open MPI|MPICH) [^ ]*: AMITY_MPI_LIBRARY=${mpi}\n.*rank 0 of 1: sum 0")
  mpi_singleton_test(mpi_other_launcher_${mpi} "AMITY_MPI_LIBRARY=${mpi};SLURM_STEP_NUM_TASKS=2"
    "srun has started 2 processes, but .* sees one process only; choose what this MPI speaks")
endforeach()
list(LENGTH AMITY_MPIS count)
if(count GREATER 1)
  mpi_singleton_test(mpi_no_choice ""
    "there are modules for Open MPI [^ ]* and MPICH [^ ]*, and the MPI of this process is not known; link the program with its MPI, start it with the mpirun or mpiexec of the MPI, or set AMITY_MPI_LIBRARY=openmpi or AMITY_MPI_LIBRARY=mpich")
endif()
if(openmpi IN_LIST AMITY_MPIS)
  mpi_end_test(mpi_setting_not_followed openmpi 2 sum
    "AMITY_MPI_LIBRARY=mpich is ignored: OMPI_COMM_WORLD_SIZE is set by the launcher of Open MPI")
  set_property(TEST mpi_setting_not_followed_openmpi APPEND PROPERTY ENVIRONMENT AMITY_MPI_LIBRARY=mpich)
endif()
if(TARGET amity_command)
  add_test(NAME mpi_no_launcher COMMAND amity_command run -n 2 --fabric mpi $<TARGET_FILE:world_program> sum)
  set_tests_properties(mpi_no_launcher PROPERTIES TIMEOUT 60 LABELS "tools;mpi" ENVIRONMENT PATH=/nonexistent
    PASS_REGULAR_EXPRESSION "no MPI launcher found in PATH: mpirun, mpiexec; install an MPI")
endif()
