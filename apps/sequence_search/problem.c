#include "apps/sequence_search/problem.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

bool fail(struct problem* problem, const char* format, ...) {
  if (problem->is_set) return false;
  va_list values;
  va_start(values, format);
  vsnprintf(problem->text, sizeof problem->text, format, values);
  va_end(values);
  problem->is_set = true;
  return false;
}

static void* memory_or_end(void* memory, size_t count, size_t element_bytes) {
  if (memory == NULL) {
    fprintf(stderr, "sequence_search: cannot allocate %zu elements of %zu bytes; use fewer reads, or more nodes\n",
            count, element_bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

void* allocate(size_t count, size_t element_bytes) {
  return memory_or_end(calloc(count > 0 ? count : 1, element_bytes), count, element_bytes);
}

void* reallocate(void* memory, size_t count, size_t element_bytes) {
  if (count == 0) count = 1;
  const bool fits = count <= SIZE_MAX / element_bytes;
  return memory_or_end(fits ? realloc(memory, count * element_bytes) : NULL, count, element_bytes);
}
