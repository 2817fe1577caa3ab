#ifndef AMITY_TESTS_INTEROP_CHECK_H
#define AMITY_TESTS_INTEROP_CHECK_H

/* For the programs of these tests, which must end with 0 on any number of ranks. */

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      _Exit(1); /* other libraries may wait for their peers at exit */              \
    }                                                                               \
  } while (0)

/* How often a long loop runs: so often in `scripts/test long`, which sets LONG_TESTS, and else a quarter of it. */
static inline int loops(int all) { return getenv("LONG_TESTS") != NULL ? all : all / 4; }

#endif
