#ifndef AMITY_INTEROP_SHMEM_GENERICS_H
#define AMITY_INTEROP_SHMEM_GENERICS_H

/* C11's selection by type: shmem_put(...) is shmem_int_put(...) for pointers to int.

   Fixed-width types are other names of those below, so that one name for each type is enough. A qualifier of what a
   pointer points to does not matter. Calls with a context have one argument more. */

#if !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

#define AMITY_SHMEM_CASE(type, name, before, after) , type : before##name##after
#define AMITY_SHMEM_WIDE_CASES(...)                   \
  AMITY_SHMEM_CASE(int, int, __VA_ARGS__)             \
  AMITY_SHMEM_CASE(long, long, __VA_ARGS__)           \
  AMITY_SHMEM_CASE(long long, longlong, __VA_ARGS__)  \
  AMITY_SHMEM_CASE(unsigned int, uint, __VA_ARGS__)   \
  AMITY_SHMEM_CASE(unsigned long, ulong, __VA_ARGS__) \
  AMITY_SHMEM_CASE(unsigned long long, ulonglong, __VA_ARGS__)
#define AMITY_SHMEM_SHORT_CASES(...)          \
  AMITY_SHMEM_CASE(short, short, __VA_ARGS__) \
  AMITY_SHMEM_CASE(unsigned short, ushort, __VA_ARGS__)
#define AMITY_SHMEM_BYTE_CASES(...)                 \
  AMITY_SHMEM_CASE(signed char, schar, __VA_ARGS__) \
  AMITY_SHMEM_CASE(unsigned char, uchar, __VA_ARGS__)
#define AMITY_SHMEM_FLOAT_CASES(...)          \
  AMITY_SHMEM_CASE(float, float, __VA_ARGS__) \
  AMITY_SHMEM_CASE(double, double, __VA_ARGS__)

#define AMITY_SHMEM_ANY(pointer, ...)                                                         \
  _Generic(*(pointer)AMITY_SHMEM_WIDE_CASES(__VA_ARGS__) AMITY_SHMEM_SHORT_CASES(__VA_ARGS__) \
               AMITY_SHMEM_BYTE_CASES(__VA_ARGS__) AMITY_SHMEM_FLOAT_CASES(__VA_ARGS__)       \
                   AMITY_SHMEM_CASE(long double, longdouble, __VA_ARGS__) AMITY_SHMEM_CASE(char, char, __VA_ARGS__))
#define AMITY_SHMEM_SUMMABLE(pointer, ...)                                                                          \
  _Generic(*(pointer)AMITY_SHMEM_WIDE_CASES(__VA_ARGS__) AMITY_SHMEM_SHORT_CASES(__VA_ARGS__)                       \
               AMITY_SHMEM_BYTE_CASES(__VA_ARGS__) AMITY_SHMEM_FLOAT_CASES(__VA_ARGS__)                             \
                   AMITY_SHMEM_CASE(long double, longdouble, __VA_ARGS__) AMITY_SHMEM_CASE(char, char, __VA_ARGS__) \
                       AMITY_SHMEM_CASE(double _Complex, complexd, __VA_ARGS__)                                     \
                           AMITY_SHMEM_CASE(float _Complex, complexf, __VA_ARGS__))
#define AMITY_SHMEM_INTEGER(pointer, ...)                                                     \
  _Generic(*(pointer)AMITY_SHMEM_WIDE_CASES(__VA_ARGS__) AMITY_SHMEM_SHORT_CASES(__VA_ARGS__) \
               AMITY_SHMEM_BYTE_CASES(__VA_ARGS__))
#define AMITY_SHMEM_WAITABLE(pointer, ...) \
  _Generic(*(pointer)AMITY_SHMEM_WIDE_CASES(__VA_ARGS__) AMITY_SHMEM_SHORT_CASES(__VA_ARGS__))
#define AMITY_SHMEM_SWAPPABLE(pointer, ...) \
  _Generic(*(pointer)AMITY_SHMEM_WIDE_CASES(__VA_ARGS__) AMITY_SHMEM_FLOAT_CASES(__VA_ARGS__))
