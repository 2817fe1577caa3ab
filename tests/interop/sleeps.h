#ifndef AMITY_TESTS_INTEROP_SLEEPS_H
#define AMITY_TESTS_INTEROP_SLEEPS_H

/* For tests that continue when another thread waits. */

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "check.h"

/* Whether a thread of this process sleeps in the kernel, or has ended. */
static inline int sleeps(pid_t thread) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)thread);
  FILE* const file = fopen(path, "r");
  if (file == NULL) return 1;
  const size_t bytes = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[bytes] = '\0';
  const char* const name_end = strrchr(text, ')'); /* the state follows it */
  return bytes == 0 || (name_end != NULL && (name_end[2] == 'S' || name_end[2] == 'X' || name_end[2] == 'Z'));
}

/* Returns when the thread that stores its number here has been seen asleep, or has ended. */
static inline void await_sleep(const volatile pid_t* thread) {
  while (*thread == 0 || !sleeps(*thread)) sched_yield();
}

#endif
