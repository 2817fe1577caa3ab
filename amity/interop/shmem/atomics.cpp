/// Atomics: those of the machine, on peers' memory. All are sequentially consistent, as programs build locks of them.

#include <atomic>

#include "amity/interop/shmem/include/shmem.h"
#include "amity/interop/shmem/team.hpp"

using namespace amity::shmem;

namespace {

template <class T>
std::atomic_ref<T> word(const char* call, T* at, int pe) {
  seldom_progress();
  return std::atomic_ref<T>(*reach(call, at, pe));
}

template <class T>
T compare_swap(std::atomic_ref<T> at, T expected, T value) {
  at.compare_exchange_strong(expected, value);
  return expected;
}

}  // namespace

#define WORD(name, at) word("shmem_" #name, at, pe)
#define CONTEXT_WORD(name, at) word("shmem_ctx_" #name, at, world_pe("shmem_ctx_" #name, context, pe))
#define ARGUMENTS(...) __VA_ARGS__

// An operation in its three forms; `do_it` is applied to the word.
#define DEFINE_FETCHING(type, name, at, parameters, do_it)                                                           \
  AMITY_SHMEM_DEFINE(type, name, (parameters, int pe)) { return do_it(WORD(name, at)); }                             \
  AMITY_SHMEM_DEFINE(type, ctx_##name, (shmem_ctx_t context, parameters, int pe)) {                                  \
    return do_it(CONTEXT_WORD(name, at));                                                                            \
  }                                                                                                                  \
  AMITY_SHMEM_DEFINE(void, name##_nbi, (type * fetch, parameters, int pe)) { *fetch = do_it(WORD(name##_nbi, at)); } \
  AMITY_SHMEM_DEFINE(void, ctx_##name##_nbi, (shmem_ctx_t context, type * fetch, parameters, int pe)) {              \
    *fetch = do_it(CONTEXT_WORD(name##_nbi, at));                                                                    \
  }
#define DEFINE_SILENT(type, name, parameters, do_it)                                \
  AMITY_SHMEM_DEFINE(void, name, (parameters, int pe)) { do_it(WORD(name, dest)); } \
  AMITY_SHMEM_DEFINE(void, ctx_##name, (shmem_ctx_t context, parameters, int pe)) { do_it(CONTEXT_WORD(name, dest)); }

#define LOAD(at) at.load()
#define STORE(at) at.store(value)
#define EXCHANGE(at) at.exchange(value)
#define COMPARE_SWAP(at) compare_swap(at, expected, value)
#define ADD(at) at.fetch_add(value)
#define INCREMENT(at) at.fetch_add(1)
#define BITS_AND(at) at.fetch_and(value)
#define BITS_OR(at) at.fetch_or(value)
#define BITS_XOR(at) at.fetch_xor(value)

#define DEFINE_SWAPS(type, name)                                                                             \
  DEFINE_FETCHING(type, name##_atomic_fetch, const_cast<type*>(source), const type* source, LOAD)            \
  DEFINE_FETCHING(type, name##_atomic_swap, dest, ARGUMENTS(type* dest, type value), EXCHANGE)               \
  DEFINE_SILENT(type, name##_atomic_set, ARGUMENTS(type* dest, type value), STORE)                           \
  AMITY_SHMEM_DEFINE(type, name##_fetch, (const type* source, int pe)) {                                     \
    return LOAD(WORD(name##_fetch, const_cast<type*>(source)));                                              \
  }                                                                                                          \
  AMITY_SHMEM_DEFINE(void, name##_set, (type * dest, type value, int pe)) { STORE(WORD(name##_set, dest)); } \
  AMITY_SHMEM_DEFINE(type, name##_swap, (type * dest, type value, int pe)) { return EXCHANGE(WORD(name##_swap, dest)); }
AMITY_SHMEM_SWAP_TYPES(DEFINE_SWAPS)

#define DEFINE_ARITHMETIC(type, name)                                                                               \
  DEFINE_FETCHING(type, name##_atomic_compare_swap, dest, ARGUMENTS(type* dest, type expected, type value),         \
                  COMPARE_SWAP)                                                                                     \
  DEFINE_FETCHING(type, name##_atomic_fetch_add, dest, ARGUMENTS(type* dest, type value), ADD)                      \
  DEFINE_FETCHING(type, name##_atomic_fetch_inc, dest, type* dest, INCREMENT)                                       \
  DEFINE_SILENT(type, name##_atomic_add, ARGUMENTS(type* dest, type value), ADD)                                    \
  DEFINE_SILENT(type, name##_atomic_inc, type* dest, INCREMENT)                                                     \
  AMITY_SHMEM_DEFINE(type, name##_cswap, (type * dest, type expected, type value, int pe)) {                        \
    return COMPARE_SWAP(WORD(name##_cswap, dest));                                                                  \
  }                                                                                                                 \
  AMITY_SHMEM_DEFINE(type, name##_fadd, (type * dest, type value, int pe)) { return ADD(WORD(name##_fadd, dest)); } \
  AMITY_SHMEM_DEFINE(type, name##_finc, (type * dest, int pe)) { return INCREMENT(WORD(name##_finc, dest)); }       \
  AMITY_SHMEM_DEFINE(void, name##_add, (type * dest, type value, int pe)) { ADD(WORD(name##_add, dest)); }          \
  AMITY_SHMEM_DEFINE(void, name##_inc, (type * dest, int pe)) { INCREMENT(WORD(name##_inc, dest)); }
AMITY_SHMEM_WIDE_INTEGERS(DEFINE_ARITHMETIC)

#define DEFINE_BITWISE_OF(type, name, operation, do_it)                                                  \
  DEFINE_FETCHING(type, name##_atomic_fetch_##operation, dest, ARGUMENTS(type* dest, type value), do_it) \
  DEFINE_SILENT(type, name##_atomic_##operation, ARGUMENTS(type* dest, type value), do_it)
#define DEFINE_BITWISE(type, name)             \
  DEFINE_BITWISE_OF(type, name, and, BITS_AND) \
  DEFINE_BITWISE_OF(type, name, or, BITS_OR)   \
  DEFINE_BITWISE_OF(type, name, xor, BITS_XOR)
AMITY_SHMEM_BITWISE_TYPES(DEFINE_BITWISE)

AMITY_SHMEM_DEFINE(uint64_t, signal_fetch, (const uint64_t* signal)) {
  running("shmem_signal_fetch");
  seldom_progress();
  return std::atomic_ref(*const_cast<uint64_t*>(signal)).load(std::memory_order_acquire);
}
