# How the sources of tests are compiled. The library that they link is optimised fully, and so are the messages of the
# applications and benchmarks; what tests compile themselves is not worth the time.
set(test_optimisation $<$<CONFIG:Release>:-O1>)
amity_precompiled_header(test_headers tests/support/precompiled.hpp ${test_optimisation})
target_link_libraries(test_headers PRIVATE GTest::gtest)

# amity_test_flags(TARGET [SEPARATE])
function(amity_test_flags target)
  target_compile_options(${target} PRIVATE ${test_optimisation})
  target_precompile_headers(${target} REUSE_FROM test_headers)
  if(NOT "SEPARATE" IN_LIST ARGN)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${AMITY_UNITY_TESTS} UNITY_BUILD_BATCH_SIZE 10)
    target_compile_options(${target} PRIVATE ${unity_options})
  endif()
endfunction()

set(AMITY_TEST_TIME_FACTOR 1 CACHE STRING "Multiplies the time limits of tests")

# amity_test_timeout(TESTS... SECONDS)
function(amity_test_timeout)
  list(POP_BACK ARGN seconds)
  math(EXPR seconds "${AMITY_TEST_TIME_FACTOR} * ${seconds}")
  set_tests_properties(${ARGN} PROPERTIES TIMEOUT ${seconds})
endfunction()

# Test programs that `scripts/test quick` builds and runs.
add_custom_target(quick_tests)
set(quick_programs base_test core_test counters_test decorators_test depth_test doorbell_test epoch_packets_test
  epoch_schedules_test epoch_test message_test policy_sets_test priority_test shm_channel_test shm_contract_test
  shm_schedules_test sim_contract_test sim_test try_end_test waiter_test)
# Layers whose programs `scripts/test long` runs with more cases, and programs that only it builds and runs.
set(long_layers base fabric core epoch message world apps window)
add_custom_target(long_tests)

# amity_test(NAME SOURCES... [LIBRARIES ...] [TIMEOUT seconds] [SHARDS n] [SEPARATE] [NOT_LONG])
# One GoogleTest program, registered with ctest as a single test with a timeout. Each test case cleans up after itself.
# Its label is the directory it stands in, which names the layer: `ctest -L epoch`. Other labels are `quick`, and `long`,
# unless the program is NOT_LONG. SHARDS registers the program n times, as NAME_1 to NAME_n, each with a part of
# its cases: for cases that take long without a CPU. Sources are compiled several at a time if AMITY_UNITY_TESTS is set,
# unless they are SEPARATE because they define the same names or each takes long.
function(amity_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SEPARATE;NOT_LONG" "TIMEOUT;SHARDS" "LIBRARIES")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(AMITY_SANITIZE)
    math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
  endif()
  get_filename_component(floor ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(labels ${floor})
  if(floor IN_LIST long_layers AND NOT arg_NOT_LONG)
    list(APPEND labels long)
  endif()
  if(name IN_LIST quick_programs)
    list(APPEND labels quick)
    add_dependencies(quick_tests ${name})
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE amity::amity amity_options GTest::gtest GTest::gtest_main ${arg_LIBRARIES})
  if(arg_SEPARATE)
    amity_test_flags(${name} SEPARATE)
  else()
    amity_test_flags(${name})
  endif()
  if(arg_SHARDS)
    foreach(shard RANGE 1 ${arg_SHARDS})
      math(EXPR index "${shard} - 1")
      add_test(NAME ${name}_${shard} COMMAND ${name})
      set_tests_properties(${name}_${shard} PROPERTIES
        ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index}")
      list(APPEND tests ${name}_${shard})
    endforeach()
  else()
    add_test(NAME ${name} COMMAND ${name})
    set(tests ${name})
  endif()
  set_tests_properties(${tests} PROPERTIES LABELS "${labels}")
  amity_test_timeout(${tests} ${arg_TIMEOUT})
  if(AMITY_TESTS_COMPLETE)
    set_property(TEST ${tests} APPEND PROPERTY ENVIRONMENT TESTS_COMPLETE=1)  # tests/support/skip.hpp
  endif()
endfunction()

# The environment of tests of programs that reach each other by libfabric.
set(AMITY_OFI_TEST_ENVIRONMENT)
if(AMITY_SANITIZE)
  set(AMITY_OFI_TEST_ENVIRONMENT LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_LIST_DIR}/leaks_of_libfabric.txt)