#define AMITY_SHMEM_COUNTABLE(pointer, ...) _Generic(*(pointer)AMITY_SHMEM_WIDE_CASES(__VA_ARGS__))
#define AMITY_SHMEM_BITS(pointer, ...)                                                                               \
  _Generic(*(pointer)AMITY_SHMEM_CASE(int, int32, __VA_ARGS__) AMITY_SHMEM_CASE(long, int64, __VA_ARGS__)            \
               AMITY_SHMEM_CASE(unsigned int, uint, __VA_ARGS__) AMITY_SHMEM_CASE(unsigned long, ulong, __VA_ARGS__) \
                   AMITY_SHMEM_CASE(unsigned long long, ulonglong, __VA_ARGS__))

/* The name behind so many arguments. */
#define AMITY_SHMEM_AFTER_8(a, b, c, d, e, f, g, h, name, ...) name

/* Transfers. */
#define AMITY_SHMEM_PLAIN_put(a, b, c, d) AMITY_SHMEM_ANY(a, shmem_, _put)(a, b, c, d)
#define AMITY_SHMEM_CTX_put(context, a, b, c, d) AMITY_SHMEM_ANY(a, shmem_ctx_, _put)(context, a, b, c, d)
#define shmem_put(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, AMITY_SHMEM_CTX_put, AMITY_SHMEM_PLAIN_put, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_get(a, b, c, d) AMITY_SHMEM_ANY(a, shmem_, _get)(a, b, c, d)
#define AMITY_SHMEM_CTX_get(context, a, b, c, d) AMITY_SHMEM_ANY(a, shmem_ctx_, _get)(context, a, b, c, d)
#define shmem_get(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, AMITY_SHMEM_CTX_get, AMITY_SHMEM_PLAIN_get, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_put_nbi(a, b, c, d) AMITY_SHMEM_ANY(a, shmem_, _put_nbi)(a, b, c, d)
#define AMITY_SHMEM_CTX_put_nbi(context, a, b, c, d) AMITY_SHMEM_ANY(a, shmem_ctx_, _put_nbi)(context, a, b, c, d)
#define shmem_put_nbi(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, AMITY_SHMEM_CTX_put_nbi, AMITY_SHMEM_PLAIN_put_nbi, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_get_nbi(a, b, c, d) AMITY_SHMEM_ANY(a, shmem_, _get_nbi)(a, b, c, d)
#define AMITY_SHMEM_CTX_get_nbi(context, a, b, c, d) AMITY_SHMEM_ANY(a, shmem_ctx_, _get_nbi)(context, a, b, c, d)
#define shmem_get_nbi(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, AMITY_SHMEM_CTX_get_nbi, AMITY_SHMEM_PLAIN_get_nbi, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_iput(a, b, c, d, e, f) AMITY_SHMEM_ANY(a, shmem_, _iput)(a, b, c, d, e, f)
#define AMITY_SHMEM_CTX_iput(context, a, b, c, d, e, f) AMITY_SHMEM_ANY(a, shmem_ctx_, _iput)(context, a, b, c, d, e, f)
#define shmem_iput(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, AMITY_SHMEM_CTX_iput, AMITY_SHMEM_PLAIN_iput, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_iget(a, b, c, d, e, f) AMITY_SHMEM_ANY(a, shmem_, _iget)(a, b, c, d, e, f)
#define AMITY_SHMEM_CTX_iget(context, a, b, c, d, e, f) AMITY_SHMEM_ANY(a, shmem_ctx_, _iget)(context, a, b, c, d, e, f)
#define shmem_iget(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, AMITY_SHMEM_CTX_iget, AMITY_SHMEM_PLAIN_iget, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_p(a, b, c) AMITY_SHMEM_ANY(a, shmem_, _p)(a, b, c)
#define AMITY_SHMEM_CTX_p(context, a, b, c) AMITY_SHMEM_ANY(a, shmem_ctx_, _p)(context, a, b, c)
#define shmem_p(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX_p, AMITY_SHMEM_PLAIN_p, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_g(a, b) AMITY_SHMEM_ANY(a, shmem_, _g)(a, b)
#define AMITY_SHMEM_CTX_g(context, a, b) AMITY_SHMEM_ANY(a, shmem_ctx_, _g)(context, a, b)
#define shmem_g(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, _, AMITY_SHMEM_CTX_g, AMITY_SHMEM_PLAIN_g, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_put_signal(a, b, c, d, e, f, g) AMITY_SHMEM_ANY(a, shmem_, _put_signal)(a, b, c, d, e, f, g)
#define AMITY_SHMEM_CTX_put_signal(context, a, b, c, d, e, f, g) \
  AMITY_SHMEM_ANY(a, shmem_ctx_, _put_signal)(context, a, b, c, d, e, f, g)
