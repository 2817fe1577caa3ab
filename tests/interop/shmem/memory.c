/* What is symmetric: the heap, and the program's own variables, wherever the compiler puts them. */

#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../check.h"

int initialised = 17;
static long zeroed[5000];
static char small = 3;
static uintptr_t offsets[16];
static uintptr_t theirs[16];

/* What nobody has written to takes no memory, shared or not. */
static char untouched[(size_t)64 << 20];
static void sparse(void) {
  char line[256];
  long kilobytes = -1;
  FILE* const status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status) != NULL) sscanf(line, "RssShmem: %ld", &kilobytes);
  fclose(status);
  CHECK(kilobytes >= 0 && kilobytes < 48 << 10);
  CHECK(((volatile char*)untouched)[shmem_my_pe()] == 0);
}

/* All PEs have the same offsets from their first object. */
static void check_symmetric(char* const* pointers, int count) {
  const int next = (shmem_my_pe() + 1) % shmem_n_pes();
  for (int i = 0; i < count; ++i) offsets[i] = (uintptr_t)(pointers[i] - pointers[0]);
  shmem_barrier_all();
  shmem_getmem(theirs, offsets, sizeof offsets[0] * (size_t)count, next);
  CHECK(memcmp(theirs, offsets, sizeof offsets[0] * (size_t)count) == 0);
  shmem_barrier_all();
}

static void heap(int me, int pes) {
  CHECK(shmem_malloc(0) == NULL);
  CHECK(shmem_malloc((size_t)1 << 50) == NULL);
  char* pointers[5];
  pointers[0] = shmem_malloc(100);
  pointers[1] = shmem_calloc(1000, 8);
  pointers[2] = shmem_align(4096, 10);
  pointers[3] = shmem_malloc(1 << 20);
  pointers[4] = shmalloc(1);
  CHECK((uintptr_t)pointers[2] % 4096 == 0);
  for (int i = 0; i < 8000; ++i) CHECK(pointers[1][i] == 0);
  check_symmetric(pointers, 5);
  CHECK(shmem_align((size_t)1 << 40, 100) == NULL); /* more than the heap has */
  for (size_t alignment = 8; alignment <= (size_t)4 << 20; alignment *= 2) {
    char* const aligned = shmem_align(alignment, 100);
    CHECK(aligned != NULL && (uintptr_t)aligned % alignment == 0);
    shmem_free(aligned);
  }

  memset(pointers[3], me + 1, 1 << 20);
  memset(pointers[1], 1, 8000);
  shmem_free(pointers[1]);
  pointers[3] = shmem_realloc(pointers[3], 3 << 20);
  CHECK(pointers[3][0] == me + 1 && pointers[3][(1 << 20) - 1] == me + 1);
  pointers[1] = shmem_calloc(7, 1000); /* where others have been */
  for (int i = 0; i < 7000; ++i) CHECK(pointers[1][i] == 0);
  check_symmetric(pointers, 5);

  const int next = (me + 1) % pes;
  pointers[0][0] = (char)me;
  shmem_barrier_all();
  char* const there = shmem_ptr(pointers[0], next);
  /* On other nodes there is no such address. */
  const int is_near = shmem_team_translate_pe(SHMEM_TEAM_WORLD, next, SHMEM_TEAM_SHARED) >= 0;
  CHECK((there != NULL) == is_near && (there == NULL || *there == next));
  shmem_team_t backwards;
  shmem_team_split_strided(SHMEM_TEAM_WORLD, pes - 1, -1, pes, NULL, 0, &backwards);
  CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, pointers[0], next) == there);
  CHECK(shmem_team_ptr(backwards, pointers[0], pes - 1 - next) == there);
  CHECK(shmem_team_ptr(backwards, pointers[0], pes) == NULL && shmem_team_ptr(backwards, &pes, 0) == NULL);
  CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, pointers[0], 0) == NULL);
  shmem_team_destroy(backwards);
  shmem_barrier_all();
  for (int i = 0; i < 5; ++i) shmem_free(pointers[i]);
  shmem_free(NULL);
  /* All is free again: the whole heap is one piece. */
  char* const whole = shmem_malloc((size_t)63 << 20);
  CHECK(whole != NULL);
  shmem_free(whole);
}

static void statics(int me, int pes) {
  static int inside = 5;
  const int next = (me + 1) % pes;
  CHECK(initialised == 17 && small == 3 && inside == 5 && zeroed[4999] == 0);
  shmem_barrier_all();
  shmem_int_p(&initialised, me, next);
  shmem_int_p(&inside, 10 * me, next);
  shmem_char_p(&small, (char)(40 + me), next);
  shmem_long_p(&zeroed[4999], 1000 + me, next);
  shmem_barrier_all();
  const int before = (me + pes - 1) % pes;
  CHECK(initialised == before && inside == 10 * before && small == 40 + before && zeroed[4999] == 1000 + before);
}

int main(void) {
  int on_stack = 0;
  shmem_init();
  const int me = shmem_my_pe();
  const int pes = shmem_n_pes();
  sparse();
  statics(me, pes);
  heap(me, pes);

  CHECK(shmem_pe_accessible(pes - 1) && !shmem_pe_accessible(pes) && !shmem_pe_accessible(-1));
  CHECK(shmem_addr_accessible(&zeroed[10], pes - 1) && !shmem_addr_accessible(&on_stack, 0));
  CHECK(shmem_ptr(&on_stack, me) == NULL && shmem_ptr(&small, me) == &small && shmem_ptr(&small, pes) == NULL);
  int major = 0;
  int minor = 0;
  char name[SHMEM_MAX_NAME_LEN];
  shmem_info_get_version(&major, &minor);
  shmem_info_get_name(name);
  CHECK(major == SHMEM_MAJOR_VERSION && minor == SHMEM_MINOR_VERSION && strcmp(name, SHMEM_VENDOR_STRING) == 0);
  shmem_finalize();
  CHECK(zeroed[4999] >= 1000); /* variables outlive the library */
  return 0;
}
