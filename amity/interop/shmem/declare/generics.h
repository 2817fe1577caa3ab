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

#define AMITY_SHMEM_ANY_CASES(...)     \
  AMITY_SHMEM_WIDE_CASES(__VA_ARGS__)  \
  AMITY_SHMEM_SHORT_CASES(__VA_ARGS__) \
  AMITY_SHMEM_BYTE_CASES(__VA_ARGS__)  \
  AMITY_SHMEM_FLOAT_CASES(__VA_ARGS__) \
  AMITY_SHMEM_CASE(long double, longdouble, __VA_ARGS__) AMITY_SHMEM_CASE(char, char, __VA_ARGS__)

#define AMITY_SHMEM_ANY(pointer, ...) _Generic(*(pointer)AMITY_SHMEM_ANY_CASES(__VA_ARGS__))
#define AMITY_SHMEM_SUMMABLE(pointer, ...)                                                                       \
  _Generic(*(pointer)AMITY_SHMEM_ANY_CASES(__VA_ARGS__) AMITY_SHMEM_CASE(double _Complex, complexd, __VA_ARGS__) \
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

/* OF_n: a function of n arguments, or of a context and these. `of` chooses it by the type of the first of them. */
#define AMITY_SHMEM_PLAIN(of, name, first, ...) of(first, shmem_, name)(first, __VA_ARGS__)
#define AMITY_SHMEM_CTX(of, name, context, first, ...) of(first, shmem_ctx_, name)(context, first, __VA_ARGS__)
#define AMITY_SHMEM_OF_2(of, name, ...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, _, AMITY_SHMEM_CTX, AMITY_SHMEM_PLAIN, _)(of, name, __VA_ARGS__)
#define AMITY_SHMEM_OF_3(of, name, ...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, AMITY_SHMEM_CTX, AMITY_SHMEM_PLAIN, _)(of, name, __VA_ARGS__)
#define AMITY_SHMEM_OF_4(of, name, ...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, AMITY_SHMEM_CTX, AMITY_SHMEM_PLAIN, _)(of, name, __VA_ARGS__)
#define AMITY_SHMEM_OF_5(of, name, ...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, AMITY_SHMEM_CTX, AMITY_SHMEM_PLAIN, _)(of, name, __VA_ARGS__)
#define AMITY_SHMEM_OF_6(of, name, ...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, AMITY_SHMEM_CTX, AMITY_SHMEM_PLAIN, _)(of, name, __VA_ARGS__)
#define AMITY_SHMEM_OF_7(of, name, ...) \
  AMITY_SHMEM_AFTER_8(__VA_ARGS__, AMITY_SHMEM_CTX, AMITY_SHMEM_PLAIN, _)(of, name, __VA_ARGS__)

/* Transfers. */
#define shmem_put(...) AMITY_SHMEM_OF_4(AMITY_SHMEM_ANY, _put, __VA_ARGS__)
#define shmem_get(...) AMITY_SHMEM_OF_4(AMITY_SHMEM_ANY, _get, __VA_ARGS__)
#define shmem_put_nbi(...) AMITY_SHMEM_OF_4(AMITY_SHMEM_ANY, _put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...) AMITY_SHMEM_OF_4(AMITY_SHMEM_ANY, _get_nbi, __VA_ARGS__)
#define shmem_iput(...) AMITY_SHMEM_OF_6(AMITY_SHMEM_ANY, _iput, __VA_ARGS__)
#define shmem_iget(...) AMITY_SHMEM_OF_6(AMITY_SHMEM_ANY, _iget, __VA_ARGS__)
#define shmem_p(...) AMITY_SHMEM_OF_3(AMITY_SHMEM_ANY, _p, __VA_ARGS__)
#define shmem_g(...) AMITY_SHMEM_OF_2(AMITY_SHMEM_ANY, _g, __VA_ARGS__)
#define shmem_put_signal(...) AMITY_SHMEM_OF_7(AMITY_SHMEM_ANY, _put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...) AMITY_SHMEM_OF_7(AMITY_SHMEM_ANY, _put_signal_nbi, __VA_ARGS__)

/* Atomics. */
#define shmem_atomic_fetch(...) AMITY_SHMEM_OF_2(AMITY_SHMEM_SWAPPABLE, _atomic_fetch, __VA_ARGS__)
#define shmem_atomic_set(...) AMITY_SHMEM_OF_3(AMITY_SHMEM_SWAPPABLE, _atomic_set, __VA_ARGS__)
#define shmem_atomic_swap(...) AMITY_SHMEM_OF_3(AMITY_SHMEM_SWAPPABLE, _atomic_swap, __VA_ARGS__)
#define shmem_atomic_compare_swap(...) AMITY_SHMEM_OF_4(AMITY_SHMEM_COUNTABLE, _atomic_compare_swap, __VA_ARGS__)
#define shmem_atomic_fetch_add(...) AMITY_SHMEM_OF_3(AMITY_SHMEM_COUNTABLE, _atomic_fetch_add, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...) AMITY_SHMEM_OF_2(AMITY_SHMEM_COUNTABLE, _atomic_fetch_inc, __VA_ARGS__)
#define shmem_atomic_add(...) AMITY_SHMEM_OF_3(AMITY_SHMEM_COUNTABLE, _atomic_add, __VA_ARGS__)
#define shmem_atomic_inc(...) AMITY_SHMEM_OF_2(AMITY_SHMEM_COUNTABLE, _atomic_inc, __VA_ARGS__)
#define shmem_atomic_fetch_nbi(...) AMITY_SHMEM_OF_3(AMITY_SHMEM_SWAPPABLE, _atomic_fetch_nbi, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...) AMITY_SHMEM_OF_4(AMITY_SHMEM_SWAPPABLE, _atomic_swap_nbi, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) \
  AMITY_SHMEM_OF_5(AMITY_SHMEM_COUNTABLE, _atomic_compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...) AMITY_SHMEM_OF_4(AMITY_SHMEM_COUNTABLE, _atomic_fetch_add_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...) AMITY_SHMEM_OF_3(AMITY_SHMEM_COUNTABLE, _atomic_fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_and(...) AMITY_SHMEM_OF_3(AMITY_SHMEM_BITS, _atomic_and, __VA_ARGS__)
#define shmem_atomic_or(...) AMITY_SHMEM_OF_3(AMITY_SHMEM_BITS, _atomic_or, __VA_ARGS__)
#define shmem_atomic_xor(...) AMITY_SHMEM_OF_3(AMITY_SHMEM_BITS, _atomic_xor, __VA_ARGS__)
#define shmem_atomic_fetch_and(...) AMITY_SHMEM_OF_3(AMITY_SHMEM_BITS, _atomic_fetch_and, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...) AMITY_SHMEM_OF_4(AMITY_SHMEM_BITS, _atomic_fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_or(...) AMITY_SHMEM_OF_3(AMITY_SHMEM_BITS, _atomic_fetch_or, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...) AMITY_SHMEM_OF_4(AMITY_SHMEM_BITS, _atomic_fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...) AMITY_SHMEM_OF_3(AMITY_SHMEM_BITS, _atomic_fetch_xor, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...) AMITY_SHMEM_OF_4(AMITY_SHMEM_BITS, _atomic_fetch_xor_nbi, __VA_ARGS__)
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