#define shmem_put_signal(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, AMITY_SHMEM_CTX_put_signal, AMITY_SHMEM_PLAIN_put_signal, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_put_signal_nbi(a, b, c, d, e, f, g) \
  AMITY_SHMEM_ANY(a, shmem_, _put_signal_nbi)(a, b, c, d, e, f, g)
#define AMITY_SHMEM_CTX_put_signal_nbi(context, a, b, c, d, e, f, g) \
  AMITY_SHMEM_ANY(a, shmem_ctx_, _put_signal_nbi)(context, a, b, c, d, e, f, g)
#define shmem_put_signal_nbi(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, AMITY_SHMEM_CTX_put_signal_nbi, AMITY_SHMEM_PLAIN_put_signal_nbi, _)(__VA_ARGS__)

/* Atomics. */
#define AMITY_SHMEM_PLAIN_atomic_fetch(a, b) AMITY_SHMEM_SWAPPABLE(a, shmem_, _atomic_fetch)(a, b)
#define AMITY_SHMEM_CTX_atomic_fetch(context, a, b) AMITY_SHMEM_SWAPPABLE(a, shmem_ctx_, _atomic_fetch)(context, a, b)
#define shmem_atomic_fetch(...)                                                                                    \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, _, AMITY_SHMEM_CTX_atomic_fetch, AMITY_SHMEM_PLAIN_atomic_fetch, _) \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_set(a, b, c) AMITY_SHMEM_SWAPPABLE(a, shmem_, _atomic_set)(a, b, c)
#define AMITY_SHMEM_CTX_atomic_set(context, a, b, c) AMITY_SHMEM_SWAPPABLE(a, shmem_ctx_, _atomic_set)(context, a, b, c)
#define shmem_atomic_set(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX_atomic_set, AMITY_SHMEM_PLAIN_atomic_set, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_swap(a, b, c) AMITY_SHMEM_SWAPPABLE(a, shmem_, _atomic_swap)(a, b, c)
#define AMITY_SHMEM_CTX_atomic_swap(context, a, b, c) \
  AMITY_SHMEM_SWAPPABLE(a, shmem_ctx_, _atomic_swap)(context, a, b, c)
#define shmem_atomic_swap(...)                                                                                \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX_atomic_swap, AMITY_SHMEM_PLAIN_atomic_swap, _) \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_compare_swap(a, b, c, d) \
  AMITY_SHMEM_COUNTABLE(a, shmem_, _atomic_compare_swap)(a, b, c, d)
#define AMITY_SHMEM_CTX_atomic_compare_swap(context, a, b, c, d) \
  AMITY_SHMEM_COUNTABLE(a, shmem_ctx_, _atomic_compare_swap)(context, a, b, c, d)
#define shmem_atomic_compare_swap(...)                                           \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, AMITY_SHMEM_CTX_atomic_compare_swap, \
                      AMITY_SHMEM_PLAIN_atomic_compare_swap, _)                  \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_fetch_add(a, b, c) AMITY_SHMEM_COUNTABLE(a, shmem_, _atomic_fetch_add)(a, b, c)
