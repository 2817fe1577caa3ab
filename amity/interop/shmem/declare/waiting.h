#ifndef AMITY_INTEROP_SHMEM_WAITING_H
#define AMITY_INTEROP_SHMEM_WAITING_H

/* Waiting for what other PEs write, and locks. Pointers are to volatile, so that programs may call theirs so. */

#include "amity/interop/shmem/declare/type_lists.h"
#include "amity/interop/shmem/declare/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Variables that are compared with one value, and with a value each. */
#define AMITY_SHMEM_DECLARE_ON_MANY(Result, name, type, ...)                                           \
  AMITY_SHMEM_DECLARE(Result, name, volatile type* variables, __VA_ARGS__, int comparison, type value) \
  AMITY_SHMEM_DECLARE(Result, name##_vector, volatile type* variables, __VA_ARGS__, int comparison, type* values)
#define AMITY_SHMEM_DECLARE_WAITS(type, name)                                                                         \
  AMITY_SHMEM_DECLARE(void, name##_wait, volatile type* variable, type value)                                         \
  AMITY_SHMEM_DECLARE(void, name##_wait_until, volatile type* variable, int comparison, type value)                   \
  AMITY_SHMEM_DECLARE(int, name##_test, volatile type* variable, int comparison, type value)                          \
  AMITY_SHMEM_DECLARE_ON_MANY(void, name##_wait_until_all, type, size_t count, const int* status)                     \
  AMITY_SHMEM_DECLARE_ON_MANY(size_t, name##_wait_until_any, type, size_t count, const int* status)                   \
  AMITY_SHMEM_DECLARE_ON_MANY(size_t, name##_wait_until_some, type, size_t count, size_t* indices, const int* status) \
  AMITY_SHMEM_DECLARE_ON_MANY(int, name##_test_all, type, size_t count, const int* status)                            \
  AMITY_SHMEM_DECLARE_ON_MANY(size_t, name##_test_any, type, size_t count, const int* status)                         \
  AMITY_SHMEM_DECLARE_ON_MANY(size_t, name##_test_some, type, size_t count, size_t* indices, const int* status)
AMITY_SHMEM_WAIT_TYPES(AMITY_SHMEM_DECLARE_WAITS)

uint64_t shmem_signal_wait_until(uint64_t* signal, int comparison, uint64_t value);

/* On longs, as long ago. In C11 a macro has this name, too. */
void(shmem_wait)(volatile long* variable, long value);

void shmem_set_lock(volatile long* lock);
void shmem_clear_lock(volatile long* lock);
int shmem_test_lock(volatile long* lock);

#ifdef __cplusplus
}
#endif

#endif
