# Warnings and sanitizers for amity's own targets; users of the library inherit none of it.

add_library(amity_options INTERFACE)
target_compile_options(amity_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wnon-virtual-dtor)
if(AMITY_WARNINGS_AS_ERRORS)
  target_compile_options(amity_options INTERFACE -Werror)
endif()

# Sanitizers hold for everything below this directory: half-instrumented programs report what is not there.
set(AMITY_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")
if(AMITY_SANITIZE)
  add_compile_options(-fsanitize=${AMITY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${AMITY_SANITIZE})
  # ThreadSanitizer knows no fences, and GCC warns of each. Those of the doorbells publish no data: they order a flag
  # and a look at a queue, both atomic.
  if(AMITY_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(-Wno-tsan)
  endif()
endif()