endif()

# amity_test_over(NAME FABRIC FILTER)
# Runs tests of a program that is there anew, with ranks that reach each other by another fabric, which needs libfabric;
# the thread sanitizer does not see into that. Each process takes a while to find its provider, so the filter leaves out
# what one number of ranks has shown for all.
function(amity_test_over name fabric filter)
  if(AMITY_HAS_OFI AND NOT AMITY_SANITIZE STREQUAL "thread")
    get_filename_component(label ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    add_test(NAME ${name}_over_${fabric} COMMAND ${name} --gtest_filter=${filter})
    set_tests_properties(${name}_over_${fabric} PROPERTIES LABELS ${label} ENVIRONMENT FABRIC=${fabric})
    amity_test_timeout(${name}_over_${fabric} 240)
  endif()
endfunction()

# Programs that must not compile find the headers of amity compiled, which is done when the tests begin.
set(rejected_header ${CMAKE_CURRENT_BINARY_DIR}/rejected.hpp)
if(NOT AMITY_SANITIZE)
  file(CONFIGURE OUTPUT ${rejected_header} CONTENT "#include \"amity/amity.hpp\"\n" @ONLY)
  add_test(NAME rejected_header COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -I${PROJECT_SOURCE_DIR}
    -x c++-header ${rejected_header} -o ${rejected_header}.gch)
  set_tests_properties(rejected_header PROPERTIES TIMEOUT 120 LABELS checks FIXTURES_SETUP rejected_header)
endif()

# amity_compile_failure_test(NAME SOURCE ["sentence"])
# Passes if SOURCE does not compile and the compiler's output contains the sentence: what a user who makes this mistake
# gets to read. Without a sentence, it is the comment "// error: sentence" that SOURCE begins with. A source that compiles, or
# fails for another reason, fails the test.
function(amity_compile_failure_test name source)
  get_filename_component(label ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  get_filename_component(source ${source} ABSOLUTE)
  add_test(NAME ${name}
    COMMAND ${CMAKE_COMMAND}
      -D COMPILER=${CMAKE_CXX_COMPILER}
      -D INCLUDES=${PROJECT_SOURCE_DIR}
      -D PRECOMPILED=${rejected_header}
      -D SOURCE=${source}
      -D "SENTENCE=${ARGN}"
      -P ${PROJECT_SOURCE_DIR}/tests/expect_compile_failure.cmake)
  set_tests_properties(${name} PROPERTIES TIMEOUT 120 LABELS ${label} FIXTURES_REQUIRED rejected_header)
endfunction()

# amity_mpi_program_test(NAME MPI RANKS PROGRAM [ARGUMENTS...])
# Passes if so many ranks of the program, started by the launcher of that MPI, end with 0.
function(amity_mpi_program_test name mpi ranks program)
  get_filename_component(label ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  add_test(NAME ${name} COMMAND ${AMITY_MPI_LAUNCHER_${mpi}} -n ${ranks} $<TARGET_FILE:${program}> ${ARGN})
  # Ranks that wait in MPICH's own calls, as when a job begins, do not yield: with more ranks than CPUs that takes long.
  amity_test_timeout(${name} 300)
  set_tests_properties(${name} PROPERTIES LABELS "${label};mpi" PROCESSORS 2
    ENVIRONMENT "AMITY_TEST_MPI_RANKS=${ranks};AMITY_FABRIC=mpi;${AMITY_MPI_TEST_ENVIRONMENT}")
  if(AMITY_SANITIZE)
    # A sanitizer calls dlopen() for the program, so the loader does not look at the run path of the program.
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT LD_LIBRARY_PATH=${AMITY_MODULE_DIRECTORY})
    # MPI leaves memory of modules that it has unloaded: no list of suppressions can name them.
    set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
  endif()
endfunction()

# amity_mpi_tests(PROGRAM FILTER RANKS n...)
# Runs the tests of an existing test program that match the filter over each MPI that a module is built for; over one MPI
# if there is a sanitizer, which does not see into MPIs. In the filter, @ stands for the number of ranks.
function(amity_mpi_tests program filter)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "RANKS")
  set(mpis ${AMITY_MPIS})
  if(AMITY_SANITIZE AND mpis)
    list(SUBLIST mpis 0 1 mpis)
  endif()
  foreach(mpi IN LISTS mpis)
    foreach(ranks IN LISTS arg_RANKS)
      string(REPLACE "@" "${ranks}" filter_of_ranks "${filter}")
      amity_mpi_program_test(${program}_${mpi}_${ranks} ${mpi} ${ranks} ${program}
        --gtest_filter=${filter_of_ranks} --gtest_brief=1)
    endforeach()
  endforeach()
endfunction()

# amity_table_tests(PREFIX TABLE [SECTIONS names...] [WITHOUT names...] [PROGRAMS prefix] [OPTIONS words...] [LAUNCHER words...]
#                   [ENVIRONMENT settings...])
# An entry PREFIX<section> for each section of a table of jobs, or for these sections. tests/support/run_jobs.py, which gets
# the options and the launcher, runs the jobs. With LONG_TESTS it runs more of them.
function(amity_table_tests prefix table)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PROGRAMS" "SECTIONS;WITHOUT;OPTIONS;LAUNCHER;ENVIRONMENT")
  get_filename_component(table ${table} ABSOLUTE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  if(NOT arg_SECTIONS)
    file(READ ${table} text)
    string(REGEX MATCHALL "\n.[a-z_]+\\]" headers "\n${text}")
    string(REGEX MATCHALL "[a-z_]+" arg_SECTIONS "${headers}")
  endif()
  if(arg_LAUNCHER)
    list(PREPEND arg_LAUNCHER --)
  endif()
  foreach(section IN LISTS arg_SECTIONS)
    if(NOT section IN_LIST arg_WITHOUT)
      set(name ${prefix}${section})
      add_test(NAME ${name} COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/support/run_jobs.py ${table} ${section}
        --programs ${CMAKE_CURRENT_BINARY_DIR}/${arg_PROGRAMS} ${arg_OPTIONS} ${arg_LAUNCHER})
      amity_test_timeout(${name} 900)
      set_tests_properties(${name} PROPERTIES LABELS interop
        ENVIRONMENT "${arg_ENVIRONMENT}")
      amity_test_may_skip(${name})
    endif()
  endforeach()
endfunction()

# amity_test_needs(FOUND WHAT PACKAGE)
# FOUND is a condition, as of if(). If it is false, WHAT is left out, which is an error if AMITY_TESTS_COMPLETE is ON.
option(AMITY_TESTS_COMPLETE "Fail instead of leaving out tests whose programs or packages are missing" OFF)
function(amity_test_needs found what package)
  if(${found})
    return()
  endif()
  set(mode STATUS)
  if(AMITY_TESTS_COMPLETE)
    set(mode FATAL_ERROR)
  endif()
  message(${mode} "Tests: left out: ${what} (${package})")
endfunction()

# amity_test_may_skip(TEST)
# The status 77 means that this machine lacks what the test needs: an error if AMITY_TESTS_COMPLETE is ON.
function(amity_test_may_skip test)
  if(NOT AMITY_TESTS_COMPLETE)
    set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

# amity_complete_tests(REGEX...)
# `scripts/test` leaves out entries of this directory with such names, `scripts/test complete` runs them.
function(amity_complete_tests)
  get_property(entries DIRECTORY PROPERTY TESTS)
  foreach(regex IN LISTS ARGN)
    set(tests ${entries})
    list(FILTER tests INCLUDE REGEX ${regex})
    if(tests)
      set_property(TEST ${tests} APPEND PROPERTY LABELS complete)
    endif()
  endforeach()
endfunction()

# amity_extended_tests(TESTS...)
# Only `scripts/test long` runs them.
function(amity_extended_tests)
  foreach(test IN LISTS ARGN)
    set_property(TEST ${test} APPEND PROPERTY LABELS extended)
  endforeach()
endfunction()
