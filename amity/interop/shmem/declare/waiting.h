#ifndef AMITY_INTEROP_SHMEM_WAITING_H
#define AMITY_INTEROP_SHMEM_WAITING_H

/* Waiting for what other PEs write, and locks. Pointers are to volatile, so that programs may call theirs so. */

#include "amity/interop/shmem/declare/type_lists.h"
#include "amity/interop/shmem/declare/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AMITY_SHMEM_DECLARE_WAITS(type, name)                                                                          \
  void shmem_##name##_wait(volatile type* variable, type value);                                                       \
  void shmem_##name##_wait_until(volatile type* variable, int comparison, type value);                                 \
  void shmem_##name##_wait_until_all(volatile type* variables, size_t count, const int* status, int comparison,        \
                                     type value);                                                                      \
  size_t shmem_##name##_wait_until_any(volatile type* variables, size_t count, const int* status, int comparison,      \
                                       type value);                                                                    \
  size_t shmem_##name##_wait_until_some(volatile type* variables, size_t count, size_t* indices, const int* status,    \
                                        int comparison, type value);                                                   \
  void shmem_##name##_wait_until_all_vector(volatile type* variables, size_t count, const int* status, int comparison, \
                                            type* values);                                                             \
  size_t shmem_##name##_wait_until_any_vector(volatile type* variables, size_t count, const int* status,               \
                                              int comparison, type* values);                                           \
  size_t shmem_##name##_wait_until_some_vector(volatile type* variables, size_t count, size_t* indices,                \
                                               const int* status, int comparison, type* values);                       \
  int shmem_##name##_test(volatile type* variable, int comparison, type value);                                        \
  int shmem_##name##_test_all(volatile type* variables, size_t count, const int* status, int comparison, type value);  \
  size_t shmem_##name##_test_any(volatile type* variables, size_t count, const int* status, int comparison,            \
                                 type value);                                                                          \
  size_t shmem_##name##_test_some(volatile type* variables, size_t count, size_t* indices, const int* status,          \
                                  int comparison, type value);                                                         \
  int shmem_##name##_test_all_vector(volatile type* variables, size_t count, const int* status, int comparison,        \
                                     type* values);                                                                    \
  size_t shmem_##name##_test_any_vector(volatile type* variables, size_t count, const int* status, int comparison,     \
                                        type* values);                                                                 \
  size_t shmem_##name##_test_some_vector(volatile type* variables, size_t count, size_t* indices, const int* status,   \
                                         int comparison, type* values);
AMITY_SHMEM_WAIT_TYPES(AMITY_SHMEM_DECLARE_WAITS)
#undef AMITY_SHMEM_DECLARE_WAITS

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
