#ifndef AMITY_INTEROP_SHMEM_TYPE_LISTS_H
#define AMITY_INTEROP_SHMEM_TYPE_LISTS_H

/* The types for which OpenSHMEM has functions, one list for each family of functions: X(type, name).

   Declarations and definitions are both made from these lists, so that they cannot differ. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C++" { /* Old programs include this header inside extern "C". */
#include <complex>
}
#define AMITY_SHMEM_COMPLEX(type) std::complex<type>
#else
#define AMITY_SHMEM_COMPLEX(type) type _Complex
#endif

/* Declares a function; and one that exists without a context and with one. pshmem.h defines these macros again, and
   applies the families of all headers once more. */
#define AMITY_SHMEM_DECLARE(Result, name, ...) Result shmem_##name(__VA_ARGS__);
#define AMITY_SHMEM_DECLARE_BOTH(Result, name, ...) \
  Result shmem_##name(__VA_ARGS__);                 \
  Result shmem_ctx_##name(shmem_ctx_t context, __VA_ARGS__);

/* Integers of C's own, and those of which most are the same under other names. */
#define AMITY_SHMEM_PLAIN_INTEGERS(X) \
  X(int, int)                         \
  X(long, long)                       \
  X(long long, longlong)              \
  X(unsigned int, uint)               \
  X(unsigned long, ulong)             \
  X(unsigned long long, ulonglong)

#define AMITY_SHMEM_WIDE_INTEGERS(X) \
  AMITY_SHMEM_PLAIN_INTEGERS(X)      \
  X(int32_t, int32)                  \
  X(int64_t, int64)                  \
  X(uint32_t, uint32)                \
  X(uint64_t, uint64)                \
  X(size_t, size)                    \
  X(ptrdiff_t, ptrdiff)

#define AMITY_SHMEM_NARROW_INTEGERS(X) \
  X(signed char, schar)                \
  X(short, short)                      \
  X(unsigned char, uchar)              \
  X(unsigned short, ushort)            \
  X(int8_t, int8)                      \
  X(int16_t, int16)                    \
  X(uint8_t, uint8)                    \
  X(uint16_t, uint16)

#define AMITY_SHMEM_FLOATS(X) X(float, float) X(double, double)

/* put, get and their kin */
#define AMITY_SHMEM_RMA_TYPES(X) \
  AMITY_SHMEM_WIDE_INTEGERS(X)   \
  AMITY_SHMEM_NARROW_INTEGERS(X) \
  AMITY_SHMEM_FLOATS(X)          \
  X(long double, longdouble)     \
  X(char, char)

/* the same without names for a size: X(bits, bytes) */
#define AMITY_SHMEM_SIZES(X) X(8, 1) X(16, 2) X(32, 4) X(64, 8) X(128, 16)

/* fetch, set and swap; all other atomics take integers, bitwise ones those below */
#define AMITY_SHMEM_SWAP_TYPES(X) AMITY_SHMEM_WIDE_INTEGERS(X) AMITY_SHMEM_FLOATS(X)
#define AMITY_SHMEM_BITWISE_TYPES(X) \
  X(unsigned int, uint)              \
  X(unsigned long, ulong)            \
  X(unsigned long long, ulonglong)   \
  X(int32_t, int32)                  \
  X(int64_t, int64)                  \
  X(uint32_t, uint32)                \
  X(uint64_t, uint64)

/* wait_until and test */
#define AMITY_SHMEM_WAIT_TYPES(X) AMITY_SHMEM_WIDE_INTEGERS(X) X(short, short) X(unsigned short, ushort)

/* operations of each kind: X(type, name, operation). `and`, `or` and `xor` are operators in C++, but not for the
   preprocessor where they are pasted. */
#define AMITY_SHMEM_EACH_BITWISE(X, type, name) X(type, name, and) X(type, name, or) X(type, name, xor)
#define AMITY_SHMEM_EACH_ORDER(X, type, name) X(type, name, min) X(type, name, max)
#define AMITY_SHMEM_EACH_SUM(X, type, name) X(type, name, sum) X(type, name, prod)

/* team reductions: bitwise, minima and maxima, sums and products */
#define AMITY_SHMEM_REDUCE_BITWISE_TYPES(X) \
  AMITY_SHMEM_WIDE_INTEGERS(X)              \
  AMITY_SHMEM_NARROW_INTEGERS(X)
#define AMITY_SHMEM_REDUCE_ORDER_TYPES(X) AMITY_SHMEM_RMA_TYPES(X)
#define AMITY_SHMEM_REDUCE_SUM_TYPES(X)    \
  AMITY_SHMEM_RMA_TYPES(X)                 \
  X(AMITY_SHMEM_COMPLEX(double), complexd) \
  X(AMITY_SHMEM_COMPLEX(float), complexf)

/* reductions over active sets */
#define AMITY_SHMEM_TO_ALL_BITWISE_TYPES(X) X(short, short) X(int, int) X(long, long) X(long long, longlong)
#define AMITY_SHMEM_TO_ALL_ORDER_TYPES(X) \
  AMITY_SHMEM_TO_ALL_BITWISE_TYPES(X)     \
  AMITY_SHMEM_FLOATS(X)                   \
  X(long double, longdouble)
#define AMITY_SHMEM_TO_ALL_SUM_TYPES(X)    \
  AMITY_SHMEM_TO_ALL_ORDER_TYPES(X)        \
  X(AMITY_SHMEM_COMPLEX(double), complexd) \
  X(AMITY_SHMEM_COMPLEX(float), complexf)

#endif
