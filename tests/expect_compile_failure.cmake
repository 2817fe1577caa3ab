# Compiles SOURCE with COMPILER, after the header PRECOMPILED, and fails unless the compiler fails and says SENTENCE,
# first of all.
execute_process(
  COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I${INCLUDES} -include ${PRECOMPILED} ${SOURCE}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(FIND "${output}" "${SENTENCE}" position)
if(status EQUAL 0)
  message(NOTICE "${SOURCE} compiled, though it must not; the compiler should have said: ${SENTENCE}")
  message(FATAL_ERROR "compiled")
elseif(position EQUAL -1)
  message(NOTICE "${SOURCE} failed to compile, but the compiler did not say: ${SENTENCE}\n${output}")
  message(FATAL_ERROR "failed for another reason")
endif()
string(REGEX MATCH "error:[^\n]*" first "${output}")
string(FIND "${first}" "${SENTENCE}" position)
if(position EQUAL -1)
  message(NOTICE "${SOURCE}: the sentence is not the first thing that its author gets to read, but this is: ${first}")
  message(FATAL_ERROR "said too late")
endif()
