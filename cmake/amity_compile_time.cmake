# Reduces the time of compilation. Does not change programs.

option(AMITY_UNITY_BUILD "Compile the libraries in a few large pieces, for builds that are made once" OFF)
option(AMITY_UNITY_TESTS "Compile each test program in a few large pieces" ${AMITY_UNITY_BUILD})

# GCC collects garbage whenever its memory doubles, which takes about a tenth of its time on tests. It needs less than
# 1 GB for each source here.
target_compile_options(amity_options INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=1000000>)

# In a large piece GCC treats sources as headers, and warns if their classes use types of an anonymous namespace.
set(unity_options $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
if(AMITY_UNITY_BUILD)
  target_compile_options(amity_options INTERFACE ${unity_options})
endif()

# ccache does not cache files that use a precompiled header.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

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
