#ifndef AMITY_APPS_SEQUENCE_SEARCH_PROBLEM_H
#define AMITY_APPS_SEQUENCE_SEARCH_PROBLEM_H

/* What is wrong with the input of the program, and memory that cannot be missing. */

#include <stdbool.h>
#include <stddef.h>

/* The first problem that was found: the value that is wrong, and what to do. */
struct problem {
  bool is_set;
  char text[1000];
};

/* Fills `problem`, unless an earlier problem is there. Returns false, the result of functions that fail. */
bool fail(struct problem* problem, const char* format, ...) __attribute__((format(printf, 2, 3)));

/* Memory for `count` elements, filled with zeros. Ends the job if there is not enough. */
void* allocate(size_t count, size_t element_bytes);

/* Changes the size of memory. New elements are not initialized. */
void* reallocate(void* memory, size_t count, size_t element_bytes);

#endif