#define AMITY_SHMEM_CTX_atomic_fetch_add(context, a, b, c) \
  AMITY_SHMEM_COUNTABLE(a, shmem_ctx_, _atomic_fetch_add)(context, a, b, c)
#define shmem_atomic_fetch_add(...)                                                                                  \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX_atomic_fetch_add, AMITY_SHMEM_PLAIN_atomic_fetch_add, \
                      _)                                                                                             \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_fetch_inc(a, b) AMITY_SHMEM_COUNTABLE(a, shmem_, _atomic_fetch_inc)(a, b)
#define AMITY_SHMEM_CTX_atomic_fetch_inc(context, a, b) \
  AMITY_SHMEM_COUNTABLE(a, shmem_ctx_, _atomic_fetch_inc)(context, a, b)
#define shmem_atomic_fetch_inc(...)                                                 \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, _, AMITY_SHMEM_CTX_atomic_fetch_inc, \
                      AMITY_SHMEM_PLAIN_atomic_fetch_inc, _)                        \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_add(a, b, c) AMITY_SHMEM_COUNTABLE(a, shmem_, _atomic_add)(a, b, c)
#define AMITY_SHMEM_CTX_atomic_add(context, a, b, c) AMITY_SHMEM_COUNTABLE(a, shmem_ctx_, _atomic_add)(context, a, b, c)
#define shmem_atomic_add(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX_atomic_add, AMITY_SHMEM_PLAIN_atomic_add, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_inc(a, b) AMITY_SHMEM_COUNTABLE(a, shmem_, _atomic_inc)(a, b)
#define AMITY_SHMEM_CTX_atomic_inc(context, a, b) AMITY_SHMEM_COUNTABLE(a, shmem_ctx_, _atomic_inc)(context, a, b)
#define shmem_atomic_inc(...)                                                                                  \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, _, AMITY_SHMEM_CTX_atomic_inc, AMITY_SHMEM_PLAIN_atomic_inc, _) \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_fetch_nbi(a, b, c) AMITY_SHMEM_SWAPPABLE(a, shmem_, _atomic_fetch_nbi)(a, b, c)
#define AMITY_SHMEM_CTX_atomic_fetch_nbi(context, a, b, c) \
  AMITY_SHMEM_SWAPPABLE(a, shmem_ctx_, _atomic_fetch_nbi)(context, a, b, c)
#define shmem_atomic_fetch_nbi(...)                                                                                  \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX_atomic_fetch_nbi, AMITY_SHMEM_PLAIN_atomic_fetch_nbi, \
                      _)                                                                                             \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_swap_nbi(a, b, c, d) AMITY_SHMEM_SWAPPABLE(a, shmem_, _atomic_swap_nbi)(a, b, c, d)
#define AMITY_SHMEM_CTX_atomic_swap_nbi(context, a, b, c, d) \
  AMITY_SHMEM_SWAPPABLE(a, shmem_ctx_, _atomic_swap_nbi)(context, a, b, c, d)
#define shmem_atomic_swap_nbi(...)                                                                                 \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, AMITY_SHMEM_CTX_atomic_swap_nbi, AMITY_SHMEM_PLAIN_atomic_swap_nbi, _) \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_compare_swap_nbi(a, b, c, d, e) \
  AMITY_SHMEM_COUNTABLE(a, shmem_, _atomic_compare_swap_nbi)(a, b, c, d, e)
#define AMITY_SHMEM_CTX_atomic_compare_swap_nbi(context, a, b, c, d, e) \
  AMITY_SHMEM_COUNTABLE(a, shmem_ctx_, _atomic_compare_swap_nbi)(context, a, b, c, d, e)
#define shmem_atomic_compare_swap_nbi(...)                                        \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, AMITY_SHMEM_CTX_atomic_compare_swap_nbi, \
                      AMITY_SHMEM_PLAIN_atomic_compare_swap_nbi, _)               \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_fetch_add_nbi(a, b, c, d) \
  AMITY_SHMEM_COUNTABLE(a, shmem_, _atomic_fetch_add_nbi)(a, b, c, d)
