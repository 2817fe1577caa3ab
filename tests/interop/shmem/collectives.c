/* Collective operations over teams and over all active sets there are. */

#include <shmem.h>
#include <string.h>

#include "../check.h"

enum { count = 5, pes_max = 17 };

static int me, pes;
static long sync_work[SHMEM_SYNC_SIZE];

/* A value of member `m` at index `i`. */
static int value_of(int m, int i) { return 1000 * m + i + 1; }

static void over_set(int start, int log_stride, int size) {
  static int64_t source[pes_max * count * 2], dest[pes_max * count * 2];
  static int32_t source32[pes_max * count * 2], dest32[pes_max * count * 2];
  const int stride = 1 << log_stride;
  const int index = (me - start) / stride;
  if (me < start || (me - start) % stride != 0 || index >= size) return;
  for (int i = 0; i < pes_max * count * 2; ++i) source32[i] = (int32_t)(source[i] = value_of(index, i));
  memset(dest, 0, sizeof dest);
  memset(dest32, 0, sizeof dest32);
#define IN_SET start, log_stride, size, sync_work
  shmem_barrier(IN_SET);
  const int root = size - 1;
  shmem_broadcast64(dest, source, count, root, IN_SET);
  shmem_broadcast32(dest32, source32, count, root, IN_SET);
  for (int i = 0; i < count; ++i) CHECK(dest[i] == (index == root ? 0 : value_of(root, i)) && dest32[i] == dest[i]);
  shmem_fcollect64(dest, source, count, IN_SET);
  shmem_fcollect32(dest32, source32, count, IN_SET);
  for (int i = 0; i < size * count; ++i) CHECK(dest[i] == value_of(i / count, i % count) && dest32[i] == dest[i]);
  /* Member m gives m + 1 elements, but the second gives none. */
  memset(dest, 0, sizeof dest);
  shmem_collect64(dest, source, index == 1 ? 0 : (size_t)(index % 4 + 1), IN_SET);
  for (int m = 0, at = 0; m < size; ++m) {
    for (int i = 0; i < (m == 1 ? 0 : m % 4 + 1); ++i) CHECK(dest[at++] == value_of(m, i));
  }
  shmem_collect32(dest32, source32, 2, IN_SET);
  for (int i = 0; i < 2 * size; ++i) CHECK(dest32[i] == value_of(i / 2, i % 2));
  shmem_alltoall64(dest, source, count, IN_SET);
  shmem_alltoall32(dest32, source32, count, IN_SET);
  for (int i = 0; i < size * count; ++i) {
    CHECK(dest[i] == value_of(i / count, index * count + i % count) && dest32[i] == dest[i]);
  }
  memset(dest, 0, sizeof dest);
  shmem_alltoalls64(dest, source, 2, 1, count, IN_SET);
  for (int i = 0; i < size * count; ++i) {
    CHECK(dest[2 * i] == value_of(i / count, index * count + i % count) && dest[2 * i + 1] == 0);
  }
  shmem_alltoalls32(dest32, source32, 1, 2, count, IN_SET);
  for (int i = 0; i < size * count; ++i) {
    CHECK(dest32[i] == value_of(i / count, 2 * (index * count + i % count)));
  }
  shmem_sync(IN_SET);
}

static shmem_team_t every_second, column;

/* Each team reduces small numbers of each type, also in place. */
#define EXPECTED(type, operation, first) \
  type expected = first;                 \
  for (int m = 1; m < size; ++m) expected = operation(expected, (type)(m % 3 + 1))
#define AND(a, b) (a & b)
#define OR(a, b) (a | b)
#define XOR(a, b) (a ^ b)
#define MIN(a, b) (a < b ? a : b)
#define MAX(a, b) (a < b ? b : a)
#define SUM(a, b) (a + b)
#define PROD(a, b) (a * b)
#define REDUCE(type, name, lower, upper)                                            \
  {                                                                                 \
    for (int i = 0; i < count; ++i) source[i] = (type)(index % 3 + 1), dest[i] = 0; \
    EXPECTED(type, upper, 1);                                                       \
    CHECK(shmem_##name##_##lower##_reduce(team, dest, source, count) == 0);         \
    for (int i = 0; i < count; ++i) CHECK(dest[i] == expected);                     \
    shmem_##name##_##lower##_reduce(team, source, source, count);                   \
    for (int i = 0; i < count; ++i) CHECK(source[i] == expected);                   \
  }
#define TO_ALL(type, name, lower, upper)                                              \
  {                                                                                   \
    for (int i = 0; i < count; ++i) source[i] = (type)(me % 3 + 1), dest[i] = 0;      \
    const int size = pes;                                                             \
    EXPECTED(type, upper, 1);                                                         \
    shmem_##name##_##lower##_to_all(dest, source, count, 0, 0, pes, work, sync_work); \
    for (int i = 0; i < count; ++i) CHECK(dest[i] == expected);                       \
  }
#define FUNCTION(group, type, name, body)                                                \
  static void group##_##name(shmem_team_t team) {                                        \
    static type source[count], dest[count], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + count]; \
    const int index = shmem_team_my_pe(team), size = shmem_team_n_pes(team);             \
    (void)index, (void)size, (void)work;                                                 \
    body                                                                                 \
  }
