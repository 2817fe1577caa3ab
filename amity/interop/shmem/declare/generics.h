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

/* The preprocessor counts the commas of a compound literal as separators of arguments. A call with exactly n arguments
   has no context; otherwise the type of the first argument decides. If the second argument begins with parentheses, its
   type is that of their contents: they may be all of a compound literal that the preprocessor sees before a comma. */
#define AMITY_SHMEM_FIRST(...) AMITY_SHMEM_FIRST_OF(__VA_ARGS__, )
#define AMITY_SHMEM_FIRST_OF(first, ...) first
#define AMITY_SHMEM_SECOND(first, ...) AMITY_SHMEM_FIRST(__VA_ARGS__)

/* A pointer of the type of an argument: the argument itself, or a null one if it begins with parentheses. */
#define AMITY_SHMEM_POINTER(argument) AMITY_SHMEM_POINTER_BY(AMITY_SHMEM_PARENTHESES argument)(argument)
#define AMITY_SHMEM_POINTER_BY(...) AMITY_SHMEM_SECOND(__VA_ARGS__, AMITY_SHMEM_WHOLE, )
#define AMITY_SHMEM_PARENTHESES(...) ~, AMITY_SHMEM_OF_GROUP,
#define AMITY_SHMEM_WHOLE(argument) (argument)
#define AMITY_SHMEM_OF_GROUP(argument) *(__typeof__ AMITY_SHMEM_FIRST(AMITY_SHMEM_GROUP argument)*)0
#define AMITY_SHMEM_GROUP(...) (__VA_ARGS__),

/* OF_n: a function of n arguments, or of a context and these. `of` chooses it by the type of the first of them. */
#define AMITY_SHMEM_OF(after, of, name, ...) \
  AMITY_SHMEM_FORM(after(__VA_ARGS__, AMITY_SHMEM_NO_MORE, ))(of, name, __VA_ARGS__)
#define AMITY_SHMEM_FORM(...) AMITY_SHMEM_SECOND(__VA_ARGS__, AMITY_SHMEM_EITHER, )
#define AMITY_SHMEM_NO_MORE ~, AMITY_SHMEM_PLAIN
#define AMITY_SHMEM_PLAIN(of, name, first, ...) of(first, shmem_, name)(first, __VA_ARGS__)
#define AMITY_SHMEM_EITHER(of, name, first, ...)                                        \
  _Generic((first), shmem_ctx_t                                                         \
           : of(_Generic((first), shmem_ctx_t                                           \
                         : AMITY_SHMEM_POINTER(AMITY_SHMEM_FIRST(__VA_ARGS__)), default \
                         : (int*)0),                                                    \
                shmem_ctx_, name),                                                      \
             default                                                                    \
           : of(_Generic((first), shmem_ctx_t                                           \
                         : (int*)0, default                                             \
                         : (first)),                                                    \
                shmem_, name))(first, __VA_ARGS__)
#define AMITY_SHMEM_AFTER_2(a, b, next, ...) next
#define AMITY_SHMEM_AFTER_3(a, b, c, next, ...) next
#define AMITY_SHMEM_AFTER_4(a, b, c, d, next, ...) next
#define AMITY_SHMEM_AFTER_5(a, b, c, d, e, next, ...) next
#define AMITY_SHMEM_AFTER_6(a, b, c, d, e, f, next, ...) next
#define AMITY_SHMEM_AFTER_7(a, b, c, d, e, f, g, next, ...) next
#define AMITY_SHMEM_AFTER_8(a, b, c, d, e, f, g, h, next, ...) next
#define AMITY_SHMEM_OF_2(...) AMITY_SHMEM_OF(AMITY_SHMEM_AFTER_2, __VA_ARGS__)
#define AMITY_SHMEM_OF_3(...) AMITY_SHMEM_OF(AMITY_SHMEM_AFTER_3, __VA_ARGS__)
#define AMITY_SHMEM_OF_4(...) AMITY_SHMEM_OF(AMITY_SHMEM_AFTER_4, __VA_ARGS__)
#define AMITY_SHMEM_OF_5(...) AMITY_SHMEM_OF(AMITY_SHMEM_AFTER_5, __VA_ARGS__)
#define AMITY_SHMEM_OF_6(...) AMITY_SHMEM_OF(AMITY_SHMEM_AFTER_6, __VA_ARGS__)
#define AMITY_SHMEM_OF_7(...) AMITY_SHMEM_OF(AMITY_SHMEM_AFTER_7, __VA_ARGS__)