#define AMITY_SHMEM_CTX_atomic_fetch_add_nbi(context, a, b, c, d) \
  AMITY_SHMEM_COUNTABLE(a, shmem_ctx_, _atomic_fetch_add_nbi)(context, a, b, c, d)
#define shmem_atomic_fetch_add_nbi(...)                                           \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, AMITY_SHMEM_CTX_atomic_fetch_add_nbi, \
                      AMITY_SHMEM_PLAIN_atomic_fetch_add_nbi, _)                  \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_fetch_inc_nbi(a, b, c) AMITY_SHMEM_COUNTABLE(a, shmem_, _atomic_fetch_inc_nbi)(a, b, c)
#define AMITY_SHMEM_CTX_atomic_fetch_inc_nbi(context, a, b, c) \
  AMITY_SHMEM_COUNTABLE(a, shmem_ctx_, _atomic_fetch_inc_nbi)(context, a, b, c)
#define shmem_atomic_fetch_inc_nbi(...)                                              \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX_atomic_fetch_inc_nbi, \
                      AMITY_SHMEM_PLAIN_atomic_fetch_inc_nbi, _)                     \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_and(a, b, c) AMITY_SHMEM_BITS(a, shmem_, _atomic_and)(a, b, c)
#define AMITY_SHMEM_CTX_atomic_and(context, a, b, c) AMITY_SHMEM_BITS(a, shmem_ctx_, _atomic_and)(context, a, b, c)
#define shmem_atomic_and(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX_atomic_and, AMITY_SHMEM_PLAIN_atomic_and, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_or(a, b, c) AMITY_SHMEM_BITS(a, shmem_, _atomic_or)(a, b, c)
#define AMITY_SHMEM_CTX_atomic_or(context, a, b, c) AMITY_SHMEM_BITS(a, shmem_ctx_, _atomic_or)(context, a, b, c)
#define shmem_atomic_or(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX_atomic_or, AMITY_SHMEM_PLAIN_atomic_or, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_xor(a, b, c) AMITY_SHMEM_BITS(a, shmem_, _atomic_xor)(a, b, c)
#define AMITY_SHMEM_CTX_atomic_xor(context, a, b, c) AMITY_SHMEM_BITS(a, shmem_ctx_, _atomic_xor)(context, a, b, c)
#define shmem_atomic_xor(...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX_atomic_xor, AMITY_SHMEM_PLAIN_atomic_xor, _)(__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_fetch_and(a, b, c) AMITY_SHMEM_BITS(a, shmem_, _atomic_fetch_and)(a, b, c)
#define AMITY_SHMEM_CTX_atomic_fetch_and(context, a, b, c) \
  AMITY_SHMEM_BITS(a, shmem_ctx_, _atomic_fetch_and)(context, a, b, c)
#define shmem_atomic_fetch_and(...)                                                                                  \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX_atomic_fetch_and, AMITY_SHMEM_PLAIN_atomic_fetch_and, \
                      _)                                                                                             \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_fetch_and_nbi(a, b, c, d) \
  AMITY_SHMEM_BITS(a, shmem_, _atomic_fetch_and_nbi)(a, b, c, d)
#define AMITY_SHMEM_CTX_atomic_fetch_and_nbi(context, a, b, c, d) \
  AMITY_SHMEM_BITS(a, shmem_ctx_, _atomic_fetch_and_nbi)(context, a, b, c, d)
#define shmem_atomic_fetch_and_nbi(...)                                           \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, AMITY_SHMEM_CTX_atomic_fetch_and_nbi, \
                      AMITY_SHMEM_PLAIN_atomic_fetch_and_nbi, _)                  \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_fetch_or(a, b, c) AMITY_SHMEM_BITS(a, shmem_, _atomic_fetch_or)(a, b, c)