#define BITWISE(type, name) \
  FUNCTION(bitwise, type, name, REDUCE(type, name, and, AND) REDUCE(type, name, or, OR) REDUCE(type, name, xor, XOR))
#define ORDER(type, name) FUNCTION(order, type, name, REDUCE(type, name, min, MIN) REDUCE(type, name, max, MAX))
#define SUMS(type, name) FUNCTION(sums, type, name, REDUCE(type, name, sum, SUM) REDUCE(type, name, prod, PROD))
AMITY_SHMEM_REDUCE_BITWISE_TYPES(BITWISE)
AMITY_SHMEM_REDUCE_ORDER_TYPES(ORDER)
AMITY_SHMEM_REDUCE_SUM_TYPES(SUMS)
#define BITWISE_TO_ALL(type, name)  \
  FUNCTION(to_all_bits, type, name, \
           TO_ALL(type, name, and, AND) TO_ALL(type, name, or, OR) TO_ALL(type, name, xor, XOR))
#define ORDER_TO_ALL(type, name) \
  FUNCTION(to_all_order, type, name, TO_ALL(type, name, min, MIN) TO_ALL(type, name, max, MAX))
#define SUMS_TO_ALL(type, name) \
  FUNCTION(to_all_sums, type, name, TO_ALL(type, name, sum, SUM) TO_ALL(type, name, prod, PROD))
AMITY_SHMEM_TO_ALL_BITWISE_TYPES(BITWISE_TO_ALL)
AMITY_SHMEM_TO_ALL_ORDER_TYPES(ORDER_TO_ALL)
AMITY_SHMEM_TO_ALL_SUM_TYPES(SUMS_TO_ALL)

static void over_team(shmem_team_t team) {
  static double source[pes_max * count], dest[pes_max * count];
  const int index = shmem_team_my_pe(team), size = shmem_team_n_pes(team);
  for (int i = 0; i < pes_max * count; ++i) source[i] = value_of(index, i);
  CHECK(shmem_team_sync(team) == 0);
  CHECK(shmem_double_broadcast(team, dest, source, count, 0) == 0);
  for (int i = 0; i < count; ++i) CHECK(dest[i] == value_of(0, i));
  CHECK(shmem_double_fcollect(team, dest, source, 2) == 0);
  for (int i = 0; i < 2 * size; ++i) CHECK(dest[i] == value_of(i / 2, i % 2));
  CHECK(shmem_double_collect(team, dest, source, index == 0 ? 2 : 1) == 0);
  for (int i = 0; i <= size; ++i) CHECK(dest[i] == (i < 2 ? value_of(0, i) : value_of(i - 1, 0)));
  CHECK(shmem_double_alltoall(team, dest, source, count) == 0);
  for (int i = 0; i < size * count; ++i) CHECK(dest[i] == value_of(i / count, index * count + i % count));
  CHECK(shmem_double_alltoalls(team, dest, source, 1, 2, 2) == 0);
  for (int i = 0; i < size * 2; ++i) CHECK(dest[i] == value_of(i / 2, 2 * (index * 2 + i % 2)));
  CHECK(shmem_broadcastmem(team, dest, source, sizeof source, size - 1) == 0);
  CHECK(dest[pes_max * count - 1] == value_of(size - 1, pes_max * count - 1));
#define CALL_BITWISE(type, name) bitwise_##name(team);
#define CALL_ORDER(type, name) order_##name(team);
#define CALL_SUMS(type, name) sums_##name(team);
  AMITY_SHMEM_REDUCE_BITWISE_TYPES(CALL_BITWISE)
  AMITY_SHMEM_REDUCE_ORDER_TYPES(CALL_ORDER)
  AMITY_SHMEM_REDUCE_SUM_TYPES(CALL_SUMS)
}

/* More elements than a block of the library's, so that each PE has some of its own. */
static void large(void) {
  const size_t many = 20011;
  long* const source = shmem_malloc(2 * many * sizeof *source);
  long* const dest = source + many;
  for (size_t i = 0; i < many; ++i) source[i] = (long)i * (me + 1);
  shmem_sync_all();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, source, many);
  for (size_t i = 0; i < many; ++i) CHECK(dest[i] == (long)i * pes * (pes + 1) / 2);
  shmem_free(source);
}

/* A team of a team: of its PEs from the second one on, every second one. */
static void part_of_team(shmem_team_t whole) {
  const int size = shmem_team_n_pes(whole) / 2, index = shmem_team_my_pe(whole);
  shmem_team_t part = SHMEM_TEAM_INVALID;
  if (size == 0) return;
  CHECK(shmem_team_split_strided(whole, 1, 2, size + 2, NULL, 0, &part) != 0 && part == SHMEM_TEAM_INVALID);
  CHECK(shmem_team_split_strided(whole, 1, 2, size, NULL, 0, &part) == 0);
  CHECK((part == SHMEM_TEAM_INVALID) == (index % 2 == 0));
  if (part == SHMEM_TEAM_INVALID) return;
  CHECK(shmem_team_n_pes(part) == size && shmem_team_my_pe(part) == index / 2);
  for (int pe = 0; pe < size; ++pe) CHECK(shmem_team_translate_pe(part, pe, whole) == 2 * pe + 1);
  over_team(part);
  shmem_team_destroy(part);
}

