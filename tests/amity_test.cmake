# amity_test(NAME SOURCES... [LIBRARIES ...] [TIMEOUT seconds])
# One GoogleTest program, registered with ctest as a single test with a timeout. Each test case cleans up after itself.
# Its label is the directory it stands in, which names the floor: `ctest -L epoch`.
function(amity_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "LIBRARIES")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  get_filename_component(label ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE amity::amity amity_options GTest::gtest GTest::gtest_main ${arg_LIBRARIES})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${label})
endfunction()

# amity_compile_failure_test(NAME SOURCE "sentence")
# Passes if SOURCE does not compile and the compiler's output contains the sentence: what a user who makes this mistake
# gets to read. A source that compiles, or fails for another reason, fails the test.
function(amity_compile_failure_test name source sentence)
  get_filename_component(label ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  get_filename_component(source ${source} ABSOLUTE)
  add_test(NAME ${name}
    COMMAND ${CMAKE_COMMAND}
      -D COMPILER=${CMAKE_CXX_COMPILER}
      -D INCLUDES=${PROJECT_SOURCE_DIR}
      -D SOURCE=${source}
      -D "SENTENCE=${sentence}"
      -P ${PROJECT_SOURCE_DIR}/tests/expect_compile_failure.cmake)
  set_tests_properties(${name} PROPERTIES TIMEOUT 60 LABELS ${label})
endfunction()