/* A function without a context, by the type of its first argument, or of its second one, after a team. */
#define AMITY_SHMEM_BY_FIRST(of, name, ...) of(AMITY_SHMEM_FIRST(__VA_ARGS__), shmem_, name)(__VA_ARGS__)
#define AMITY_SHMEM_BY_SECOND(of, name, ...) of(AMITY_SHMEM_SECOND(__VA_ARGS__), shmem_, name)(__VA_ARGS__)

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
#define shmem_fetch(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_SWAPPABLE, _fetch, __VA_ARGS__)
#define shmem_set(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_SWAPPABLE, _set, __VA_ARGS__)
#define shmem_swap(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_SWAPPABLE, _swap, __VA_ARGS__)
#define shmem_cswap(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_COUNTABLE, _cswap, __VA_ARGS__)
#define shmem_fadd(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_COUNTABLE, _fadd, __VA_ARGS__)
#define shmem_finc(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_COUNTABLE, _finc, __VA_ARGS__)
#define shmem_add(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_COUNTABLE, _add, __VA_ARGS__)
#define shmem_inc(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_COUNTABLE, _inc, __VA_ARGS__)

/* Waiting. */
#define shmem_wait(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _wait, __VA_ARGS__)
#define shmem_wait_until(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _wait_until, __VA_ARGS__)
#define shmem_wait_until_all(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _wait_until_all, __VA_ARGS__)
#define shmem_wait_until_any(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _wait_until_any, __VA_ARGS__)
#define shmem_wait_until_some(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _wait_until_some, __VA_ARGS__)
#define shmem_wait_until_all_vector(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _wait_until_all_vector, __VA_ARGS__)
#define shmem_wait_until_any_vector(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _wait_until_any_vector, __VA_ARGS__)
#define shmem_wait_until_some_vector(...) \
  AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _wait_until_some_vector, __VA_ARGS__)
#define shmem_test(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _test, __VA_ARGS__)
#define shmem_test_all(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _test_all, __VA_ARGS__)
#define shmem_test_any(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _test_any, __VA_ARGS__)
#define shmem_test_some(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _test_some, __VA_ARGS__)
#define shmem_test_all_vector(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _test_all_vector, __VA_ARGS__)
#define shmem_test_any_vector(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _test_any_vector, __VA_ARGS__)
#define shmem_test_some_vector(...) AMITY_SHMEM_BY_FIRST(AMITY_SHMEM_WAITABLE, _test_some_vector, __VA_ARGS__)

/* Collectives of teams. */
#define shmem_broadcast(...) AMITY_SHMEM_BY_SECOND(AMITY_SHMEM_ANY, _broadcast, __VA_ARGS__)
#define shmem_collect(...) AMITY_SHMEM_BY_SECOND(AMITY_SHMEM_ANY, _collect, __VA_ARGS__)
#define shmem_fcollect(...) AMITY_SHMEM_BY_SECOND(AMITY_SHMEM_ANY, _fcollect, __VA_ARGS__)
#define shmem_alltoall(...) AMITY_SHMEM_BY_SECOND(AMITY_SHMEM_ANY, _alltoall, __VA_ARGS__)
#define shmem_alltoalls(...) AMITY_SHMEM_BY_SECOND(AMITY_SHMEM_ANY, _alltoalls, __VA_ARGS__)
#define shmem_and_reduce(...) AMITY_SHMEM_BY_SECOND(AMITY_SHMEM_INTEGER, _and_reduce, __VA_ARGS__)
#define shmem_or_reduce(...) AMITY_SHMEM_BY_SECOND(AMITY_SHMEM_INTEGER, _or_reduce, __VA_ARGS__)
#define shmem_xor_reduce(...) AMITY_SHMEM_BY_SECOND(AMITY_SHMEM_INTEGER, _xor_reduce, __VA_ARGS__)
#define shmem_min_reduce(...) AMITY_SHMEM_BY_SECOND(AMITY_SHMEM_ANY, _min_reduce, __VA_ARGS__)
#define shmem_max_reduce(...) AMITY_SHMEM_BY_SECOND(AMITY_SHMEM_ANY, _max_reduce, __VA_ARGS__)
#define shmem_sum_reduce(...) AMITY_SHMEM_BY_SECOND(AMITY_SHMEM_SUMMABLE, _sum_reduce, __VA_ARGS__)
#define shmem_prod_reduce(...) AMITY_SHMEM_BY_SECOND(AMITY_SHMEM_SUMMABLE, _prod_reduce, __VA_ARGS__)
#define shmem_sync(...) AMITY_SHMEM_AFTER_8(__VA_ARGS__, _, _, _, _, shmem_sync, _, _, shmem_team_sync, _)(__VA_ARGS__)

#endif

#endif
