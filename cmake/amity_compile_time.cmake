# Reduces the time of compilation.

option(AMITY_UNITY_BUILD "Compile the libraries in a few large pieces, for builds that are made once" OFF)
option(AMITY_UNITY_TESTS "Compile each test program in a few large pieces" ${AMITY_UNITY_BUILD})

# GCC collects garbage whenever its memory doubles, which takes about a tenth of its time on tests. It needs less than
# 1 GB for each source here.
target_compile_options(amity_options INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1000000>)

# In a piece GCC treats sources as headers, and warns if their classes use types of an anonymous namespace. A local variable
# may have the name of a function in another source of its piece.
set(unity_options $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
if(AMITY_UNITY_BUILD)
  target_compile_options(amity_options INTERFACE ${unity_options})
endif()
if((AMITY_UNITY_BUILD OR AMITY_UNITY_TESTS) AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(amity_options INTERFACE -Wshadow=local)
else()
  target_compile_options(amity_options INTERFACE -Wshadow)
endif()

option(AMITY_CCACHE "Compile with ccache; what is compiled stays the same" OFF)
if(AMITY_CCACHE)
  find_program(AMITY_CCACHE_COMMAND ccache REQUIRED)
  mark_as_advanced(AMITY_CCACHE_COMMAND)
  # It caches sources with a precompiled header if the header names its macros in the output of the preprocessor.
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${AMITY_CCACHE_COMMAND}
      sloppiness=pch_defines,time_macros,include_file_mtime,include_file_ctime)
  endforeach()
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess>)
endif()

# amity_library_in_pieces(TARGET SOURCES)
# Compiles a library whose speed counts in pieces of so many sources. GCC bounds the code that it adds to a large unit by
# inlining, and would inline less than in a source alone, unless the unit counts as small.
function(amity_library_in_pieces target sources)
  if(AMITY_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${sources})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=large-unit-insns=1000000>)
  endif()
endfunction()

# amity_precompiled_header(TARGET HEADER [OPTIONS...])
# Compiles the header once, with the options, for the targets that name this one after REUSE_FROM in
# target_precompile_headers; their options must be the same. Sources outside the tests must include the header themselves,
# or else set SKIP_PRECOMPILE_HEADERS: scripts/check headers enforces it, because a missing include would not show.
function(amity_precompiled_header target header)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp)  # carries the options
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n" @ONLY)
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${target} PRIVATE amity::amity amity_options)
  target_compile_options(${target} PRIVATE ${ARGN})
  target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/${header})
endfunction()
