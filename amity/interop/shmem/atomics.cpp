/// Atomics under their public names.

#include <atomic>

#include "amity/interop/shmem/include/shmem.h"
#include "amity/interop/shmem/remote_word.hpp"
#include "amity/interop/shmem/team.hpp"

using namespace amity::shmem;

namespace {

template <class Operation, class T>
[[gnu::always_inline]] inline T fetch(const char* call, T* at, int pe, T value = {}, T expected = {}) {
  seldom_progress();
  return fetch_word<Operation>(call, at, pe, value, expected);
}

template <class Operation, class T>
[[gnu::always_inline]] inline void change(const char* call, T* at, int pe, T value) {
  seldom_progress();
  change_word<Operation>(call, at, pe, value);
}

}  // namespace

#define ARGUMENTS(...) __VA_ARGS__

// An operation in its three forms, and what it is applied to.
#define DEFINE_FETCHING(type, name, operation, at, parameters, ...)                                                   \
  AMITY_SHMEM_DEFINE_BOTH(type, name, (parameters, int pe), return fetch<operation, type>(call, at, pe, __VA_ARGS__)) \
  AMITY_SHMEM_DEFINE_BOTH(void, name##_nbi, (type * fetched, parameters, int pe),                                     \
                          *fetched = fetch<operation, type>(call, at, pe, __VA_ARGS__))
#define DEFINE_SILENT(type, name, operation, parameters, value) \
  AMITY_SHMEM_DEFINE_BOTH(void, name, (parameters, int pe), change<operation, type>(call, dest, pe, value))

#define DEFINE_SWAPS(type, name)                                                                          \
  DEFINE_FETCHING(type, name##_atomic_fetch, load_word, const_cast<type*>(source), const type* source, 0) \
  DEFINE_FETCHING(type, name##_atomic_swap, swap_word, dest, ARGUMENTS(type* dest, type value), value)    \
  DEFINE_SILENT(type, name##_atomic_set, store_word, ARGUMENTS(type* dest, type value), value)            \
  AMITY_SHMEM_DEFINE(type, name##_fetch, (const type* source, int pe)) {                                  \
    return fetch<load_word>("shmem_" #name "_fetch", const_cast<type*>(source), pe);                      \
  }                                                                                                       \
  AMITY_SHMEM_DEFINE(void, name##_set, (type * dest, type value, int pe)) {                               \
    change<store_word>("shmem_" #name "_set", dest, pe, value);                                           \
  }                                                                                                       \
  AMITY_SHMEM_DEFINE(type, name##_swap, (type * dest, type value, int pe)) {                              \
    return fetch<swap_word>("shmem_" #name "_swap", dest, pe, value);                                     \
  }
AMITY_SHMEM_SWAP_TYPES(DEFINE_SWAPS)

#define DEFINE_ARITHMETIC(type, name)                                                                         \
  DEFINE_FETCHING(type, name##_atomic_compare_swap, compare_swap_word, dest,                                  \
                  ARGUMENTS(type* dest, type expected, type value), value, expected)                          \
  DEFINE_FETCHING(type, name##_atomic_fetch_add, add_to_word, dest, ARGUMENTS(type* dest, type value), value) \
  DEFINE_FETCHING(type, name##_atomic_fetch_inc, add_to_word, dest, type* dest, 1)                            \
  DEFINE_SILENT(type, name##_atomic_add, add_to_word, ARGUMENTS(type* dest, type value), value)               \
  DEFINE_SILENT(type, name##_atomic_inc, add_to_word, type* dest, 1)                                          \
  AMITY_SHMEM_DEFINE(type, name##_cswap, (type * dest, type expected, type value, int pe)) {                  \
    return fetch<compare_swap_word>("shmem_" #name "_cswap", dest, pe, value, expected);                      \
  }                                                                                                           \
  AMITY_SHMEM_DEFINE(type, name##_fadd, (type * dest, type value, int pe)) {                                  \
    return fetch<add_to_word>("shmem_" #name "_fadd", dest, pe, value);                                       \
  }                                                                                                           \
  AMITY_SHMEM_DEFINE(type, name##_finc, (type * dest, int pe)) {                                              \
    return fetch<add_to_word, type>("shmem_" #name "_finc", dest, pe, 1);                                     \
  }                                                                                                           \
  AMITY_SHMEM_DEFINE(void, name##_add, (type * dest, type value, int pe)) {                                   \
    change<add_to_word>("shmem_" #name "_add", dest, pe, value);                                              \
  }                                                                                                           \
  AMITY_SHMEM_DEFINE(void, name##_inc, (type * dest, int pe)) {                                               \
    change<add_to_word, type>("shmem_" #name "_inc", dest, pe, 1);                                            \
  }
AMITY_SHMEM_WIDE_INTEGERS(DEFINE_ARITHMETIC)

#define DEFINE_BITWISE_OF(type, name, operation, word)                                                         \
  DEFINE_FETCHING(type, name##_atomic_fetch_##operation, word, dest, ARGUMENTS(type* dest, type value), value) \
  DEFINE_SILENT(type, name##_atomic_##operation, word, ARGUMENTS(type* dest, type value), value)
#define DEFINE_BITWISE(type, name)             \
  DEFINE_BITWISE_OF(type, name, and, and_word) \
  DEFINE_BITWISE_OF(type, name, or, or_word)   \
  DEFINE_BITWISE_OF(type, name, xor, xor_word)
AMITY_SHMEM_BITWISE_TYPES(DEFINE_BITWISE)

AMITY_SHMEM_DEFINE(uint64_t, signal_fetch, (const uint64_t* signal)) {
  running("shmem_signal_fetch");
  seldom_progress();
  return std::atomic_ref(*const_cast<uint64_t*>(signal)).load(std::memory_order_acquire);
}