#define AMITY_SHMEM_CTX_atomic_fetch_or(context, a, b, c) \
  AMITY_SHMEM_BITS(a, shmem_ctx_, _atomic_fetch_or)(context, a, b, c)
#define shmem_atomic_fetch_or(...)                                                                                    \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX_atomic_fetch_or, AMITY_SHMEM_PLAIN_atomic_fetch_or, _) \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_fetch_or_nbi(a, b, c, d) AMITY_SHMEM_BITS(a, shmem_, _atomic_fetch_or_nbi)(a, b, c, d)
#define AMITY_SHMEM_CTX_atomic_fetch_or_nbi(context, a, b, c, d) \
  AMITY_SHMEM_BITS(a, shmem_ctx_, _atomic_fetch_or_nbi)(context, a, b, c, d)
#define shmem_atomic_fetch_or_nbi(...)                                           \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, AMITY_SHMEM_CTX_atomic_fetch_or_nbi, \
                      AMITY_SHMEM_PLAIN_atomic_fetch_or_nbi, _)                  \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_fetch_xor(a, b, c) AMITY_SHMEM_BITS(a, shmem_, _atomic_fetch_xor)(a, b, c)
#define AMITY_SHMEM_CTX_atomic_fetch_xor(context, a, b, c) \
  AMITY_SHMEM_BITS(a, shmem_ctx_, _atomic_fetch_xor)(context, a, b, c)
#define shmem_atomic_fetch_xor(...)                                                                                  \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX_atomic_fetch_xor, AMITY_SHMEM_PLAIN_atomic_fetch_xor, \
                      _)                                                                                             \
  (__VA_ARGS__)
#define AMITY_SHMEM_PLAIN_atomic_fetch_xor_nbi(a, b, c, d) \
  AMITY_SHMEM_BITS(a, shmem_, _atomic_fetch_xor_nbi)(a, b, c, d)
#define AMITY_SHMEM_CTX_atomic_fetch_xor_nbi(context, a, b, c, d) \
  AMITY_SHMEM_BITS(a, shmem_ctx_, _atomic_fetch_xor_nbi)(context, a, b, c, d)
#define shmem_atomic_fetch_xor_nbi(...)                                           \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, AMITY_SHMEM_CTX_atomic_fetch_xor_nbi, \
                      AMITY_SHMEM_PLAIN_atomic_fetch_xor_nbi, _)                  \
  (__VA_ARGS__)
#define shmem_fetch(a, b) AMITY_SHMEM_SWAPPABLE(a, shmem_, _fetch)(a, b)
#define shmem_set(a, b, c) AMITY_SHMEM_SWAPPABLE(a, shmem_, _set)(a, b, c)
#define shmem_swap(a, b, c) AMITY_SHMEM_SWAPPABLE(a, shmem_, _swap)(a, b, c)
#define shmem_cswap(a, b, c, d) AMITY_SHMEM_COUNTABLE(a, shmem_, _cswap)(a, b, c, d)
#define shmem_fadd(a, b, c) AMITY_SHMEM_COUNTABLE(a, shmem_, _fadd)(a, b, c)
#define shmem_finc(a, b) AMITY_SHMEM_COUNTABLE(a, shmem_, _finc)(a, b)
#define shmem_add(a, b, c) AMITY_SHMEM_COUNTABLE(a, shmem_, _add)(a, b, c)
#define shmem_inc(a, b) AMITY_SHMEM_COUNTABLE(a, shmem_, _inc)(a, b)

/* Waiting. */
#define shmem_wait(a, b) AMITY_SHMEM_WAITABLE(a, shmem_, _wait)(a, b)
#define shmem_wait_until(a, b, c) AMITY_SHMEM_WAITABLE(a, shmem_, _wait_until)(a, b, c)
#define shmem_wait_until_all(a, b, c, d, e) AMITY_SHMEM_WAITABLE(a, shmem_, _wait_until_all)(a, b, c, d, e)
#define shmem_wait_until_any(a, b, c, d, e) AMITY_SHMEM_WAITABLE(a, shmem_, _wait_until_any)(a, b, c, d, e)
#define shmem_wait_until_some(a, b, c, d, e, f) AMITY_SHMEM_WAITABLE(a, shmem_, _wait_until_some)(a, b, c, d, e, f)
#define shmem_wait_until_all_vector(a, b, c, d, e) \
  AMITY_SHMEM_WAITABLE(a, shmem_, _wait_until_all_vector)(a, b, c, d, e)