/* What a team was asked for, and what a context was made of, beyond the context's end. */
static void handles(void) {
  shmem_team_config_t config = {.num_contexts = 3}, found = {.num_contexts = -1};
  shmem_team_t asked, plain, team;
  shmem_ctx_t context;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, &config, SHMEM_TEAM_NUM_CONTEXTS, &asked) == 0);
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pes, &config, 0, &plain) == 0);
  CHECK(shmem_team_get_config(asked, SHMEM_TEAM_NUM_CONTEXTS, &found) == 0 && found.num_contexts == 3);
  CHECK(shmem_team_get_config(plain, SHMEM_TEAM_NUM_CONTEXTS, &found) == 0 && found.num_contexts == 0);
  CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, 0, &found) != 0);
  CHECK(shmem_team_create_ctx(asked, 0, &context) == 0);
  CHECK(shmem_ctx_get_team(context, &team) == 0 && team == asked);
  shmem_ctx_destroy(context);
  CHECK(shmem_team_n_pes(team) == pes);
  CHECK(shmem_ctx_create(0, &context) == 0);
  CHECK(shmem_ctx_get_team(context, &team) == 0 && team == SHMEM_TEAM_WORLD);
  shmem_ctx_destroy(context);
  CHECK(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &team) == 0 && team == SHMEM_TEAM_WORLD);
  CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0 && team == SHMEM_TEAM_INVALID);
  /* PEs outside of a team have none of its contexts. */
  shmem_ctx_fence(SHMEM_CTX_INVALID);
  shmem_ctx_quiet(SHMEM_CTX_INVALID);
  shmem_ctx_destroy(SHMEM_CTX_INVALID);
  shmem_team_destroy(asked);
  shmem_team_destroy(plain);
}

static void teams(void) {
  CHECK(shmem_team_my_pe(SHMEM_TEAM_WORLD) == me && shmem_team_n_pes(SHMEM_TEAM_WORLD) == pes);
  CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1);
  const int half = (pes + 1) / 2;
  CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, half, NULL, 0, &every_second) == 0);
  CHECK((every_second == SHMEM_TEAM_INVALID) == (me % 2 != 0));
  shmem_team_t row;
  CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 2, NULL, 0, &row, NULL, 0, &column) == 0);
  CHECK(shmem_team_n_pes(column) == (me % 2 == 0 || pes == 1 ? half : pes / 2));
  CHECK(shmem_team_translate_pe(column, 0, SHMEM_TEAM_WORLD) == me % 2);
  CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, me, column) == me / 2);
  if (pes > 1) CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, 1 - me % 2, column) == -1);
  if (every_second != SHMEM_TEAM_INVALID) {
    over_team(every_second);
    part_of_team(every_second);
    /* A context of a team counts PEs as the team does. */
    static int word;
    shmem_ctx_t context;
    CHECK(shmem_team_create_ctx(every_second, 0, &context) == 0);
    const int last = shmem_team_n_pes(every_second) - 1;
    shmem_ctx_int_atomic_inc(context, &word, last);
    shmem_ctx_quiet(context);
    shmem_team_sync(every_second);
    CHECK(me != 2 * last || word == half);
    shmem_ctx_destroy(context);
  }
  shmem_team_destroy(every_second);
  shmem_team_destroy(row);
  shmem_team_destroy(column);
}

int main(void) {
  shmem_init();
  me = shmem_my_pe();
  pes = shmem_n_pes();
  for (int start = 0; start < pes; ++start) {
    for (int log_stride = 0; log_stride < 3; ++log_stride) {
      for (int size = 1; start + ((size - 1) << log_stride) < pes; ++size) over_set(start, log_stride, size);
    }
  }
  over_team(SHMEM_TEAM_WORLD);
  teams();
  handles();
  large();
#define CALL_BITS_TO_ALL(type, name) to_all_bits_##name(SHMEM_TEAM_WORLD);
#define CALL_ORDER_TO_ALL(type, name) to_all_order_##name(SHMEM_TEAM_WORLD);
#define CALL_SUMS_TO_ALL(type, name) to_all_sums_##name(SHMEM_TEAM_WORLD);
  AMITY_SHMEM_TO_ALL_BITWISE_TYPES(CALL_BITS_TO_ALL)
  AMITY_SHMEM_TO_ALL_ORDER_TYPES(CALL_ORDER_TO_ALL)
  AMITY_SHMEM_TO_ALL_SUM_TYPES(CALL_SUMS_TO_ALL)
  shmem_finalize();
  return 0;
}
