#ifndef AMITY_TESTS_C_CHECK_H
#define AMITY_TESTS_C_CHECK_H

#include <amity/amity.h>
#include <string.h>

#include "../check.h"

/* The call returns AMITY_OK. */
#define OK(world, call)                                                                            \
  do {                                                                                             \
    if ((call) != AMITY_OK) {                                                                      \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, amity_last_error_text(world)); \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* The call is a mistake, and its text has both parts. */
#define MISUSE(world, call, part, other_part)                                           \
  do {                                                                                  \
    CHECK((call) == AMITY_MISUSE);                                                      \
    if (strstr(amity_last_error_text(world), part) == NULL ||                           \
        strstr(amity_last_error_text(world), other_part) == NULL) {                     \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, amity_last_error_text(world)); \
      exit(1);                                                                          \
    }                                                                                   \
  } while (0)

#endif