#define shmem_wait_until_any_vector(a, b, c, d, e) \
  AMITY_SHMEM_WAITABLE(a, shmem_, _wait_until_any_vector)(a, b, c, d, e)
#define shmem_wait_until_some_vector(a, b, c, d, e, f) \
  AMITY_SHMEM_WAITABLE(a, shmem_, _wait_until_some_vector)(a, b, c, d, e, f)
#define shmem_test(a, b, c) AMITY_SHMEM_WAITABLE(a, shmem_, _test)(a, b, c)
#define shmem_test_all(a, b, c, d, e) AMITY_SHMEM_WAITABLE(a, shmem_, _test_all)(a, b, c, d, e)
#define shmem_test_any(a, b, c, d, e) AMITY_SHMEM_WAITABLE(a, shmem_, _test_any)(a, b, c, d, e)
#define shmem_test_some(a, b, c, d, e, f) AMITY_SHMEM_WAITABLE(a, shmem_, _test_some)(a, b, c, d, e, f)
#define shmem_test_all_vector(a, b, c, d, e) AMITY_SHMEM_WAITABLE(a, shmem_, _test_all_vector)(a, b, c, d, e)
#define shmem_test_any_vector(a, b, c, d, e) AMITY_SHMEM_WAITABLE(a, shmem_, _test_any_vector)(a, b, c, d, e)
#define shmem_test_some_vector(a, b, c, d, e, f) AMITY_SHMEM_WAITABLE(a, shmem_, _test_some_vector)(a, b, c, d, e, f)

/* Collectives of teams. */
#define shmem_broadcast(a, b, c, d, e) AMITY_SHMEM_ANY(b, shmem_, _broadcast)(a, b, c, d, e)
#define shmem_collect(a, b, c, d) AMITY_SHMEM_ANY(b, shmem_, _collect)(a, b, c, d)
#define shmem_fcollect(a, b, c, d) AMITY_SHMEM_ANY(b, shmem_, _fcollect)(a, b, c, d)
#define shmem_alltoall(a, b, c, d) AMITY_SHMEM_ANY(b, shmem_, _alltoall)(a, b, c, d)
#define shmem_alltoalls(a, b, c, d, e, f) AMITY_SHMEM_ANY(b, shmem_, _alltoalls)(a, b, c, d, e, f)
#define shmem_and_reduce(a, b, c, d) AMITY_SHMEM_INTEGER(b, shmem_, _and_reduce)(a, b, c, d)
#define shmem_or_reduce(a, b, c, d) AMITY_SHMEM_INTEGER(b, shmem_, _or_reduce)(a, b, c, d)
#define shmem_xor_reduce(a, b, c, d) AMITY_SHMEM_INTEGER(b, shmem_, _xor_reduce)(a, b, c, d)
#define shmem_min_reduce(a, b, c, d) AMITY_SHMEM_ANY(b, shmem_, _min_reduce)(a, b, c, d)
#define shmem_max_reduce(a, b, c, d) AMITY_SHMEM_ANY(b, shmem_, _max_reduce)(a, b, c, d)
#define shmem_sum_reduce(a, b, c, d) AMITY_SHMEM_SUMMABLE(b, shmem_, _sum_reduce)(a, b, c, d)
#define shmem_prod_reduce(a, b, c, d) AMITY_SHMEM_SUMMABLE(b, shmem_, _prod_reduce)(a, b, c, d)
#define shmem_sync(...) AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, shmem_sync, _, _, shmem_team_sync, _)(__VA_ARGS__)

#endif

#endif
